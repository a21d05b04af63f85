"""The text that subwords are learned from: the training text, with the augmentations that change how words are spelled.

Without this, words in capitals fall apart into letters: a sentence of captions takes 3.6 times the tokens, and 1.3 to
1.4 times with 5% of the text in capitals. Other text gets 1 to 2% longer.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from seq2seq.corpus.augmentation import AUGMENTATIONS

_SPELLINGS = ("accents", "upper", "title", "lower", "quotes")


def spelling_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Those of the augmentations that change how words are spelled."""
    return {name: share for name, share in shares.items() if name in _SPELLINGS}


def subword_text(pairs: Iterable[tuple[str, str]], shares: Mapping[str, float]) -> Iterator[str]:
    """The lines of both sides. Each pair is augmented with the probability of a share, always in the same way."""
    draw = random.Random(0)
    for pair in pairs:
        texts: Sequence[str] = pair
        for name, share in shares.items():
            if draw.random() < share:
                texts = AUGMENTATIONS[name].apply(texts, draw)
        yield from texts
