"""One engine on several devices: each has a copy of the model, and batches go to whichever is free."""

import queue
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.translation.engines.protocol import Engine, HeadWeights, Needs, Sentence


class Replicas:
    """An `Engine`. It has the workers of all its engines, as threads."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        """engines: of the same models and the same precision."""
        first = engines[0]
        self.precision = first.precision
        self.max_length = first.max_length
        self.max_batch_tokens = first.max_batch_tokens
        self.n_workers = sum(engine.n_workers for engine in engines)
        self.forks = False
        self.engines = engines
        # Each engine as often as it has workers, in turns: the first batches go to different devices.
        self._free: queue.SimpleQueue[Engine] = queue.SimpleQueue()
        for place in range(max(engine.n_workers for engine in engines)):
            for engine in engines:
                if place < engine.n_workers:
                    self._free.put(engine)

    def start_worker(self) -> None:
        """See `Engine.start_worker`."""
        self.engines[0].start_worker()

    def check(self, config: DecodingConfig, needs: Needs) -> None:
        """See `Engine.check`."""
        self.engines[0].check(config, needs)

    def decode(
        self, sentences: Sequence[Sentence], config: DecodingConfig, *, token_scores: bool = False
    ) -> list[list[Hypothesis]]:
        """See `Engine.decode`."""
        with self._borrowed() as engine:
            return engine.decode(sentences, config, token_scores=token_scores)

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """See `Engine.score`."""
        with self._borrowed() as engine:
            return engine.score(sources, targets)

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """See `Engine.attention`."""
        with self._borrowed() as engine:
            return engine.attention(sources, targets)

    def head_weights(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[HeadWeights]:
        """See `Engine.head_weights`."""
        with self._borrowed() as engine:
            return engine.head_weights(sources, targets)

    def vectors(self, sources: Sequence[Sequence[int]], layer: int | None) -> list[np.ndarray]:
        """See `Engine.vectors`."""
        with self._borrowed() as engine:
            return engine.vectors(sources, layer)

    @contextmanager
    def _borrowed(self) -> Iterator[Engine]:
        """An engine with a free worker; waits until there is one."""
        engine = self._free.get()
        try:
            yield engine
        finally:
            self._free.put(engine)
