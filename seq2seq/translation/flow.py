"""Blocks of text through workers, and what a worker does with a batch.

Blocks are prepared one after the other, searched in batches, and given back in their order. While workers search a
block, the next one is prepared. Few blocks are held at once, so memory does not grow with the text.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, plan_batches
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.blocks import Block, Given
from seq2seq.translation.consensus import by_consensus
from seq2seq.translation.engines import Engine, Sentence
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.options import TranslationOptions

I = TypeVar("I")  # noqa: E741 (an item of work, such as a sentence)
R = TypeVar("R")  # what a worker makes of it
T = TypeVar("T")  # what becomes of a text

_BATCHES_AHEAD = 2  # for each worker, so that none waits for this process
_MOST_BLOCKS = 64  # that are held, if the first one takes far longer than those after it


@dataclass(frozen=True)
class Work(Generic[I, R, T]):
    """What is to be done for a text.

    Attributes:
        items: what workers search, such as its sentences; a blank text has none.
        lengths: of each item, in tokens.
        finish: makes the results of all items what becomes of the text.
    """

    items: list[I]
    lengths: list[int]
    finish: Callable[[list[R]], T]


def flow(
    blocks: Iterable[Block | None],
    prepare: Callable[[Given], Work[I, R, T]],
    work: Callable[[Engine, list[I]], list[R]],
    workers: Workers,
    decoding: DecodingConfig,
    on_done: Callable[[float], None] | None = None,
    *,
    splits_last: bool = False,
) -> Generator[tuple[Block, list[T]], None, None]:
    """Each block with what its texts became, in order. If reading or preparing one fails, those before come first.

    Args:
        blocks: None says that nothing is there at the moment; it comes now and then as long as that is so.
        work: what a worker does with a batch of items.
        decoding: decides the size of batches.
        on_done: called with the number of texts that were done since the last call, about.
        splits_last: whether the last batches of the text are smaller, so that several workers share them.
    """
    at_work: deque[_AtWork[I, R, T]] = deque()
    problem: Exception | None = None

    def begun() -> Iterator[None]:
        nonlocal problem
        try:
            for block in blocks:
                if block is not None:
                    texts = [prepare(given) for given in block.given()]
                    items = [item for text in texts for item in text.items]
                    lengths = [length for text in texts for length in text.lengths]
                    batches = plan_batches(lengths, decoding, is_split=splits_last and block.is_last)
                    tasks = {workers.submit(work, [items[i] for i in batch]): batch for batch in batches}
                    at_work.append(_AtWork(block, texts, tasks))
                yield
        except Exception as error:
            problem = error

    def all_tasks() -> list[Future[list[R]]]:
        return [task for each in at_work for task in each.tasks]

    def finished(n_ahead: int) -> Iterator[tuple[Block, list[T]]]:
        """The first blocks, until no more than so many batches are waiting behind them."""
        while at_work:
            if on_done:
                on_done(sum(each.newly_done() for each in at_work))
            if at_work[0].is_done:
                yield at_work.popleft().finished()
            elif sum(not task.done() for task in all_tasks()) < n_ahead and len(at_work) < _MOST_BLOCKS:
                return
            else:
                workers.wait(all_tasks())

    try:
        for _ in begun():
            yield from finished(_BATCHES_AHEAD * workers.n_workers)
        yield from finished(0)
        if problem is not None:
            raise problem
    finally:
        for task in all_tasks():  # what a worker is doing comes to its end, and nobody is told
            task.cancel()


@dataclass
class _AtWork(Generic[I, R, T]):
    """A block that is being searched."""

    block: Block
    texts: list[Work[I, R, T]]
    tasks: dict[Future[list[R]], list[int]]  # and the items of each
    n_told: float = 0.0  # texts that `newly_done` has counted

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    def newly_done(self) -> float:
        """How many of its texts were done since the last call, about."""
        n_items = sum(len(batch) for task, batch in self.tasks.items() if task.done())
        n_done = len(self.texts) * (n_items / sum(map(len, self.tasks.values())) if self.tasks else 1.0)
        n_new, self.n_told = n_done - self.n_told, n_done
        return n_new

    def finished(self) -> tuple[Block, list[T]]:
        results: dict[int, R] = {}
        for task, batch in self.tasks.items():
            results.update(zip(batch, task.result(), strict=True))
        in_order = iter([results[i] for i in range(len(results))])
        return self.block, [text.finish([next(in_order) for _ in text.items]) for text in self.texts]


# --- what a worker does ---


class Found(NamedTuple):
    """What the search found for one sentence."""

    hypotheses: list[Hypothesis]
    attention: list[np.ndarray] | None  # for each hypothesis (T, S); None if the sentence does not need it
    scores: list[list[float]] | None  # for each hypothesis, of its tokens and of eos; None if they are not asked for


class Pair(NamedTuple):
    """A source and its given translation, as token ids."""

    source: list[int]
    target: list[int]
    number: int  # of the line, from 0, which a message of the workers names


def score(engine: Engine, pairs: list[Pair]) -> list[list[float]]:
    """The log-probabilities of the target tokens and of eos of each pair; a worker calls this."""
    return engine.score([pair.source for pair in pairs], [pair.target for pair in pairs])


def search(
    engine: Engine,
    sentences: list[Sentence],
    decoding: DecodingConfig,
    options: TranslationOptions,
    tokenizer: Tokenizer,
) -> list[Found]:
    """Search one batch; a worker calls this."""
    found = engine.decode(sentences, decoding)
    if options.mbr:
        found = [by_consensus(hypotheses, tokenizer) for hypotheses in found]

    def looked_at(ask: Callable[..., list[R]], wanted: list[bool]) -> list[list[R] | None]:
        """For each wanted sentence, what the engine says of its hypotheses."""
        if not any(wanted):
            return [None] * len(sentences)
        # A hypothesis of `max_length` tokens leaves no place for the eos that engines append.
        pairs = [
            (sentence.source, hypothesis.tokens[: engine.max_length - 1])
            for sentence, hypotheses, is_wanted in zip(sentences, found, wanted, strict=True)
            for hypothesis in (hypotheses if is_wanted else ())
        ]
        answers = iter(ask(*zip(*pairs, strict=True)))
        return [
            list(islice(answers, len(hypotheses))) if is_wanted else None
            for hypotheses, is_wanted in zip(found, wanted, strict=True)
        ]

    attention = looked_at(engine.attention, [options.alignment or sentence.is_aligned for sentence in sentences])
    scores = looked_at(engine.score, [options.token_scores] * len(sentences))
    return list(map(Found, found, attention, scores))
