"""The list of augmentations."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from seq2seq.corpus.augmentation import insertions, letters, marks, spaces, typos
from seq2seq.errors import ConfigError

SEED = 1  # of test sets with augmentation
VERSION = 3  # of what the augmentations write: raise it with every change, so that cached test sets are made anew


@dataclass(frozen=True)
class Augmentation:
    """A way in which people write a sentence.

    Attributes:
        name: in configurations and on the command line.
        reason: who writes so.
        apply: from the texts of a sentence (its source, then its translations) to as many texts, with `draw` for what
            is left to chance. It depends on nothing else. A blank text stays blank, and none gets a line end.
        ignores_case: whether scores of such text have to ignore case.
        n_lines: how many lines become one. `apply` gets texts that are joined already; see `joined`.
    """

    name: str
    reason: str
    apply: Callable[[Sequence[str], random.Random], list[str]]
    ignores_case: bool = False
    n_lines: int = 1


Change = Callable[[str, random.Random], str]
Piece = Callable[[random.Random], str]


def _source_only(name: str, change: Change, reason: str) -> Augmentation:
    return Augmentation(name, reason, lambda texts, draw: [change(texts[0], draw), *texts[1:]])


def _on_both_sides(name: str, piece: Piece, reason: str) -> Augmentation:
    return Augmentation(name, reason, partial(insertions.with_piece, piece))


def _as_they_are(texts: Sequence[str], draw: random.Random) -> list[str]:
    return list(texts)


_KINDS = (
    Augmentation(
        "upper",
        "ALL IN CAPITALS, as in headlines and forms: few of training's subwords",
        letters.upper,
        ignores_case=True,
    ),
    Augmentation(
        "title", "Every Word With A Capital, as in titles: each may look like a name", letters.title, ignores_case=True
    ),
    Augmentation(
        "lower", "all in lower case, as in chats and searches: names look like words", letters.lower, ignores_case=True
    ),
    _source_only("accents", letters.without_accents, "no accents, as on a foreign keyboard: other words, or none"),
    _source_only("quotes", marks.other_quotes, "the other quotes: typographic from word processors, else straight"),
    _source_only("stop", marks.without_stop, "no full stop, as in messages and headings: the end seems to be missing"),
    _source_only("typos", typos.with_typo, "one typing error: a word that training never had"),
    _source_only("spaces", spaces.with_odd_spaces, "one or two odd spaces, as pasted from web pages and PDFs"),
    _on_both_sides("emoji", insertions.emoji, "an emoji, as in messages: often left out or repeated"),
    _on_both_sides("urls", insertions.url, "a URL or an e-mail address: has to come through letter by letter"),
    _on_both_sides("numbers", insertions.number, "one number more, as in lists and references: has to come through"),
    _on_both_sides(
        "placeholders", insertions.placeholder, "a placeholder, as in texts of programs: has to come through"
    ),
    Augmentation("join", "two lines on one: more sentences than a line of training has", _as_they_are, n_lines=2),
    Augmentation("join3", "three lines on one", _as_they_are, n_lines=3),
)
AUGMENTATIONS = {augmentation.name: augmentation for augmentation in _KINDS}


def named(names: Iterable[str]) -> list[Augmentation]:
    """The augmentations of these names.

    Raises:
        ConfigError: an unknown name.
    """
    names = list(names)
    for name in names:
        if name not in AUGMENTATIONS:
            raise ConfigError(f"there is no augmentation {name!r}; choose from {', '.join(AUGMENTATIONS)}")
    return [AUGMENTATIONS[name] for name in names]
