"""A text whose characters know which characters they come from, through whatever is done to it.

A line is such a text while it is made what the model reads, and so is a translation while it gets its looks and what
was taken out of the line. So the words of both can be counted at any time in those that were there first.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from seq2seq.characters import split_words, word_spans

_NOTHING = -1  # comes from nothing: it was put in


class Edit(NamedTuple):
    """text[start:end] becomes `new`."""

    start: int
    end: int
    new: str


class Text(NamedTuple):
    """A text that was made of another one.

    Attributes:
        origins: for each character, the index of the one that it comes from in the first text; -1 if it was put in.
    """

    text: str
    origins: Sequence[int]

    @classmethod
    def of(cls, text: str) -> "Text":
        return cls(text, range(len(text)))

    def edited(self, edits: Iterable[Edit]) -> "Text":
        """This text with these edits, which are in order and do not overlap.

        What is written in place of something comes from its first character; in place of white space, from nothing.
        """
        pieces: list[str] = []
        origins: list[int] = []
        done = 0
        for start, end, new in edits:
            old = self.text[start:end]
            origin = self.origins[end - len(old.lstrip())] if old.strip() else _NOTHING
            pieces += (self.text[done:start], new)
            origins += [*self.origins[done:start], *[origin] * len(new)]
            done = end
        return Text("".join([*pieces, self.text[done:]]), [*origins, *self.origins[done:]])

    def respaced(self, text: str) -> "Text":
        """`text`, which has other white space between as many other characters."""
        if text == self.text:
            return self
        visible = (origin for character, origin in zip(*self, strict=True) if not character.isspace())
        origins, last = [], -1
        for character in text:
            last = last if character.isspace() else next(visible)
            origins.append(last + character.isspace())
        return Text(text, origins)

    def place(self, origin: int) -> int:
        """Where a place of the first text is in this one."""
        return bisect_left(self.origins, origin)

    def words(self, first: str) -> list[list[int]]:
        """For each word of this text, the words of the first text that its letters come from."""
        if self.text == first:
            return [[word] for word in range(len(split_words(first)))]
        of_first = word_numbers(first)
        words: list[list[int]] = [[] for _ in split_words(self.text)]
        for character, word, origin in zip(self.text, word_numbers(self.text), self.origins, strict=True):
            if not (character.isspace() or origin < 0 or first[origin].isspace() or of_first[origin] in words[word]):
                words[word].append(of_first[origin])
        return words


def word_numbers(text: str) -> list[int]:
    """For each character the index of its word in `split_words(text)`; for white space, that of the word before it."""
    starts = [0, *(start for start, _ in word_spans(text)), len(text)]
    return [number for number, (start, end) in enumerate(pairwise(starts), start=-1) for _ in range(start, end)]
