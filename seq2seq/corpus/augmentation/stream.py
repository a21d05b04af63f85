"""An augmentation on a stream of sentences with their translations."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

import regex

from seq2seq.characters import EAST_ASIAN
from seq2seq.corpus.augmentation.kinds import Augmentation

_ENDS_SO, _BEGINS_SO = regex.compile(f"(?V1){EAST_ASIAN}$"), regex.compile(f"(?V1){EAST_ASIAN}")


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


def joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as one: all sources as a text, all translations as a text, and so on.

    A row that lacks a further reference gives its first one instead, so that each joined reference is complete.
    Blank texts leave no trace. A single row comes back as it is.
    """
    if len(rows) == 1:
        return list(rows[0])
    columns = []
    for number, column in enumerate(zip_longest(*rows, fillvalue="")):
        if number > 1 and any(map(str.strip, column)):
            column = tuple(text if text.strip() else row[1] for text, row in zip(column, rows, strict=True))
        columns.append(_one_text(column))
    return columns


def _one_text(texts: Sequence[str]) -> str:
    joint = ""
    for text in filter(None, map(str.strip, texts)):
        needs_space = joint and not _ENDS_SO.search(joint) and not _BEGINS_SO.match(text)
        joint += f" {text}" if needs_space else text
    return joint
