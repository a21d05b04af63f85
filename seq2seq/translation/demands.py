"""What a translation must contain: the terms of a glossary, and the numbers of the line."""

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
        keeps_numbers: whether numbers must come through unchanged.
        searches_numbers: whether the search can be asked for that. If not, they are only checked.
    """

    tokenizer: Tokenizer
    terms: Sequence[Term]
    keeps_numbers: bool
    searches_numbers: bool

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

    def phrases(self, parts: Sequence[Part], terms: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """For each part: the tokens of all that its translation must contain, as often as it must.

        Args:
            terms: of each part, see `terms_of`.
        """
        phrases = []
        for part, wanted in zip(parts, terms, strict=True):
            found = self.tokenizer.encode(wanted)
            if self.searches_numbers:
                found += self._numbers(part.text)
            phrases.append(found)
        return phrases

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

    def _numbers(self, text: str) -> list[list[int]]:
        """The tokens of each number as it stands in the text: with the space before it, if there is one."""
        spans = list(numbers(text))
        if not spans:
            return []
        ids, offsets = self.tokenizer.encode([text])[0], self.tokenizer.offsets(text)
        beginning = {begin: i for i, (begin, end) in enumerate(offsets) if end > begin} | {0: 0}
        ending = {end: i for i, (begin, end) in enumerate(offsets) if end > begin}
        found = []
        for start, end in spans:
            first = beginning.get(start - (text[start - 1 : start] == " "))
            last = ending.get(end)
            if first is None or last is None:  # a token has more than the number
                found += self.tokenizer.encode([text[start:end]])
            else:
                found.append(ids[first : last + 1])
        return found
