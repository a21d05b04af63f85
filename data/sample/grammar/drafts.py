"""A sentence under way, from clauses to finished text."""

from dataclasses import dataclass

from . import english, french
from .adverbials import (
    Phrase,
)
from .clauses import Clause, to_english, to_french
from .phrases import Link


@dataclass(frozen=True)
class Sentence:
    fr: str
    en: str
    pattern: str
    words: frozenset[str]
    links: frozenset[Link]


@dataclass
class Draft:
    """A sentence under way: words in order, before elision, plus what they are."""

    fr: str
    en: str
    words: frozenset[str] = frozenset()
    links: frozenset[Link] = frozenset()
    mark: str = "."

    def finish(self, pattern: str) -> Sentence:
        fr, en = french.sentence(self.fr, self.mark), english.sentence(self.en, self.mark)
        return Sentence(fr, en, pattern, self.words, self.links)


def statement(clause: Clause, opening: Phrase | None = None) -> Draft:
    fr, en = to_french(clause), to_english(clause)
    if opening is None:
        return Draft(fr, en, clause.words, clause.links)
    return Draft(f"{opening.fr}, {fr}", f"{opening.en}, {en}", clause.words | opening.words, clause.links)


def joined(fr_link: str, en_link: str, first: Draft, second: Draft) -> Draft:
    """Two clauses around a conjunction, which brings its own comma if it has one."""
    fr, en = f"{first.fr}{fr_link}{second.fr}", f"{first.en}{en_link}{second.en}"
    conjunction = fr_link.replace(",", "").strip()
    return Draft(fr, en, first.words | second.words | {f"other:{conjunction}"}, first.links | second.links)
