"""Work on the sentences of many lines in batches, and give the lines back in their order.

A line is given back as soon as it and all lines before it are done. Lines that are read, searched or waiting for an
earlier line are few, so memory does not grow with the text.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from seq2seq.translation.engines.workers import Task, Workers
from seq2seq.translation.pool import Pool

I = TypeVar("I")  # noqa: E741 (an item of work, such as a sentence)
R = TypeVar("R")  # what a worker makes of it
P = TypeVar("P")  # what the caller knows about the line

# Most lines and characters that are held at once, except that one line may be of any length.
MAX_LINES = 50_000
MAX_CHARACTERS = 1 << 24
_BATCHES_AHEAD = 2  # for each worker, so that none waits for this process


@dataclass
class Line(Generic[P, I, R]):
    """One line of text as work.

    Attributes:
        items: the parts of the line; a blank one has none.
        lengths: of each item, in tokens.
        n_characters: of the line.
        block: number of the block of the text that the line is in; a batch has lines of one block.
        results: one for each item, once it is done.
    """

    payload: P
    items: list[I]
    lengths: list[int]
    n_characters: int
    block: int = 0
    results: dict[int, R] = field(default_factory=dict)
    arrived_s: float = field(default_factory=time.monotonic)

    @property
    def is_done(self) -> bool:
        return len(self.results) == len(self.items)


class InOrder(Generic[P, I, R]):
    """Sends lines through workers."""

    def __init__(
        self,
        workers: Workers,
        submit: Callable[[list[I]], Task[R]],
        pool: Pool[tuple[Line[P, I, R], int]],
        patience_s: float | None,
        on_done: Callable[[int], None],
        n_sharing: Callable[[], int] | None = None,
    ) -> None:
        """
        Args:
            submit: hands a batch of items to `workers`.
            pool: an empty one.
            patience_s: how long a line may wait for others while a worker has nothing to do. None: as long as it takes
                to fill the pool; the batches are then the same in each run.
            on_done: called with the number of lines that are done since the last call.
            n_sharing: asked at the end of the lines: how many workers share out the last sentences, in smaller batches;
                0: none, the batches are full. None: all workers of this process do.
        """
        self._workers = workers
        self._submit = submit
        self._pool = pool
        self._patience_s = patience_s
        self._on_done = on_done
        self._n_sharing = n_sharing or (lambda: workers.n_workers)
        self._block = 0  # of the lines in the pool
        self._left: deque[list[tuple[Line[P, I, R], int]]] = deque()  # batches of blocks that are read to their end
        self._held: deque[Line[P, I, R]] = deque()  # in order; the first one is the next to be yielded
        self._tasks: dict[Task[R], list[tuple[Line[P, I, R], int]]] = {}
        self._n_characters = 0  # of the held lines
        self._problem: Exception | None = None  # what ended the reading

    def run(self, lines: Iterable[Line[P, I, R] | None]) -> Generator[Line[P, I, R], None, None]:
        """Yield each line when its results are there. If reading fails, the lines before come first, then the error.

        Args:
            lines: None says that no line is there at the moment; it comes now and then as long as that is so.
        """
        try:
            for line in self._until_problem(lines):
                if line is not None:
                    if line.block != self._block:
                        self._end_block(line.block)
                    self._hold(line)
                while self._left and self._has_room():
                    self._go_on()
                self._collect(0 if line is not None else self._patience_s)
                yield from self._ready()
                while self._pool.is_full or self._holds_too_much() or self._is_kept_waiting():
                    self._go_on()
                    yield from self._ready()
            n_sharing = self._n_sharing()
            while self._held:
                self._go_on(n_sharing)
                yield from self._ready()
            if self._problem is not None:
                raise self._problem
        finally:
            self._workers.cancel(list(self._tasks))

    def _until_problem(self, lines: Iterable[Line[P, I, R] | None]) -> Iterator[Line[P, I, R] | None]:
        try:
            yield from lines
        except Exception as error:  # raised after the lines that came before it
            self._problem = error

    def _end_block(self, next_block: int) -> None:
        """Make batches of what is in the pool. They wait for a worker while the next block is read."""
        while self._pool:
            self._left.append(self._pool.take())
        self._block = next_block

    def _hold(self, line: Line[P, I, R]) -> None:
        self._held.append(line)
        self._n_characters += line.n_characters
        for index, length in enumerate(line.lengths):
            self._pool.add((line, index), length)
        if line.is_done:
            self._on_done(1)

    def _holds_too_much(self) -> bool:
        return len(self._held) > MAX_LINES or self._n_characters > MAX_CHARACTERS

    def _is_kept_waiting(self) -> bool:
        if self._patience_s is None or not self._pool or len(self._tasks) >= self._workers.n_workers:
            return False
        line, _ = self._pool.oldest
        return time.monotonic() - line.arrived_s >= self._patience_s

    def _go_on(self, n_sharing: int = 0) -> None:
        """Send a batch to the workers, or wait for one if they have enough to do."""
        if (self._left or self._pool) and self._has_room():
            batch = self._left.popleft() if self._left else self._pool.take(n_sharing)
            self._tasks[self._submit([line.items[index] for line, index in batch])] = batch
        else:
            self._collect(None)

    def _has_room(self) -> bool:
        return len(self._tasks) < _BATCHES_AHEAD * self._workers.n_workers

    def _collect(self, timeout_s: float | None) -> None:
        """Take the results of tasks that are done, after waiting for one for at most `timeout_s`."""
        if not self._tasks:
            return
        self._workers.wait(timeout_s)
        n_done = 0
        for task in [task for task in self._tasks if task.is_done]:
            for (line, index), result in zip(self._tasks.pop(task), task.result(), strict=True):
                line.results[index] = result
                n_done += line.is_done
        if n_done:
            self._on_done(n_done)

    def _ready(self) -> Iterator[Line[P, I, R]]:
        while self._held and self._held[0].is_done:
            line = self._held.popleft()
            self._n_characters -= line.n_characters
            yield line
