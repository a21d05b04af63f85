"""A disguise on a stream of sentences with their translations."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from seq2seq.corpus.disguises.joining import joined
from seq2seq.corpus.disguises.kinds import Disguise


def disguised(rows: Iterable[Sequence[str]], disguise: Disguise, seed: int) -> Iterator[list[str]]:
    """Each row disguised: a source sentence, then its translations, if there are any.

    What is left to chance depends on the seed, the disguise and the source sentence: a sentence is disguised alike
    wherever it stands, in every process. A row with a blank source stays as it is. A disguise that joins lines joins
    1 to n, n + 1 to 2n and so on, blank ones too, so that sources and translations stay aligned; the last group may be
    smaller.
    """
    draw = random.Random()
    rows = iter(rows)
    while group := list(islice(rows, disguise.n_lines)):
        texts = joined(group)
        if texts[0].strip():
            draw.seed(f"{seed} {disguise.name} {texts[0]}")
            texts = disguise.apply(texts, draw)
        yield texts


def disguised_in_turn(
    rows: Iterable[Sequence[str]], disguises: Iterable[Disguise], seed: int
) -> Iterator[Sequence[str]]:
    """The rows in several disguises, one after another."""
    for disguise in disguises:
        rows = disguised(rows, disguise, seed)
    return iter(rows)
