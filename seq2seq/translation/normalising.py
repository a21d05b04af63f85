"""A line as people write it, made a line as training had them, and what is needed to give a translation back its looks.

First marks, spaces and letter forms are replaced. Then what the model has never seen is taken out (to be put back, see
text/putting_back.py), and so are sentences without a word. Last, a headline becomes a sentence. All of it is one
`Text`, whose characters know which ones of the line they come from.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

import regex

from seq2seq.characters import base_language, has_word
from seq2seq.config import RunConfig
from seq2seq.corpus.sentences import sentence_ends
from seq2seq.dataset.seen import Looks
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text.casing import Style, Styled, in_sentence_case, styled_sentences
from seq2seq.translation.text.kept import Thing, letter_edits, merged, things, unknown_things
from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.rewriting import (
    AUTO,
    Change,
    Kind,
    form_edits,
    kinds_of,
    last_stop,
    mark_edits,
    quote_edits,
    space_edits,
    stop_edits,
    with_stop_of,
)
from seq2seq.translation.text.splitting import BREAK, Part
from seq2seq.translation.text.taking_out import Item, take_out
from seq2seq.vocabulary import UNK

_OFTEN = 0.02  # of the pairs: a model has learned to read odd quotes and spaces if it was trained for so many
# Capitals are harder: trained with 5% of the pairs in capitals, a model of captions has 31 BLEU on text in capitals,
# and 51 if that is put in sentence case.
_MANY_CAPITALS = 0.2
_KNOWN = 0.001  # of the lines of training that have emoji: a model has learned to translate them
_PROTECTED = ("markup", "urls", "placeholders", "code")  # text in which no mark and no space is replaced
# Capital i is İ there, and capital ı is I: letters alone do not say which one a headline had.
_DOTLESS = {"tr", "tur", "az", "aze", "azj"}  # Turkish and Azerbaijani
_PIECE = regex.compile(r"[^\p{C}\p{Z}]+")


class Reading(NamedTuple):
    """A line as the model reads it.

    Attributes:
        source: what is translated of it; its characters come from those of the line.
        items: what was taken out.
        original: the source before it was put in sentence case.
        ends: where its sentences end.
        styled: the headlines in it.
        changes: what was changed, in all.
        foreign: what comes through as it is, since training had no such letters.
    """

    line: str
    source: Text
    items: list[Item]
    original: str
    ends: list[int]
    styled: list[Styled]
    changes: list[Change]
    foreign: list[str]

    @property
    def is_mixed(self) -> bool:
        """Whether some sentences are headlines and others are not, or are headlines of another style."""
        n_styles = len({each.style for each in self.styled})
        return n_styles > 1 or (n_styles == 1 and len(self.styled) <= len(self.ends))

    def stopped(self, translation: str, part: Part) -> str:
        """The translation of a part with the end mark of the line, if the model has read one of another kind."""
        is_changed = any(change.kind == "stops" for change in self.changes)
        place = last_stop(part.text) if is_changed else None
        if place is None:
            return translation
        origin = self.source.origins[part.start + place]
        return with_stop_of(translation, self.line[origin], part.text[place])


@dataclass(frozen=True)
class Normaliser:
    """Reads lines for one model.

    Attributes:
        looks: of the source lines of training; None: what the tokenizer has a piece for was in training.
        normalize: see `TranslationOptions`.
        keep, patterns: kinds of things to take out whatever they are, and patterns of more; see `kept.py`.
    """

    config: RunConfig
    tokenizer: Tokenizer
    looks: Looks | None
    normalize: str
    keep: Sequence[str] = ()
    patterns: Sequence[str] = ()

    def read(self, line: str, *, keeps_case: bool = False) -> Reading:
        """The line as the model reads it.

        Args:
            keeps_case: leave a headline as it is.
        """
        rewritten, changes = self.rewritten(line)
        found = self.things(rewritten.text)
        rest = _masked(rewritten.text, found, " ")
        ends = [*sentence_ends(rest)]
        if "pieces" in self._kinds and not keeps_case:
            found = merged(found, _wordless(rest, ends, found))
        text, items = take_out(rewritten, found)
        if items:
            text = text if has_word(text.text) else Text.of("")  # nothing is to translate
            ends = [*sentence_ends(text.text)]
        ends = sorted({*ends, *(match.start() for match in re.finditer(BREAK, text.text))})
        wanted = {thing.start for thing in things(rewritten.text, self.keep, self.patterns)} if found else set()
        changes += [Change("pieces", thing.text, "") for thing in found if thing.start not in wanted]
        original, styled = text.text, list[Styled]()
        if self._styles and not keeps_case:
            text, styled = self._in_sentence_case(text, ends)
            pairs = ((original[start:end], text.text[start:end]) for start, end, _ in styled)
            changes += [Change("case", before, after) for before, after in pairs if before != after]
        foreign = [thing.text for thing in found if thing.is_unknown and has_word(thing.text)]
        return Reading(line, text, items, original, ends, styled, changes, foreign)

    def rewritten(self, line: str) -> tuple[Text, list[Change]]:
        """The line with the marks, spaces and letter forms of training, where that changes what the model reads."""
        rewritten = Text.of(line)
        changes: list[Change] = []
        for kind, find in self._edits.items():
            if edits := find(rewritten.text):
                edits = self._that_matter(rewritten.text, self._outside(rewritten.text, edits, kind))
                changes += dict.fromkeys(Change(kind, rewritten.text[a:b], new) for a, b, new in edits)
                rewritten = rewritten.edited(edits)
        return rewritten, changes

    def things(self, text: str) -> list[Thing]:
        """What is taken out of a text."""
        if "pieces" not in self._kinds:
            return things(text, self.keep, self.patterns)
        return unknown_things(text, {*self.keep, "urls", "code", *self._emoji}, self.patterns, self._has_piece)

    @cached_property
    def _kinds(self) -> tuple[Kind, ...]:
        kinds = kinds_of(self.normalize)
        augment = self.config.data.augment
        learned = {"quotes": augment.quotes >= _OFTEN, "spaces": augment.spaces >= _OFTEN}
        return tuple(kind for kind in kinds if self.normalize != AUTO or not learned.get(kind))

    @cached_property
    def _styles(self) -> tuple[Style, ...]:
        """The looks of headlines that are undone."""
        data = self.config.data
        if "case" not in self._kinds or {*map(base_language, (data.src_lang, data.tgt_lang))} & _DOTLESS:
            return ()
        if self.looks is None or self.normalize != AUTO:
            return ("capitals", "title")
        shares: dict[Style, float] = {
            "capitals": self.looks.capitals + data.augment.upper,
            "title": self.looks.titles + data.augment.title,
        }
        return tuple(style for style, share in shares.items() if share < _MANY_CAPITALS)

    @cached_property
    def _emoji(self) -> tuple[str, ...]:
        """The kind emoji, unless training had some."""
        if self.normalize == AUTO and self.looks is not None:
            shares = self.looks.characters.items()
            if sum(share for character, share in shares if things(character, ("emoji",))) >= _KNOWN:
                return ()
        return ("emoji",)

    @cached_property
    def _edits(self) -> dict[Kind, Callable[[str], list[Edit]]]:
        finders: dict[Kind, Callable[[str], list[Edit]]] = {
            "spaces": lambda text: space_edits(text, self._share),
            "stops": lambda text: stop_edits(text, self._share, self.config.data.src_lang),
            "forms": lambda text: sorted([*form_edits(text, self._share), *letter_edits(text)]),
            "marks": lambda text: mark_edits(text, self._share),
            "quotes": lambda text: quote_edits(text, self._share, self.config.data.src_lang),
        }
        return {kind: find for kind, find in finders.items() if kind in self._kinds}

    @cached_property
    def _has_piece(self) -> Callable[[str], bool]:
        """Whether a character, or its small letter, is written with pieces, and not in bytes."""

        @cache
        def has_piece(character: str) -> bool:
            (ids,) = self.tokenizer.encode([character.lower()[:1]])
            return UNK not in ids and not any(piece.startswith("<0x") for piece in self.tokenizer.pieces(ids))

        return has_piece

    def _share(self, character: str) -> float:
        """The share of the lines of training that have a character; of letters it is only known whether any has."""
        if self.looks is not None and not character.isalnum():
            return self.looks.characters.get(character, 0.0)
        return float(self._has_piece(character))

    def _n_pieces(self, word: str) -> int:
        return len(self.tokenizer.encode([word])[0])

    def _outside(self, text: str, edits: list[Edit], kind: Kind) -> list[Edit]:
        """The edits that touch nothing that must come through as it is: addresses, placeholders, tags.

        An end mark that is taken out together with an unknown word stays, too.
        """
        if kind == "stops":
            kept = self.things(_masked(text, edits, "."))
        else:
            kept = things(text, {*_PROTECTED, *self.keep}, self.patterns)
        rest = _masked(text, kept, "\0")
        return [edit for edit in edits if rest[edit.start : edit.end] == text[edit.start : edit.end]]

    def _that_matter(self, text: str, edits: list[Edit]) -> list[Edit]:
        """The edits without which the tokenizer would read something else. Some replacements it does by itself."""
        names = list(dict.fromkeys((text[edit.start : edit.end], edit.new) for edit in edits))
        ids = self.tokenizer.encode([f"a{each}a" for name in names for each in name])
        same = {name for name, old, new in zip(names, ids[::2], ids[1::2], strict=True) if old == new}
        return [edit for edit in edits if (text[edit.start : edit.end], edit.new) not in same]

    def _in_sentence_case(self, text: Text, ends: Sequence[int]) -> tuple[Text, list[Styled]]:
        """The text with its headlines in sentence case, and where they are.

        Not if that takes no fewer pieces: training had such capitals, or the tokenizer makes all letters small.
        """
        old, src_lang = text.text, self.config.data.src_lang
        styled = styled_sentences(old, ends, self._n_pieces, self._styles)
        if not styled:
            return text, []
        characters = list(old)
        for start, end, style in styled:
            characters[start:end] = in_sentence_case(old[start:end], style, self._n_pieces, src_lang)
        new = "".join(characters)
        has_title = any(each.style == "title" for each in styled) and new != old
        if not has_title and self._n_pieces(new) >= self._n_pieces(old):
            return text, []
        return Text(new, text.origins), styled


def _masked(text: str, spans: Iterable[Thing | Edit], by: str) -> str:
    """The text with another character in place of each one of the spans, which are in order."""
    pieces, done = list[str](), 0
    for span in spans:
        pieces += (text[done : span.start], by * (span.end - span.start))
        done = span.end
    return "".join([*pieces, text[done:]])


def _wordless(rest: str, ends: Sequence[int], found: Sequence[Thing]) -> list[Thing]:
    """What things leave of sentences without a word: a model would invent something for numbers and marks alone.

    Args:
        rest: the text with spaces in place of the things that were `found`.
        ends: where its sentences end.
    """
    ends = sorted({*ends, *(thing.start for thing in found if thing.is_break)})
    spans = [span for span in pairwise([0, *ends, len(rest)]) if not has_word(rest[slice(*span)])]
    pieces = (match for span in spans for match in _PIECE.finditer(rest, *span))
    return [Thing(match[0], match.start()) for match in pieces]
