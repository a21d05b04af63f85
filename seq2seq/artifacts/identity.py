"""The identity of a run: made once, by its first process, and kept for its life, also when it is resumed."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class SweepPlace:
    """Which job of which sweep a run is."""

    group: str  # the name of the sweep, which is also its group in W&B
    number: int  # of the job, from 0


@dataclass(frozen=True)
class RunIdentity:
    """`run.json`. It says nothing of the directory that it is in, so that a run may be moved.

    Attributes:
        id: random, so that no two runs have the same.
        sweep: None for a run that is not part of one.
        corpus: SHA-256 of each file, by split, with test sets as `test/NAME`; empty until it is known.
        tokenizer: SHA-256 of the tokenizer; empty until it is known.
    """

    id: str
    sweep: SweepPlace | None = None
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tokenizer: str = ""

    @classmethod
    def new(cls, sweep: SweepPlace | None = None) -> "RunIdentity":
        return cls(secrets.token_hex(8), sweep)

    @classmethod
    def from_json(cls, content: Any) -> "RunIdentity":
        """Read what `as_json` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            sweep = content["sweep"] and SweepPlace(str(content["sweep"]["group"]), int(content["sweep"]["number"]))
            corpus = {str(split): [str(digest) for digest in digests] for split, digests in content["corpus"].items()}
            return cls(str(content["id"]), sweep, corpus, str(content["tokenizer"]))
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not the identity of a run [{error!r}]") from error

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
