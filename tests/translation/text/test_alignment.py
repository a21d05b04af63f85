import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.alignment import pharaoh, word_alignment, words_of_pieces

pieces = st.lists(st.sampled_from(["▁", "▁▁", "▁a", "b", "▁bc", "<0xC3>", "<0xA9>", "▁."]), max_size=9)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    src, tgt = draw(pieces), draw(pieces)
    # Sums of multiples of 1/8 are exact, so that scaling by powers of 2 makes and breaks no tie.
    rows = draw(st.lists(st.integers(0, 8), min_size=len(src) * len(tgt), max_size=len(src) * len(tgt)))
    return np.array(rows, dtype=float).reshape(len(tgt), len(src)) / 8, src, tgt


def text_of(pieces: list[str]) -> str:
    """What SentencePiece makes of them, each byte as one letter."""
    return "".join("x" if piece.startswith("<0x") else piece for piece in pieces).replace("▁", " ")


def test_pieces_belong_to_words() -> None:
    assert words_of_pieces(["le", "▁ch", "at", "▁", "<0xC3>", "<0xA9>", "▁b"]) == [0, 1, 1, 2, 2, 2, 3]
    assert words_of_pieces(["▁", "<0xF0>", "<0x9F>", "<0x90>", "<0xB1>"]) == [0] * 5
    assert words_of_pieces(["▁a", "▁", "▁b"]) == [0, 1, 1]  # two spaces
    assert words_of_pieces([]) == []


def test_a_last_space_begins_no_word() -> None:
    assert words_of_pieces(["▁a", "▁b", "▁"]) == [0, 1, 1]


@given(pieces)
def test_words_are_those_of_the_text(pieces: list[str]) -> None:
    words = words_of_pieces(pieces)
    assert len(words) == len(pieces)
    n_words = len(text_of(pieces).split())
    assert set(words) == set(range(max(1, n_words) if pieces else 0))
    assert words == sorted(words)
    for number, word in enumerate(text_of(pieces).split()):
        assert text_of([piece for piece, of in zip(pieces, words, strict=True) if of == number]).strip() == word


def test_the_source_word_with_most_mass_is_linked() -> None:
    attention = np.array([[0.4, 0.3, 0.3], [0.9, 0.1, 0.0]])
    assert word_alignment(attention, ["▁a", "▁b", "c"], ["▁x", "▁y"]) == [(0, 1), (1, 0)]


def test_a_word_of_byte_pieces_adds_them_up() -> None:
    attention = np.array([[0.3, 0.35, 0.35], [0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])
    assert word_alignment(attention, ["▁a", "▁", "<0xC3>"], ["▁", "<0xC3>", "<0xA9>", "▁b"]) == [(0, 1), (1, 0)]


@given(pairs())
def test_each_target_word_has_one_source_word(pair: tuple[npt.NDArray[np.float64], list[str], list[str]]) -> None:
    attention, src, tgt = pair
    links = word_alignment(attention, src, tgt)
    n_src, n_tgt = (max(1, len(text_of(side).split())) for side in (src, tgt))
    assert sorted(of_tgt for _, of_tgt in links) == (list(range(n_tgt)) if src and tgt else [])
    assert all(0 <= of_src < n_src for of_src, _ in links)
    assert links == sorted(links)


@given(pairs(), st.sampled_from([0.25, 2.0, 64.0]))
def test_only_proportions_count(pair: tuple[npt.NDArray[np.float64], list[str], list[str]], factor: float) -> None:
    attention, src, tgt = pair
    assert word_alignment(factor * attention, src, tgt) == word_alignment(attention, src, tgt)


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out the special ids"):
        word_alignment(np.ones((2, 3)), ["▁a"], ["▁x", "▁y"])


def test_pharaoh_sorts_by_source() -> None:
    assert pharaoh([(1, 0), (0, 1)]) == "0-1 1-0"
    assert pharaoh([]) == ""
