"""What can be asked of a split; apart from `split.py`, so that the help of the command needs no NumPy."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """One split of a corpus into train, valid and test.

    Attributes:
        output: a directory that does not exist yet.
        n_valid: groups in valid.
        n_test: groups in test.
        max_group: larger groups, in pairs, stay in train.
        seed: of the random choice.
    """

    output: Path
    n_valid: int = 1000
    n_test: int = 2000
    max_group: int = 8
    seed: int = 1
