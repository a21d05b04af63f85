"""Where something can be put into a sentence and its translations, so that it stands at the same place in all."""

import re
from collections import Counter
from collections.abc import Sequence

import regex

from seq2seq.characters import STOPS, stop_kind

Place = tuple[int, ...]  # characters before the place, in each text

_FINAL_MARKS = regex.compile(rf"(?V1)(?<!{STOPS}){STOPS}++$")
_COMMA = re.compile(r"(?<!\d),(?=\s)|,(?=\s(?!\d))|[，、،፣၊]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"(?<![\w.,:'’/@-])\w[\w:.-]*(?<=\w)(?![\w/@-]|['’.,:]\w)")


def ends(texts: Sequence[str]) -> Place:
    """The end of each text, before white space."""
    return tuple(len(text.rstrip()) for text in texts)


def aligned_places(texts: Sequence[str]) -> list[Place]:
    """Places that correspond in all texts. None of them has only white space.

    The first is the end, after the final mark. Then, as far as the texts have them: before the final mark, if all have
    the same one; the beginning; after each comma, if all have equally many; after each name or number that all share.
    """
    stripped = [text.rstrip() for text in texts]
    bodies = [_FINAL_MARKS.sub("", text) for text in stripped]
    marks = {"".join(map(stop_kind, text[len(body) :])) for text, body in zip(stripped, bodies, strict=True)}
    places = [ends(texts)]
    if len(marks) == 1 and marks != {""} and all(bodies):
        places.append(tuple(len(body.rstrip()) for body in bodies))
    places.append(tuple(len(text) - len(text.lstrip()) for text in texts))
    commas = [[match.end() for match in _COMMA.finditer(text)] for text in stripped]
    if len({len(found) for found in commas}) == 1:
        places += zip(*commas, strict=True)
    places += _after_shared_words(stripped)
    return list(dict.fromkeys(places))


def _after_shared_words(texts: Sequence[str]) -> list[Place]:
    """After each name or number that every text has once. The first word of a sentence has a capital for no reason."""
    first, *others = words = [_single_words(text) for text in texts]
    shared = [word for word in first if all(word in each for each in others)]
    return [tuple(each[word] for each in words) for word in shared]


def _single_words(text: str) -> dict[str, int]:
    """The end of each name or number that `text` has once."""
    words = [(match[0], match.end()) for match in _WORD.finditer(text)]
    n_of = Counter(word for word, _ in words)
    return {
        word: end
        for number, (word, end) in enumerate(words)
        if n_of[word] == 1 and (_DIGIT.search(word) or (number and word[0].isupper() and len(word) > 1))
    }
