"""The identity of a run: made once, by its first process, and kept for its life, also when it is resumed."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunIdentity:
    """`run.json`. It says nothing of the directory that it is in, so that a run may be moved.

    Attributes:
        id: random, so that no two runs have the same.
        corpus: SHA-256 of each file, by split, with test sets as `test/NAME`; empty until it is known.
        tokenizer: SHA-256 of the tokenizer; empty until it is known.
        copied_from: the id of the run whose directory was copied; empty for none.
    """

    id: str
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tokenizer: str = ""
    copied_from: str = ""

    @classmethod
    def new(cls, copied_from: str = "") -> "RunIdentity":
        return cls(secrets.token_hex(8), copied_from=copied_from)

    @classmethod
    def from_json(cls, content: Any) -> "RunIdentity":
        """Read what `as_json` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            corpus = {str(split): [str(digest) for digest in digests] for split, digests in content["corpus"].items()}
            return cls(str(content["id"]), corpus, str(content["tokenizer"]), str(content.get("copied_from", "")))
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not the identity of a run [{error!r}]") from error

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
