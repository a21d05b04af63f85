"""The section `data.augment`: training text with augmentation."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

EXCLUSIVE = (("upper", "title", "lower"), ("join", "join3"))  # a pair has one of each group at most


@dataclass(kw_only=True)
class AugmentConfig:
    """Shares of the training pairs that are read as people write them; others in each epoch.

    `seq2seq/corpus/augmentation/` has the kinds, and `seq2seq/dataset/epoch.py` draws them. A pair may have several,
    which it gets in this order. Of `upper`, `title` and `lower` it has one at most, and so of the joins.
    """

    join: float = 0.0  # with the next pair: two sentences on a line
    join3: float = 0.0  # with the next two pairs
    stop: float = 0.0  # the source without its final full stop
    accents: float = 0.0  # the source without accents
    typos: float = 0.0  # the source with a typo
    upper: float = 0.0  # both sides in capitals
    title: float = 0.0  # both sides With A Capital In Each Word
    lower: float = 0.0  # both sides without capitals
    quotes: float = 0.0  # the source with other quotes and apostrophes
    spaces: float = 0.0  # the source with odd spaces
    emoji: float = 0.0  # an emoji in both sides
    urls: float = 0.0  # an address in both sides
    numbers: float = 0.0  # a number in both sides
    placeholders: float = 0.0  # such as {name} in both sides

    @property
    def shares(self) -> dict[str, float]:
        """The shares above 0, by the name of the augmentation, in the order in which a pair gets them."""
        return {name: share for name, share in dataclasses.asdict(self).items() if share}

    def problems(self) -> Iterator[str]:
        for name, share in dataclasses.asdict(self).items():
            if not 0 <= share <= 1:
                yield f"data.augment.{name}={share} is not a share from 0 to 1"
        for names in EXCLUSIVE:
            if sum(getattr(self, name) for name in names) > 1 + 1e-9:  # 0.33 + 0.56 + 0.11 is a little more than 1
                listed = " and ".join([", ".join(names[:-1]), names[-1]])
                yield f"data.augment: {listed} exclude each other, and their shares add up to more than 1"
