import re

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.analysis.alignment import of_all_words, pharaoh, word_alignment, words_of_pieces
from seq2seq.tokenizer import Tokenizer
from tests.translating import model_content

TOKENIZER = Tokenizer(model_content().tokenizer)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[npt.NDArray[np.float64], list[int], list[int]]:
    src, tgt = (sorted(draw(st.lists(st.integers(0, 4), max_size=7))) for _ in range(2))
    rows = draw(st.lists(st.integers(0, 8), min_size=len(src) * len(tgt), max_size=len(src) * len(tgt)))
    return np.array(rows, dtype=float).reshape(len(tgt), len(src)) / 8, src, tgt


def test_pieces_belong_to_words() -> None:
    assert words_of_pieces("le chat é b", [(0, 2), (2, 5), (5, 7), (7, 8), (8, 8), (8, 9), (9, 11)]) == [
        0, 1, 1, 2, 2, 2, 3
    ]  # fmt: skip
    assert words_of_pieces("a  b", [(0, 1), (1, 2), (2, 4)]) == [0, 1, 1]
    assert words_of_pieces("a b ", [(0, 1), (1, 3), (3, 4)]) == [0, 1, 1]
    assert words_of_pieces("a", []) == []


def test_a_word_that_the_tokenizer_leaves_out_counts_all_the_same() -> None:
    """A zero-width space is a word to `split`, and nothing to SentencePiece."""
    line = "Un \u200b chat \u200b\u200b dort."
    assert len(line.split()) == 5
    words = words_of_pieces(line, TOKENIZER.offsets(line))
    pieces = TOKENIZER.pieces(TOKENIZER.encode([line])[0])
    found = {word: "".join(p for p, w in zip(pieces, words, strict=True) if w == word) for word in sorted(set(words))}
    assert found == {0: "▁Un", 2: "▁chat", 4: "▁dort."}


@given(st.text(st.sampled_from("ab é\u00a0\u202f\u200b\u3000ﬁ€🐱."), max_size=12))
def test_each_piece_is_a_part_of_its_word(line: str) -> None:
    if not TOKENIZER.encode([line])[0] or not line.strip():
        return
    offsets = TOKENIZER.offsets(line)
    words = words_of_pieces(line, offsets)
    assert words == sorted(words)
    spans = [match.span() for match in re.finditer(r"\S+", line)]
    for (begin, end), word in zip(offsets, words, strict=True):
        visible_end = begin + len(line[begin:end].rstrip())
        if visible_end > begin:
            assert spans[word][0] < visible_end <= spans[word][1]


def test_the_pieces_of_a_word_add_up() -> None:
    attention = np.array([[0.3, 0.35, 0.35], [0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])
    assert word_alignment(attention, [0, 1, 1], [0, 0, 0, 1]) == [(0, 1), (1, 0)]


def test_where_there_are_no_spaces_each_character_is_a_word() -> None:
    # 看见 is a piece, and so is 面包。
    src = words_of_pieces("我看见 面包。", [(0, 1), (1, 3), (3, 7)])
    assert src == [0, 2, 5]
    found = word_alignment(np.eye(3), src, words_of_pieces("I see bread.", [(0, 1), (1, 5), (5, 12)]))
    assert sorted(of_all_words(found, src, [0, 1, 2])) == [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)]
    assert words_of_pieces("ฉันเห็น", [(0, 3), (3, 7)]) == [1, 4]  # characters have their marks


@given(pairs())
def test_each_target_word_has_one_source_word(pair: tuple[npt.NDArray[np.float64], list[int], list[int]]) -> None:
    attention, src, tgt = pair
    links = word_alignment(attention, src, tgt)
    assert sorted(of_tgt for _, of_tgt in links) == (sorted(set(tgt)) if src else [])
    assert all(0 <= of_src <= max(src) for of_src, _ in links)
    assert links == sorted(links)


def test_pharaoh_sorts_by_source() -> None:
    assert pharaoh([(1, 0), (0, 1)]) == "0-1 1-0"
    assert pharaoh([]) == ""
