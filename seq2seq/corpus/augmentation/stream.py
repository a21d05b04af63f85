"""An augmentation on a stream of sentences with their translations."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from seq2seq.corpus.augmentation.joining import joined
from seq2seq.corpus.augmentation.kinds import Augmentation


def augmented(rows: Iterable[Sequence[str]], augmentation: Augmentation, seed: int) -> Iterator[list[str]]:
    """Each row augmented: a source sentence, then its translations, if there are any.

    What is left to chance depends on the seed, the augmentation and the source sentence: a sentence is augmented alike
    wherever it stands, in every process. A row with a blank source stays as it is. An augmentation that joins lines
    joins 1 to n, n + 1 to 2n and so on, blank ones too, so that sources and translations stay aligned; the last group
    may be smaller.
    """
    draw = random.Random()
    rows = iter(rows)
    while group := list(islice(rows, augmentation.n_lines)):
        texts = joined(group)
        if texts[0].strip():
            draw.seed(f"{seed} {augmentation.name} {texts[0]}")
            texts = augmentation.apply(texts, draw)
        yield texts


def augmented_in_turn(
    rows: Iterable[Sequence[str]], augmentations: Iterable[Augmentation], seed: int
) -> Iterator[Sequence[str]]:
    """The rows in several augmentations, one after another."""
    for augmentation in augmentations:
        rows = augmented(rows, augmentation, seed)
    return iter(rows)
