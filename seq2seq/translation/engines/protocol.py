"""What the translator needs from an engine; both engines speak it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis


class Sentence(NamedTuple):
    """One source, as token ids without bos and eos."""

    source: Sequence[int]
    prefix: Sequence[int] = ()  # with these tokens each hypothesis begins
    number: int = 0  # of sampling: which of the seed's random numbers it takes, however it is batched


class Engine(Protocol):
    """A model that searches. Its methods may be called from several threads at the same time."""

    precision: str  # of matrix products
    max_length: int  # most tokens of a source with its eos, and most decoder steps, that the model can do
    max_batch_tokens: int  # size of a batch, as `decoding.max_batch_tokens` counts it, that suits the engine
    n_workers: int  # how many batches at the same time, each from its own worker, keep the device busy
    forks: bool  # whether the workers are forked processes, and not threads

    def start_worker(self) -> None:
        """What each worker calls before anything else."""

    def check(self, config: DecodingConfig, *, attention: bool) -> None:
        """Refuse, before any work, what this engine cannot do.

        Args:
            attention: whether `attention` will be called.
        Raises:
            ConfigError: with a line for each thing.
        """

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """Search one batch: for each sentence its hypotheses, best first, as `decoding/search.py` defines them.

        Args:
            sentences: at least one, none of them without tokens or with more than `max_length - 1`.
        Raises:
            ConfigError: a setting that this engine does not have.
        """

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """Log-probability (nats) of each target token, and last of its eos, of a batch.

        They are what a search without constraints would give: over the tokens that may be generated, so that their
        sum is the `log_prob` of a hypothesis with these tokens. -inf for one that may not.
        """

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """How much the choice of each target token looked at each source token, for each pair (T, S), T without eos.

        Rows sum to at most 1: the rest is eos's.

        Raises:
            ConfigError: this engine gives no attention.
        """
