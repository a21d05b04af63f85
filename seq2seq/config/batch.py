"""The section `batch`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, not_too_many
from seq2seq.config.on_resume import runtime


@dataclass(kw_only=True)
class BatchConfig:
    """How pairs become batches; `seq2seq/dataset/plan.py` has the details."""

    max_tokens: int = 4096  # in a micro-batch of one rank: pairs x longest side, with padding
    accumulate: int = 1  # micro-batches in one optimizer step
    n_workers: int = runtime(0)  # processes that make batches; 0: the training process does, which costs little

    def problems(self) -> Iterator[str]:
        yield from at_least("batch", self, max_tokens=1, accumulate=1, n_workers=0)
        yield from not_too_many("batch", self, "n_workers")
