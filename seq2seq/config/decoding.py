"""The section `decoding`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, at_most, one_of
from seq2seq.config.on_resume import runtime

_FINITE = ("alpha", "patience", "max_length_a", "min_length_a")
# Beyond these, n ** alpha and a * n + b are more than a float can be, or a count more than CTranslate2 takes.
_LARGEST = {
    "alpha": 10,
    "patience": 1000,
    "max_length_a": 1e6,
    "max_length_b": 1e9,
    "min_length_a": 1e6,
    "min_length_b": 1e9,
    "no_repeat_ngram": 1e6,
}


@dataclass(kw_only=True)
class DecodingConfig:
    """How to search for a translation: in validation, in the final test, and by default in translate.py."""

    beam_size: int = 5  # hypotheses in the search; 1: greedy
    normalization: str = "length"  # none; length: n^alpha; gnmt: ((5 + n) / 6)^alpha (Wu et al. 2016)
    alpha: float = 1.0  # exponent of the normalization
    patience: float = 1.5  # CTranslate2 only: its beam stops when patience x beam_size hypotheses have ended
    n_best: int = 1  # hypotheses to keep for each sentence; at most beam_size, unless they are sampled
    max_length_a: float = 1.5  # a hypothesis has at most a * source tokens + b tokens
    max_length_b: int = 10  # see max_length_a
    min_length_a: float = 0.0  # a hypothesis has at least a * source tokens + b tokens
    min_length_b: int = 0  # see min_length_a
    no_repeat_ngram: int = 0  # a hypothesis has no sequence of so many tokens twice; 0: it may
    repetition_penalty: float = 1.0  # above 1: makes tokens that a hypothesis has less likely (Keskar et al. 2019)
    sampling: bool = False  # draw tokens at random, n_best times, instead of searching for the most probable ones
    temperature: float = 1.0  # of sampling: logits are divided by it
    top_k: int = 0  # of sampling: draw from the k most probable tokens; 0: from all
    top_p: float = 1.0  # of sampling: draw from the fewest tokens with this probability together (Holtzman et al. 2020)
    seed: int = 1  # of sampling
    max_batch_tokens: int = runtime(8192)  # in a batch: sentences x longest source x beam_size

    def problems(self) -> Iterator[str]:
        yield from one_of("decoding", self, normalization=("none", "length", "gnmt"))
        yield from at_least(
            "decoding",
            self,
            beam_size=1,
            alpha=0.0,
            patience=1.0,
            n_best=1,
            max_length_a=0.0,
            max_length_b=1,
            min_length_a=0.0,
            min_length_b=0,
            no_repeat_ngram=0,
            top_k=0,
            seed=0,
            max_batch_tokens=1,
        )
        if self.n_best > self.beam_size and not self.sampling:
            yield f"decoding.n_best={self.n_best} is above decoding.beam_size={self.beam_size}; widen the beam"
        endless = [name for name in _FINITE if not math.isfinite(getattr(self, name))]
        infinite = [name for name in endless if getattr(self, name) == math.inf]
        yield from (f"decoding.{name}=inf is not a finite number" for name in infinite)
        too_large = [] if endless else list(at_most("decoding", self, **_LARGEST))
        yield from too_large
        if not endless and not too_large:
            yield from self._problems_of_lengths()
        for name in ("repetition_penalty", "temperature"):
            if not 0 < getattr(self, name) < math.inf:
                yield f"decoding.{name}={getattr(self, name)} must be a finite number above 0"
        if not 0 < self.top_p <= 1:
            yield f"decoding.top_p={self.top_p} is not in (0, 1]"

    def _problems_of_lengths(self) -> Iterator[str]:
        """The least length must not be above the limit, whatever the length of the source."""
        n_src = 1
        if self.min_length_a > self.max_length_a:  # then it is, for every source that is long enough
            n_src = max(
                1, math.ceil((self.max_length_b - self.min_length_b + 1) / (self.min_length_a - self.max_length_a))
            )
        fewest = int(self.min_length_a * n_src + self.min_length_b)
        most = int(self.max_length_a * n_src + self.max_length_b)
        if fewest > most:
            yield (
                f"decoding.min_length_a={self.min_length_a} and min_length_b={self.min_length_b} ask for at least "
                f"{fewest} tokens for a source of {n_src}, and max_length_a={self.max_length_a} and "
                f"max_length_b={self.max_length_b} allow {most}; lower the former or raise the latter"
            )
