"""Edits of a line, and which of its words each word of the result comes from."""

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """text[start:end], which is not empty, becomes `new`."""

    start: int
    end: int
    new: str


class Change(NamedTuple):
    """What was written in another way before it was translated."""

    kind: str  # one of `normalising.KINDS`
    before: str
    after: str


class Rewritten(NamedTuple):
    """A text that was edited.

    Attributes:
        origins: for each character, the index of the one that it comes from in the first text.
    """

    text: str
    origins: Sequence[int]

    @classmethod
    def of(cls, text: str) -> "Rewritten":
        return cls(text, range(len(text)))

    def edited(self, edits: Sequence[Edit]) -> "Rewritten":
        """This text with these edits, which are in order and do not overlap."""
        pieces: list[str] = []
        origins: list[int] = []
        done = 0
        for start, end, new in edits:
            old = self.text[start:end]
            first = start + len(old) - len(old.lstrip()) if old.strip() else start
            pieces += (self.text[done:start], new)
            origins += [*self.origins[done:start], *[self.origins[first]] * len(new)]
            done = end
        return Rewritten("".join([*pieces, self.text[done:]]), [*origins, *self.origins[done:]])

    def words(self, line: str) -> list[list[int]]:
        """For each word of this text, the words of the first text, `line`, that its letters come from."""
        of_line = _words_of_characters(line)
        words: list[list[int]] = [[] for _ in self.text.split()]
        for word, origin in zip(_words_of_characters(self.text), self.origins, strict=True):
            if word is not None and of_line[origin] is not None and of_line[origin] not in words[word]:
                words[word].append(of_line[origin] or 0)
        return words


def _words_of_characters(text: str) -> list[int | None]:
    """For each character the index of its word in `text.split()`; None for white space."""
    words: list[int | None] = []
    word, is_inside = -1, False
    for character in text:
        word += not character.isspace() and not is_inside
        is_inside = not character.isspace()
        words.append(word if is_inside else None)
    return words
