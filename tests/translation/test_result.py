"""How a translation is written, and read back."""

import json
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.result import Attention, Scored, TextHypothesis, Translation, texts, written
from seq2seq.translation.text.health import Finding

# Texts of translations have no line ends; see `Translator`.
one_line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)


def translation(*texts: str, **changes: Any) -> Translation:
    alternatives = [TextHypothesis(text, -2.0 - rank, -0.5 - rank) for rank, text in enumerate(texts)]
    return Translation(**{
        "source": "un chat", "text": texts[0], "hypotheses": alternatives, "parts": ["un chat"]
    } | changes)  # fmt: skip


def test_a_line_is_its_text() -> None:
    assert written(translation("a cat", "one cat"), 7, "line") == "a cat\n"
    aligned = translation("a cat", hypotheses=[TextHypothesis("a cat", -1.0, -1.0, alignment=[(1, 0), (0, 1)])])
    assert written(aligned, 7, "line") == "a cat ||| 0-1 1-0\n"


def test_an_n_best_list_has_a_row_for_each_hypothesis() -> None:
    assert written(translation("a\tcat", "one cat"), 7, "n-best") == "7\t1\t-0.5000\ta cat\n7\t2\t-1.5000\tone cat\n"
    aligned = translation("a cat", hypotheses=[TextHypothesis("a cat", -1.0, -1.0, alignment=[(0, 0), (1, 1)])])
    assert written(aligned, 7, "n-best") == "7\t1\t-1.0000\ta cat\t0-0 1-1\n"


def test_json_is_one_object_a_line() -> None:
    attention = Attention(["▁un", "▁chat"], ["▁a"], np.array([[0.123456, 0.5]], dtype=np.float32))
    best = TextHypothesis("a", -1.25, -0.5, [("▁a", -1.0), ("</s>", -0.25)], [attention], [(1, 0)])
    whole = translation("a", hypotheses=[best], parts=["un", "chat"], findings=[Finding("cut", "It was cut.")])
    assert json.loads(written(whole, 3, "json")) == {
        "line": 3,
        "source": "un chat",
        "translation": "a",
        "parts": ["un", "chat"],
        "hypotheses": [
            {
                "text": "a",
                "score": -0.5,
                "log_prob": -1.25,
                "tokens": [{"piece": "▁a", "log_prob": -1.0}, {"piece": "</s>", "log_prob": -0.25}],
                "alignment": "1-0",
                "attention": [{"source": ["▁un", "▁chat"], "target": ["▁a"], "weights": [[0.1235, 0.5]]}],
            }
        ],
        "warnings": [{"kind": "cut", "message": "It was cut."}],
    }
    short = json.loads(written(translation("a cat"), 1, "json"))
    assert "parts" not in short
    assert list(short["hypotheses"][0]) == ["text", "score", "log_prob"]


def test_text_in_json_stays_readable_and_on_its_line() -> None:
    record = written(translation('café "\u2028\x0b\\'), 1, "json")
    assert "café" in record
    assert record.count("\n") == 1 and record.endswith("\n")
    assert json.loads(record)["translation"] == 'café "\u2028\x0b\\'


def test_a_score_is_a_number_or_an_object_with_its_tokens() -> None:
    scored = Scored("un chat", "a cat", -3.0, -1.23456, [("▁a", -1.0), ("▁cat", -1.5), ("</s>", -0.5)])
    assert written(scored, 2, "line") == "-1.2346\n"
    assert json.loads(written(scored, 2, "json")) == {
        "line": 2,
        "source": "un chat",
        "translation": "a cat",
        "score": -1.23456,
        "log_prob": -3.0,
        "tokens": [
            {"piece": "▁a", "log_prob": -1.0},
            {"piece": "▁cat", "log_prob": -1.5},
            {"piece": "</s>", "log_prob": -0.5},
        ],
    }


def test_a_pair_without_a_score_has_a_reason_and_no_number_that_json_lacks() -> None:
    scored = Scored("un chat", "", -inf, -inf, [("</s>", -inf)], "one side is blank")
    assert written(scored, 2, "line") == "-inf\n"
    assert json.loads(written(scored, 2, "json"), parse_constant=pytest.fail) == {
        "line": 2,
        "source": "un chat",
        "translation": "",
        "score": None,
        "log_prob": None,
        "tokens": [{"piece": "</s>", "log_prob": None}],
        "reason": "one side is blank",
    }


@pytest.mark.parametrize("form", ["line", "n-best", "json"])
@pytest.mark.parametrize("has_alignment", [False, True])
@given(lines=st.lists(one_line, max_size=4), n_best=st.integers(1, 3))
def test_the_best_texts_are_read_back(form: str, has_alignment: bool, lines: list[str], n_best: int) -> None:
    alignment = [(0, 0)] if has_alignment else None
    output = "".join(
        written(
            translation(
                text,
                hypotheses=[
                    TextHypothesis(text if rank == 0 else f"not {text}", -1.0, -1.0 - rank, alignment=alignment)
                    for rank in range(n_best)
                ],
            ),
            number,
            form,
        )
        for number, text in enumerate(lines, start=1)
    )
    expected = [text.replace("\t", " ") if form == "n-best" else text for text in lines]
    assert list(texts(output.split("\n")[:-1], form, has_alignment)) == expected


def test_what_looks_like_an_alignment_is_text() -> None:
    aligned = translation("a ||| b", hypotheses=[TextHypothesis("a ||| b", -1.0, -1.0, alignment=[])])
    assert written(aligned, 1, "line") == "a ||| b ||| \n"
    assert list(texts(["a ||| b ||| "], "line", has_alignment=True)) == ["a ||| b"]
    assert list(texts(["a ||| b"], "line", has_alignment=False)) == ["a ||| b"]
