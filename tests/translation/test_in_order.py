"""Lines come back in their order, soon, and few of them are held at once."""

import threading
import time
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation import in_order
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.in_order import InOrder, Line
from seq2seq.translation.pool import FULL_BATCHES, Pool


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    engine: Any = SimpleNamespace(n_workers=3, forks=False, start_worker=lambda: None, max_batch_tokens=1)
    with_threads = Workers(engine)
    yield with_threads
    with_threads.close()


def square(engine: object, items: list[int]) -> list[int]:
    time.sleep(max(items) * 1e-5)  # so that later batches may be done first
    if 66 in items:
        raise ValueError("66 cannot be squared")
    return [item * item for item in items]


Numbers = Line[int, int, int]


def line(number: int, items: Iterable[int]) -> Numbers:
    items = list(items)
    return Line(number, items, [1 + item % 7 for item in items], len(items))


def squares(
    workers: Workers,
    lines: Iterable[Numbers | None],
    max_batch_tokens: int = 20,
    patience_s: float | None = None,
    counts: list[int] | None = None,
) -> Iterator[Numbers]:
    return InOrder[int, int, int](
        workers,
        lambda items: workers.submit(square, items),
        Pool(max_batch_tokens, 1),
        patience_s,
        (counts if counts is not None else []).append,
    ).run(lines)


@given(
    lines=st.lists(st.none() | st.lists(st.integers(0, 60), max_size=5), max_size=40),
    max_batch_tokens=st.sampled_from([1, 20, 500]),
    patience_s=st.sampled_from([None, 0.0, 0.001]),
)
def test_each_line_comes_once_in_its_place_with_its_results(
    workers: Workers, lines: list[list[int] | None], max_batch_tokens: int, patience_s: float | None
) -> None:
    counts: list[int] = []
    numbered = [None if items is None else line(i, items) for i, items in enumerate(lines)]
    found = list(squares(workers, numbered, max_batch_tokens, patience_s, counts))
    expected = [each for each in numbered if each is not None]
    assert found == expected
    assert all([each.results[i] for i in range(len(each.items))] == [n * n for n in each.items] for each in found)
    assert sum(counts) == len(expected)


def test_the_batches_are_the_same_in_each_run(workers: Workers) -> None:
    def batches() -> list[list[int]]:
        seen: list[list[int]] = []

        def submit(items: list[int]) -> Any:
            seen.append(items)
            return workers.submit(square, items)

        lines = (line(i, [i * 7 % 61, i * 5 % 59]) for i in range(400))
        list(InOrder[int, int, int](workers, submit, Pool(40, 1), None, lambda n: None).run(lines))
        return seen

    assert batches() == batches()


def test_lines_come_long_before_the_end_of_the_text(workers: Workers) -> None:
    n_read = 0

    def lines() -> Iterator[Numbers]:
        nonlocal n_read
        for n_read in range(5_000):
            yield line(n_read, [n_read % 60])

    most_ahead = 0
    for found in squares(workers, lines(), max_batch_tokens=40):
        most_ahead = max(most_ahead, n_read - found.payload)
    assert most_ahead < 4 * FULL_BATCHES * 10  # about ten items a batch


def test_a_slow_source_is_not_waited_for(workers: Workers) -> None:
    def lines() -> Iterator[Numbers | None]:
        yield line(0, [3])
        deadline = time.monotonic() + 60
        while not found and time.monotonic() < deadline:
            yield None
        yield line(1, [4])

    found: list[Numbers] = []
    for each in squares(workers, lines(), patience_s=0.02):
        found.append(each)
        assert each.payload > 0 or len(found) == 1
    assert [each.payload for each in found] == [0, 1]


def test_lines_that_wait_for_patience_are_searched_together(workers: Workers) -> None:
    n_batches = 0

    def submit(items: list[int]) -> Any:
        nonlocal n_batches
        n_batches += 1
        return workers.submit(square, items)

    lines = [each for i in range(30) for each in (line(i, [1]), None)]
    list(InOrder[int, int, int](workers, submit, Pool(1000, 1), 60.0, lambda n: None).run(lines))
    assert n_batches <= 4  # shared among three workers at the end


def test_no_more_lines_are_read_than_may_be_held(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_order, "MAX_LINES", 50)
    n_read = 0

    def lines() -> Iterator[Numbers]:
        nonlocal n_read
        for n_read in range(1_000):
            yield line(n_read, [n_read % 60])

    found = squares(workers, lines(), max_batch_tokens=10_000)
    assert next(found).payload == 0
    assert n_read <= 51
    assert len(list(found)) == 999


def test_an_error_of_a_worker_is_that_of_the_stream(workers: Workers) -> None:
    found = squares(workers, (line(i, [i]) for i in range(100)), max_batch_tokens=8)
    with pytest.raises(ValueError, match="66 cannot"):
        list(found)
    assert [each.results[0] for each in squares(workers, [line(0, [5])])] == [25]  # the workers live on


def test_an_error_of_the_input_comes_after_the_lines_before_it(workers: Workers) -> None:
    def lines() -> Iterator[Numbers]:
        yield from (line(i, [i]) for i in range(30))
        raise ValueError("mine")

    found = squares(workers, lines())
    assert [next(found).payload for _ in range(30)] == list(range(30))
    with pytest.raises(ValueError, match="mine"):
        next(found)


def test_what_is_closed_early_is_not_searched(workers: Workers) -> None:
    n_batches = 0

    def submit(items: list[int]) -> Any:
        nonlocal n_batches
        n_batches += 1
        return workers.submit(square, items)

    lines = (line(i, [50]) for i in range(1_000))
    found = InOrder[int, int, int](workers, submit, Pool(10, 1), None, lambda n: None).run(lines)
    next(found)
    found.close()
    assert n_batches < 20


@pytest.mark.slow
@given(blocks=st.lists(st.lists(st.lists(st.integers(0, 60), max_size=3), max_size=30), max_size=6))
def test_the_batches_of_a_block_depend_on_nothing_else(workers: Workers, blocks: list[list[list[int]]]) -> None:
    def batches(chosen: list[tuple[int, list[list[int]]]]) -> list[list[int]]:
        seen: list[list[int]] = []

        def submit(items: list[int]) -> Any:
            seen.append(items)
            return workers.submit(square, items)

        lines: list[Numbers] = [
            Line(0, items, [1 + item % 7 for item in items], 1, block) for block, some in chosen for items in some
        ]
        in_order = InOrder[int, int, int](workers, submit, Pool(20, 1), None, lambda n: None, lambda: 0)
        assert len(list(in_order.run(lines))) == len(lines)
        return seen

    numbered = list(enumerate(blocks))
    alone = [batches([block]) for block in numbered]
    assert batches(numbered) == [batch for each in alone for batch in each]


def test_workers_go_on_with_the_next_block_while_the_last_batches_of_one_are_searched(workers: Workers) -> None:
    n_read, has_read_on = 0, threading.Event()

    def lines() -> Iterator[Numbers]:
        nonlocal n_read
        for n_read in range(1, 61):
            if n_read > 20:
                has_read_on.set()
            yield Line(n_read, [10], [10], 1, n_read // 20)

    def slow_square(engine: object, items: list[int]) -> list[int]:
        has_read_on.wait(10)  # a limit for the case that nobody reads on
        return square(engine, items)

    found = InOrder[int, int, int](
        workers, lambda items: workers.submit(slow_square, items), Pool(22, 1), None, lambda n: None
    ).run(lines())
    next(found)
    assert n_read > 20
    found.close()
