"""Blocks come back in their order, soon, and few of them are held at once."""

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.translation import flow as flowing
from seq2seq.translation.blocks import Block, Given
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.flow import Work, flow
from seq2seq.translation.forms.piece import Piece


def threads(n: int) -> Workers:
    engine: Any = SimpleNamespace(n_workers=n, forks=False, start_worker=lambda: None)
    return Workers(engine)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with closing(threads(3)) as workers:
        yield workers


@pytest.fixture(scope="module")
def worker() -> Iterator[Workers]:
    """One alone, which does the batches in their order."""
    with closing(threads(1)) as worker:
        yield worker


def square(engine: object, items: list[int]) -> list[int]:
    time.sleep(max(items) * 1e-5)  # so that later batches may be done first
    if 66 in items:
        raise ValueError("66 cannot be squared")
    return [item * item for item in items]


def prepare(given: Given) -> Work[int, int, tuple[str, list[int]]]:
    """The items of a text are its numbers, and the text becomes their squares."""
    if given.text == "unreadable":
        raise ValueError(given.text)
    items = [int(word) for word in given.text.split()]
    return Work(items, [1 + item % 7 for item in items], lambda results: (given.text, results))


def squares(
    blocks: Iterable[Block | None], workers: Workers, max_batch_tokens: int = 20, work: Any = square, **options: Any
) -> Generator[tuple[Block, list[tuple[str, list[int]]]], None, None]:
    decoding = DecodingConfig(beam_size=1, max_batch_tokens=max_batch_tokens)
    return flow(blocks, prepare, work, workers, decoding, **options)


def block(number: int, texts: Iterable[Iterable[int] | str], *, is_last: bool = False) -> Block:
    lines = [text if isinstance(text, str) else " ".join(map(str, text)) for text in texts]
    return Block(number, 0, [Piece.of_line(line, 1) for line in lines], is_last)


def results(found: Iterable[tuple[Block, list[Any]]]) -> list[list[int]]:
    return [squared for _, texts in found for _, squared in texts]


@given(
    texts=st.lists(st.none() | st.lists(st.lists(st.integers(0, 60), max_size=5), max_size=9), max_size=9),
    max_batch_tokens=st.sampled_from([1, 20, 500]),
)
def test_each_text_comes_once_in_its_place_with_its_results(
    workers: Workers, texts: list[list[list[int]] | None], max_batch_tokens: int
) -> None:
    counts: list[float] = []
    blocks = [None if each is None else block(i, each) for i, each in enumerate(texts)]
    found = list(squares(blocks, workers, max_batch_tokens, on_done=counts.append))
    assert [each for each, _ in found] == [each for each in blocks if each is not None]
    expected = [items for each in texts if each is not None for items in each]
    assert [text for _, texts in found for text, _ in texts] == [" ".join(map(str, items)) for items in expected]
    assert results(found) == [[n * n for n in items] for items in expected]
    assert sum(counts) == pytest.approx(len(expected))


def batches(blocks: Iterable[Block], worker: Workers, **options: Any) -> list[list[int]]:
    searched: list[list[int]] = []

    def noted(engine: object, items: list[int]) -> list[int]:
        searched.append(items)
        return items

    list(squares(blocks, worker, work=noted, **options))
    return searched


@pytest.mark.slow
@given(texts=st.lists(st.lists(st.lists(st.integers(0, 60), max_size=3), max_size=30), max_size=6))
def test_the_batches_of_a_block_depend_on_nothing_else(worker: Workers, texts: list[list[list[int]]]) -> None:
    blocks = [block(i, each) for i, each in enumerate(texts)]
    assert batches(blocks, worker) == [batch for each in blocks for batch in batches([each], worker)]


def test_the_last_batches_of_a_text_are_shared(worker: Workers) -> None:
    blocks = [block(0, [[7 * i] for i in range(160)]), block(1, [[0]] * 160, is_last=True)]
    sizes = [len(batch) for batch in batches(blocks, worker, max_batch_tokens=160, splits_last=True)]
    assert sizes[0] == sizes[1] > 0
    first = sizes.index(next(size for size in sizes[1:] if size < sizes[0]))
    assert sizes[first:] == sorted(sizes[first:], reverse=True) and min(sizes) >= 160 / 8 / 2


def test_few_blocks_are_held_though_the_first_one_takes_long(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flowing, "_MOST_BLOCKS", 10)
    n_read, may_end = 0, threading.Event()

    def blocks() -> Iterator[Block]:
        nonlocal n_read
        for n_read in range(100):
            yield block(n_read, [[n_read]])

    def slow(engine: object, items: list[int]) -> list[int]:
        if items == [0]:
            may_end.wait(60)
        return items

    found = squares(blocks(), workers, work=slow)
    threading.Timer(0.2, may_end.set).start()
    assert next(found)[0].number == 0
    assert n_read < 12
    found.close()


def test_a_slow_source_is_not_waited_for(workers: Workers) -> None:
    found: list[int] = []

    def blocks() -> Iterator[Block | None]:
        yield block(0, [[3]])
        deadline = time.monotonic() + 60
        while not found and time.monotonic() < deadline:
            yield None
        yield block(1, [[4]])

    for each, _ in squares(blocks(), workers):
        assert each.number > 0 or not found
        found.append(each.number)
    assert found == [0, 1]


def test_an_error_of_a_worker_is_that_of_the_flow(workers: Workers) -> None:
    with pytest.raises(ValueError, match="66 cannot"):
        list(squares([block(i, [[i]]) for i in range(100)], workers))
    assert results(squares([block(0, [[5]])], workers)) == [[25]]  # the workers live on


@pytest.mark.parametrize("is_read", [True, False])
def test_an_error_of_the_input_comes_after_the_blocks_before_it(workers: Workers, is_read: bool) -> None:
    def blocks() -> Iterator[Block]:
        yield from (block(i, [[i]]) for i in range(30))
        if not is_read:
            raise ValueError("unreadable")
        yield block(30, ["unreadable"])

    found = squares(blocks(), workers)
    assert [next(found)[0].number for _ in range(30)] == list(range(30))
    with pytest.raises(ValueError, match="unreadable"):
        next(found)


def test_what_is_closed_early_is_not_searched(worker: Workers) -> None:
    searched: list[list[int]] = []
    has_read_on, may_end = threading.Event(), threading.Event()

    def blocks() -> Iterator[Block]:
        yield block(0, [[1]])
        has_read_on.set()
        yield block(1, [[50]] * 100)

    def noted(engine: object, items: list[int]) -> list[int]:
        searched.append(items)
        assert (has_read_on if items == [1] else may_end).wait(60)
        return items

    found = squares(blocks(), worker, 1, noted)
    assert next(found)[0].number == 0
    found.close()
    may_end.set()
    assert results(squares([block(0, [[5]])], worker)) == [[25]]  # after all that was waiting
    assert len(searched) <= 2


def test_workers_go_on_with_the_next_block_while_the_last_batches_of_one_are_searched(workers: Workers) -> None:
    has_read_on = threading.Event()

    def blocks() -> Iterator[Block]:
        yield block(0, [[10]] * 5)
        yield block(1, [[10]] * 5)
        has_read_on.set()

    def slow_square(engine: object, items: list[int]) -> list[int]:
        assert has_read_on.wait(60)
        return square(engine, items)

    assert len(results(squares(blocks(), workers, 22, slow_square))) == 10
