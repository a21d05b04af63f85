"""Blocks of text through workers: prepared one after the other, searched in batches, given back in their order.

While workers search a block, the next one is prepared. Few blocks are held at once, so memory does not grow with the
text.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search_batch import plan_batches
from seq2seq.translation.blocks import Block, Given
from seq2seq.translation.engines.workers import Workers

P = TypeVar("P")  # what is known about a text
I = TypeVar("I")  # noqa: E741 (an item of work, such as a sentence)
R = TypeVar("R")  # what a worker makes of it
T = TypeVar("T", covariant=True)  # what becomes of the text

_BATCHES_AHEAD = 2  # for each worker, so that none waits for this process
_MOST_BLOCKS = 64  # that are held, if the first one takes far longer than those after it


@dataclass(frozen=True)
class Prepared(Generic[P, I]):
    """A text as work.

    Attributes:
        items: its parts; a blank one has none.
        lengths: of each item, in tokens.
    """

    payload: P
    items: list[I]
    lengths: list[int]


class Course(Protocol[P, I, R, T]):
    """What happens to a text.

    Attributes:
        batched_by: decides the size of batches.
        splits_last: whether the last batches of the text are smaller, so that several workers share them.
    """

    @property
    def batched_by(self) -> DecodingConfig: ...
    @property
    def splits_last(self) -> bool: ...
    def prepare(self, given: Given) -> Prepared[P, I]:
        """Before the search."""

    def submit(self, items: list[I]) -> Future[list[R]]:
        """Hand a batch to the workers."""

    def finish(self, prepared: Prepared[P, I], results: Sequence[R]) -> T:
        """After the search: there is a result for each item."""


def flow(
    blocks: Iterable[Block | None],
    course: Course[P, I, R, T],
    workers: Workers,
    on_done: Callable[[float], None] = lambda n_texts: None,
) -> Generator[tuple[Block, list[T]], None, None]:
    """Each block with what its texts became. If reading or preparing one fails, those before come first.

    Args:
        blocks: None says that nothing is there at the moment; it comes now and then as long as that is so.
        on_done: called with the number of texts that were done since the last call, about.
    """
    at_work: deque[_Searched[P, I, R, T]] = deque()
    problem: Exception | None = None

    def begun() -> Iterator[None]:
        nonlocal problem
        try:
            for block in blocks:
                if block is not None:
                    at_work.append(_Searched(block, course))
                yield
        except Exception as error:
            problem = error

    def tasks() -> list[Future[list[R]]]:
        return [task for each in at_work for task in each.tasks]

    def n_waiting() -> int:
        return sum(each.n_waiting for each in at_work)

    try:
        for _ in begun():
            while at_work:
                on_done(sum(each.newly_done() for each in at_work))
                if not at_work[0].n_waiting:
                    yield at_work.popleft().finished()
                elif n_waiting() < _BATCHES_AHEAD * workers.n_workers and len(at_work) < _MOST_BLOCKS:
                    break
                else:
                    workers.wait(tasks())
        while at_work:
            while at_work[0].n_waiting:
                workers.wait(tasks())
                on_done(sum(each.newly_done() for each in at_work))
            yield at_work.popleft().finished()
        if problem is not None:
            raise problem
    finally:
        workers.cancel(tasks())


class _Searched(Generic[P, I, R, T]):
    """A block that is being searched."""

    def __init__(self, block: Block, course: Course[P, I, R, T]) -> None:
        self._block = block
        self._course = course
        self._texts = [course.prepare(given) for given in block.given()]
        items = [item for text in self._texts for item in text.items]
        lengths = [length for text in self._texts for length in text.lengths]
        self._n_items, self._n_told = len(items), 0.0
        is_split = course.splits_last and block.is_last
        batches = plan_batches(lengths, course.batched_by, is_split=is_split)
        self.tasks = {course.submit([items[index] for index in batch]): batch for batch in batches}

    @property
    def n_waiting(self) -> int:
        """Batches that are not searched yet."""
        return sum(not task.done() for task in self.tasks)

    def newly_done(self) -> float:
        """How many of its texts were done since the last call, about."""
        n_items = sum(len(batch) for task, batch in self.tasks.items() if task.done())
        n_done = len(self._texts) * (n_items / self._n_items if self._n_items else 1.0)
        n_new, self._n_told = n_done - self._n_told, n_done
        return n_new

    def finished(self) -> tuple[Block, list[T]]:
        results: dict[int, R] = {}
        for task, batch in self.tasks.items():
            results.update(zip(batch, task.result(), strict=True))
        found, begin = [], 0
        for text in self._texts:
            end = begin + len(text.items)
            found.append(self._course.finish(text, [results[index] for index in range(begin, end)]))
            begin = end
        return self._block, found
