"""Terms and how they are to be translated: a file of two columns, where a text has its terms, and what a translation
lacks.

The search writes the terms. Numbers that should come through are checked.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import regex

from seq2seq.characters import TOKEN, UNSPACED, composed, has_spaces
from seq2seq.errors import ConfigError, TranslationError
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.kept import numbers
from seq2seq.translation.text.splitting import Part

if TYPE_CHECKING:  # it takes long to import; the help of a command does not need it
    from seq2seq.tokenizer import Tokenizer

Term = tuple[str, str]  # in the source language, and its translation
_Key = tuple[tuple[str, ...], bool]  # the tokens of a term, and whether their case matters

_INSIDE = rf"(?V1:[\w--[_{UNSPACED}]])"  # a word of a script with spaces
_ENDS_WORD = rf"(?!\p{{Hangul}}){_INSIDE}"  # particles follow Korean words without a space: 서울에
_TIED_BEFORE = regex.compile(r"(?<=\w[-‐‑])\w")
_TIED_AFTER = regex.compile(r"(?<=\w)[-‐‑]\w")


class Match(NamedTuple):
    """A term in a text: where it is, in characters, and its translation."""

    start: int
    end: int
    translation: str


def read_terms(lines: Iterable[str], name: str) -> tuple[Term, ...]:
    """The terms of a file. Blank lines, and lines that begin with #, are no terms.

    Args:
        name: of the file, for messages.
    Raises:
        TranslationError: a line has not two columns, or gives another translation for a term that came before.
    """
    terms: dict[str, tuple[str, int]] = {}
    keys: dict[_Key, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = [" ".join(column.split()) for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise TranslationError(
                f"{name}:{number}: expected a term, a tab and its translation, found {line[:60]!r}; correct this line"
            )
        term, translation = columns
        earlier = keys.setdefault(_key(term), term)
        if earlier in terms and terms[earlier][0] != translation:
            raise TranslationError(
                f"{name}:{number}: {term!r} is {translation!r} here and {terms[earlier][0]!r} in line "
                f"{terms[earlier][1]}; keep one of them"
            )
        terms.setdefault(earlier, (translation, number))
    return tuple((term, translation) for term, (translation, _) in terms.items())


class Glossary:
    """Finds terms in texts.

    A term is whole words: "arc" is not in "arcs" nor in "arc-en-ciel", but "avocat" is in "l'avocat". In scripts
    without spaces between words, it is whole characters. Case does not matter, unless the term has a capital after its
    first letter: "OTAN" is not in "otan".
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        """If a term comes twice, the last one counts."""
        self._translations = {_key(term): translation for term, translation in terms}
        self._lengths: dict[str, list[int]] = defaultdict(list)  # of the terms that begin with a token
        for length, first in sorted({(len(tokens), tokens[0].casefold()) for tokens, _ in self._translations}):
            self._lengths[first].append(length)

    def find(self, text: str) -> list[Match]:
        """The terms in `text`, in order. Where two overlap, the one with more words counts, then the first one."""
        if not self._translations:
            return []
        found = [(match.start(), match.end()) for match in TOKEN.finditer(text)]
        tokens = [_normal(text[start:end]) for start, end in found]
        folded = [token.casefold() for token in tokens]
        candidates: list[tuple[int, int, str]] = []  # minus the length, place, translation
        for i, token in enumerate(folded):
            for length in self._lengths.get(token, ()):
                if i + length > len(tokens):
                    break
                translation = self._translation(tokens[i : i + length], folded[i : i + length])
                if translation is not None and not _is_in_compound(text, found[i][0], found[i + length - 1][1]):
                    candidates.append((-length, i, translation))
        is_taken = bytearray(len(tokens))
        matches = []
        for minus_length, i, translation in sorted(candidates):
            end = i - minus_length
            if not (is_taken[i] or is_taken[end - 1]):  # no shorter one is taken yet
                is_taken[i:end] = b"\1" * (end - i)
                matches.append(Match(found[i][0], found[end - 1][1], translation))
        return sorted(matches)

    def _translation(self, tokens: Sequence[str], folded: Sequence[str]) -> str | None:
        exact = self._translations.get((tuple(tokens), True))
        return exact if exact is not None else self._translations.get((tuple(folded), False))


def n_times(term: str, text: str) -> int:
    """How often `text` has a term, letter by letter, as whole words. Occurrences do not overlap."""
    term, text = composed(term), composed(text)
    before = f"(?<!{_INSIDE})" if regex.match(_INSIDE, term) else ""
    after = f"(?!{_INSIDE})" if regex.match(_ENDS_WORD, term[-1]) else r"(?!\p{M})"
    return len(regex.findall(before + regex.escape(term) + after, text))


def _key(term: str) -> _Key:
    has_case = any(character.isupper() for character in term[1:])
    tokens = [_normal(token) for token in TOKEN.findall(term)]
    return tuple(tokens if has_case else [token.casefold() for token in tokens]), has_case


def _normal(token: str) -> str:
    return composed(token).replace("’", "'")


def _is_in_compound(text: str, start: int, end: int) -> bool:
    """Whether a hyphen ties text[start:end] to a word."""
    return bool(_TIED_BEFORE.match(text, start) or _TIED_AFTER.match(text, end))


@dataclass(frozen=True)
class Demands:
    """What translations must contain, as far as their lines say.

    Attributes:
        tgt_lang: decides whether a term has a space before it.
        keeps_numbers: whether numbers must come through unchanged; that is checked, and not searched for.
    """

    tokenizer: "Tokenizer"
    tgt_lang: str
    terms: Sequence[Term]
    keeps_numbers: bool

    def check(self) -> None:
        """Refuse terms that the model cannot write.

        Raises:
            ConfigError: a character of a term is another one for the tokenizer.
        """
        translations = [translation for _, translation in self.terms]
        for translation, ids in zip(translations, self.encoded(translations), strict=True):
            (written,) = self.tokenizer.decode([ids])
            if written != translation:
                raise ConfigError(f"the model writes {translation!r} as {written!r}; put that into the glossary")

    def terms_of(self, text: str, parts: Sequence[Part]) -> list[list[str]]:
        """For each part of a text: what its translation must contain for the terms in it, as often as it must."""
        matches = self._glossary.find(text)
        found = []
        for part in parts:
            first, stop = (bisect_left(matches, (place,)) for place in (part.start, part.end))
            found.append([match.translation for match in matches[first:stop] if match.end <= part.end])
        return found

    def encoded(self, terms: Sequence[str]) -> list[list[int]]:
        """The tokens that stand for each of these in a translation."""
        if has_spaces(self.tgt_lang):
            return self.tokenizer.encode(terms)
        return [self.tokenizer.encode_inside(term) for term in terms]

    def missing(self, text: str, translation: str) -> list[Finding]:
        """What the translation of a text lacks."""
        wanted = Counter(match.translation for match in self._glossary.find(text))
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
