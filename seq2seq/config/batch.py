"""The section `batch`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seq2seq.config.checks import at_least, not_too_many
from seq2seq.config.on_resume import runtime
from seq2seq.errors import ConfigError

AUTO = 0  # `batch.max_tokens=auto`, until training/fitting.py has found the number
if TYPE_CHECKING:
    MaxTokens = int
else:
    MaxTokens = int | str  # what a user may write: `auto` becomes a number in `__post_init__`


@dataclass(kw_only=True)
class BatchConfig:
    """How pairs become batches; `seq2seq/dataset/plan.py` has the details."""

    max_tokens: MaxTokens = 4096  # in a micro-batch of one rank: pairs x longest side, with padding; or `auto`
    accumulate: int = 1  # micro-batches in one optimizer step
    n_workers: int = runtime(0)  # processes that make batches; 0: the training process does, which costs little

    def __post_init__(self) -> None:
        written: object = self.max_tokens
        if isinstance(written, str):
            self.max_tokens = AUTO if written == "auto" else _number(written)

    @property
    def is_auto(self) -> bool:
        return self.max_tokens == AUTO

    def problems(self) -> Iterator[str]:
        yield from at_least("batch", self, max_tokens=AUTO, accumulate=1, n_workers=0)
        yield from not_too_many("batch", self, "n_workers")


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ConfigError(f"batch.max_tokens={text[:60]!r} is neither a number nor auto; write one of them")
    return int(text)
