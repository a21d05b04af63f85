"""Engines turn token ids into token ids: the same searches in PyTorch and in CTranslate2.

Here is what the translator needs from one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis


class Sentence(NamedTuple):
    """One source, as token ids without bos and eos."""

    source: Sequence[int]
    prefix: Sequence[int] = ()  # each hypothesis begins with these tokens
    number: int = 0  # which random numbers of the seed it takes for sampling, in whatever batch it is
    required: Sequence[Sequence[int]] = ()  # phrases that each hypothesis must contain
    is_aligned: bool = False  # whether the attention of its hypotheses is wanted, too


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What an engine will be asked for, beside a search.

    Attributes:
        attention: whether `Engine.attention` will be called.
        prefixes: whether a sentence may have a prefix.
        required: whether a sentence may have required phrases.
    """

    attention: bool = False
    prefixes: bool = False
    required: bool = False


class Engine(Protocol):
    """A model with a search. Several threads may call its methods at the same time."""

    precision: str  # of matrix products
    max_length: int  # most tokens of a source with its eos, and most decoder steps
    max_batch_tokens: int  # a size of batches that suits the engine; see `decoding.max_batch_tokens`
    n_workers: int  # how many workers, with one batch each, keep the device busy
    splits_last: bool  # whether small batches at the end of a text cost little, and let several workers end together
    gives_attention: bool  # whether `attention` may be called
    forks: bool  # whether the workers are forked processes, and not threads

    def start_worker(self) -> None:
        """Set up a worker, which calls this before anything else."""

    def check(self, config: DecodingConfig, needs: Needs) -> None:
        """Refuse, before any work, what this engine cannot do.

        Raises:
            ConfigError: names each thing in a line of its own.
        """

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """Search one batch. Each sentence gets its hypotheses, best first, as `decoding/search.py` defines them.

        Args:
            sentences: at least one; each has 1 to `max_length - 1` tokens.
        Raises:
            ConfigError: this engine does not have one of the settings.
        """

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """For each pair of a batch: the log-probability (nats) of each target token, and last of eos.

        They are what a search without constraints gives: probabilities are shared among the tokens that may be
        generated, and others have -inf. The sum is the `log_prob` of a hypothesis with these tokens.
        """

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """For each pair: how much the model looked at each source token when it chose each target token.

        Each array is (T, S), both without eos. A row sums to at most 1, since the eos of the source had a share.

        Raises:
            ConfigError: this engine gives no attention.
        """
