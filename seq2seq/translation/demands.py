"""What a translation must contain: the terms of a glossary, which the search writes, and the numbers of the line."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from seq2seq.errors import ConfigError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text.glossary import Glossary, Term, n_times
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.kept import numbers
from seq2seq.translation.text.splitting import Part


@dataclass(frozen=True)
class Demands:
    """What translations must contain, as far as their lines say.

    Attributes:
        keeps_numbers: whether numbers must come through unchanged; that is checked, and not searched for.
    """

    tokenizer: Tokenizer
    terms: Sequence[Term]
    keeps_numbers: bool

    def check(self) -> None:
        """Refuse terms that the model cannot write.

        Raises:
            ConfigError: a character of a term is another one for the tokenizer.
        """
        translations = [translation for _, translation in self.terms]
        for translation, ids in zip(translations, self.tokenizer.encode(translations), strict=True):
            (written,) = self.tokenizer.decode([ids])
            if written != translation:
                raise ConfigError(f"the model writes {translation!r} as {written!r}; put that into the glossary")

    def terms_of(self, text: str, parts: Sequence[Part]) -> list[list[str]]:
        """For each part of a text: what its translation must contain for the terms in it, as often as it must."""
        if not self.terms:
            return [[] for _ in parts]
        matches = self._glossary.find(text)
        found = []
        for part in parts:
            end = part.start + len(part.text)
            first, stop = (bisect_left(matches, place, key=lambda match: match.start) for place in (part.start, end))
            found.append([match.translation for match in matches[first:stop] if match.end <= end])
        return found

    def missing(self, text: str, translation: str) -> list[Finding]:
        """What the translation of a text lacks."""
        wanted = Counter(match.translation for match in self._glossary.find(text)) if self.terms else Counter()
        lacking = [term for term, n in wanted.items() if n_times(term, translation) < n]
        findings = [Finding("missing", f"the translation lacks the term {term!r}") for term in lacking]
        if self.keeps_numbers:
            there = Counter(translation[start:end] for start, end in numbers(translation))
            lost = Counter(text[start:end] for start, end in numbers(text)) - there
            findings += [Finding("missing", f"the translation lacks the number {number!r}") for number in lost]
        return findings

    @cached_property
    def _glossary(self) -> Glossary:
        return Glossary(self.terms)
