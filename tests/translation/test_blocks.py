"""A text in blocks: the same cuts for whoever reads it, and soon something for somebody who waits."""

import threading
from collections.abc import Iterable, Iterator
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.blocks import Block, arrivals, cut
from seq2seq.translation.forms.piece import Piece

LINES = st.lists(st.text("ab ", max_size=9), max_size=40)


def piece(line: str, number: int, beside: str = "") -> Piece:
    return Piece(line, number, [line] * (len(line) % 3), "".join, beside=beside)


def pieces(lines: Iterable[str], beside: str = "") -> list[Piece | None]:
    return [piece(line, number, beside) for number, line in enumerate(lines, start=1)]


def whole(cuts: Iterable[Block | None]) -> list[Block]:
    return [block for block in cuts if block is not None]


@given(lines=LINES, size=st.sampled_from([1, 2, 7, 30, 1000]), first_text=st.sampled_from([0, 5]))
def test_each_piece_is_in_one_block_in_its_order(lines: list[str], size: int, first_text: int) -> None:
    found = whole(cut(pieces(lines), size, first_text=first_text))
    assert [each.source for block in found for each in block.pieces] == lines
    assert [block.number for block in found] == list(range(len(found)))
    n_texts = [sum(len(each.texts) for each in block.pieces) for block in found]
    assert [block.first_text for block in found] == [*accumulate(n_texts, initial=first_text)][:-1]
    numbers = [given.number for block in found for given in block.given()]
    assert numbers == list(range(first_text, first_text + sum(n_texts)))
    assert [block.is_last for block in found] == [*[False] * (len(found) - 1), True]  # at least one
    for block in found:  # each is as short as it can be
        lengths = [len(each.source) + 1 for each in block.pieces]
        assert sum(lengths[:-1]) < size and (block.is_last or sum(lengths) >= size)


@given(lines=LINES, changed=st.integers(0, 39))
def test_a_digest_tells_of_text_place_and_company(lines: list[str], changed: int) -> None:
    before = [block.digest for block in whole(cut(pieces(lines), 30))]
    assert before == [block.digest for block in whole(cut(pieces(lines), 30))]
    assert len(set(before)) == len(before)
    if lines:
        changed %= len(lines)
        other = [*lines[:changed], "x" * len(lines[changed]) + "y", *lines[changed + 1 :]]
        assert [block.digest for block in whole(cut(pieces(other), 30))] != before
        assert before[0] != whole(cut(pieces(lines, "beside"), 30))[0].digest
        longer = whole(cut(pieces([*lines, "a" * 9]), 30))
        assert before[-1] not in [block.digest for block in longer]  # the last one of a text is searched otherwise


def test_who_waits_gets_a_block_when_the_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0

    def arriving() -> Iterator[Piece | None]:
        nonlocal now_s
        for each in (piece("a", 1), None, None, piece("b", 2), piece("c", 3), None, piece("d", 4), None):
            yield each
            now_s += 1.0

    monkeypatch.setattr("time.monotonic", lambda: now_s)
    cuts = [
        None if block is None else "".join(piece.source for piece in block.pieces)
        for block in cut(arriving(), 1000, patience_s=2.0)
    ]
    assert cuts == [None, "a", "bc", None, "d"]
    now_s = 0.0
    assert all(block.is_last for block in whole(cut(arriving(), 1000, patience_s=2.0)))


def test_a_block_that_an_error_cuts_off_is_none() -> None:
    def failing() -> Iterator[Piece]:
        yield piece("a", 1)
        yield piece("b", 2)
        raise ValueError("mine")

    found = cut(failing(), 1)
    block = next(found)
    assert block is not None and [each.source for each in block.pieces] == ["a"]
    with pytest.raises(ValueError, match="mine"):
        next(found)


def test_lines_that_come_when_they_come() -> None:
    may_end = threading.Event()

    def lines() -> Iterator[str]:
        yield "a"
        assert may_end.wait(60)
        yield "b"
        raise ValueError("mine")

    found = arrivals(lines(), 0.001)
    assert next(each for each in found if each is not None) == "a"
    assert next(found) is None
    may_end.set()
    assert next(each for each in found if each is not None) == "b"
    with pytest.raises(ValueError, match="mine"):
        list(found)
