"""Sentence boundaries: marked cases in sentence_cases/, of which `held_out` was written before the rules were."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.sentences import n_sentences, sentence_ends
from tests.effort import no_hang

CASES = Path(__file__).parent / "sentence_cases"
# No mark ends the first sentence, and an emoticon may also stand within one.
MISSED = {"That's great :)|See you.", "Super :-)|À demain."}


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in pairwise([0, *sentence_ends(text), len(text)])]


def marked(name: str) -> list[str]:
    """Cases, with a bar between two sentences."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_sentences_end_where_people_end_them() -> None:
    cases = marked("known.en") + marked("known.fr")
    assert len(set(cases)) > 180
    expected = [case.replace("|", " ") if case in MISSED else case for case in cases]
    assert ["|".join(sentences(case.replace("|", " "))) for case in cases] == expected


@pytest.mark.parametrize("language", ["en", "fr"])
def test_cases_that_the_rules_were_not_made_for_are_right_as_well(language: str) -> None:
    cases = marked(f"held_out.{language}")
    wrong = [case for case in cases if sentences(case.replace("|", " ")) != case.split("|")]
    assert len(wrong) <= 0.03 * len(cases), wrong


@pytest.mark.parametrize(
    "case",
    [
        "他昨天走了。|我们没有听见他说什么！",
        "彼は「帰る。」|と言った。",
        "यह एक वाक्य है। यह दूसरा है॥",
        "Er kommt am 3. Januar.|Sie kommt z.B. am 4. März.",
        "¿Qué hora es?|¡Qué tarde!",
        "«\u202fOui.\u202f»|Il part.",
        'Il a dit : " Viens. "|Puis il est parti.',
    ],
)
def test_other_writing(case: str) -> None:
    text = case.replace("|", "" if "。" in case else " ")
    assert "|".join(sentences(text)) == case.replace("है। यह", "है।|यह")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), (" \t\u2028", 0), ("...", 1), ("Un chat", 1), ("Oui. Non.  ", 2), ("。。", 1), ("• A • B", 2)],
)
def test_sentences_are_counted(text: str, expected: int) -> None:
    assert n_sentences(text) == expected


@given(
    st.text()
    | st.text(alphabet="aBM.!?…»\" '()1•。\u00a0é😀")
    | st.lists(st.sampled_from(["1. ", "2. ", "Ab. ", "a) "])).map("".join)
)
def test_every_sentence_has_text_and_nothing_is_lost(text: str) -> None:
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends))
    if text.strip():
        assert all(sentences(text))
        assert n_sentences(text) == len(ends) + 1
    assert list(sentence_ends(text + "  ")) == ends


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        ".",
        ". »",
        "M. ",
        "? ",
        "a. ",
        "ab. cd! ",
        "a • ",
        "1. ",
        'a. " ',
        "! 😀 ",
        "。」",
        'a?" Abc Abc ',
        ". ((((((((",
        "p. ex. A ",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    text = unit * (100_000 // len(unit))  # a tenth of a second; quadratic rules would take minutes
    with no_hang(30):
        assert n_sentences(text) > 0
