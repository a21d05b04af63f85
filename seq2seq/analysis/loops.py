"""Words, or letters inside a word, that a text repeats: the sign of a model that goes round in circles."""

from collections.abc import Sequence
from typing import NamedTuple

import regex

from seq2seq.characters import LETTERS, LONE_STOPS, UNSPACED, is_unspaced, split_words

_WORD = regex.compile(rf"(?V1)[^\s–—.,;:!?…\"'’“”«»()\[\]،؛{LONE_STOPS}[{UNSPACED}&&\p{{P}}]]+")
_LONGEST_UNIT = 8  # words
_LONGEST_WITHOUT_SPACES = 24  # characters
_LETTER = rf"[{LETTERS}--[{UNSPACED}\p{{Hangul}}]]"  # in Korean, some laughter is one letter
# Letters inside a word of an alphabet. Laughter ("hahaha") and what is drawn out ("nooo") mostly repeat less.
_LETTERS_LOOP = regex.compile(rf"(?V1)({_LETTER})\1{{7,}}|({_LETTER}{{2,6}}?)\2{{4,}}")
_FEWEST_AGAIN = 7  # letters of such a word that stood in it before
_SHOWN = 40  # characters of a repeated unit in a message


class Loop(NamedTuple):
    """What a text repeats, and how many times in a row."""

    unit: str
    n_times: int

    @property
    def shown(self) -> str:
        """The unit, short enough for a message."""
        return self.unit if len(self.unit) <= _SHOWN else self.unit[: _SHOWN - 1] + "…"


def find_loop(text: str) -> Loop | None:
    """The words, or the letters inside a word, that `text` repeats; None if it repeats none."""
    text = text.casefold()
    loop = _word_loop(text)
    if loop is not None:
        return loop
    for word in text.split():
        # The pattern is slow, and only a word with some letters many times can match it.
        if len(word) - len(set(word)) >= _FEWEST_AGAIN and (letters := _LETTERS_LOOP.search(word)):
            unit = letters[1] or letters[2]
            return Loop(unit, len(letters[0]) // len(unit))
    return None


def _word_loop(text: str) -> Loop | None:
    words = text.split()
    has_no_spaces = is_unspaced(text)
    if has_no_spaces or len(words) == 1 or sum(map(len, words)) > 20 * len(words):
        # Text without spaces: characters repeat by chance more often than words, so ask for more.
        characters = split_words(text) if has_no_spaces else "".join(words)
        loop = _repeated(characters, "", n_single=10, n_longer=5, share=0.3, longest=_LONGEST_WITHOUT_SPACES)
        if loop is not None:
            return loop
    # Without the marks: "oui, oui oui," says one thing three times.
    loop = _repeated(_WORD.findall(text), " ", n_single=4, n_longer=3, share=0.3)
    if loop is not None:
        return loop
    loop = _repeated(words, " ", n_single=4, n_longer=3, share=0.3)
    return None if loop is None or _WORD.search(loop.unit) else loop  # of marks alone: ". . . ."


def _repeated(
    items: Sequence[str], glue: str, n_single: int, n_longer: int, share: float, longest: int = _LONGEST_UNIT
) -> Loop | None:
    n_again = len(items) - len(set(items))  # each repetition brings nothing new
    for size in range(1, min(longest, n_again // (n_longer - 1)) + 1):
        run = 0  # items in a row that equal the one `size` before them
        longest_run, end = 0, 0
        for i in range(size, len(items)):
            run = run + 1 if items[i] == items[i - size] else 0
            if run > longest_run:
                longest_run, end = run, i + 1
        n_times = longest_run // size + 1
        if n_times >= (n_single if size == 1 else n_longer) and n_times * size >= share * len(items):
            return Loop(glue.join(items[end - size : end]), n_times)
    return None
