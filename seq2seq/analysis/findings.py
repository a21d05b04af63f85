"""Signs that a translation is wrong, found with its source and its references. Each is a hint: look at the sentence.

Each function gives the words of one kind of finding (`test_set.FINDINGS`), or None if there is none. No word can be
pointed at where a translation is empty or too short. A translation that is one of the references has no finding.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, pairwise
from unicodedata import east_asian_width

from seq2seq.analysis.loops import find_loop
from seq2seq.analysis.words import codes, letter_words, mostly, names, numbers, scripts
from seq2seq.characters import is_unspaced, split_words

Words = list[str] | None
KEPT = ("numbers", "codes", "names")
NEEDS_SOURCE = ("unaligned words", "copied words", "invented numbers", *(f"lost {kind}" for kind in KEPT))
NEEDS_ALIGNMENT = ("unaligned words",)

# A translation is too long or too short by both: by this factor, and by so many characters (about four words). In
# short sentences good translations differ by as large a factor ("I have no idea." is "Aucune idée.").
_FACTOR, _CHARACTERS = 1.5, 20  # a wide character, as of Chinese, counts as two
_PHRASE = 3  # words; two are often the same by chance ("in the ... in the")
_PHRASE_WITHOUT_SPACES = 8  # characters
_LONG_WORD = 6  # letters; articles and particles often have no word of their own in the other language
_STANDS_FOR_UNKNOWN = (
    "\u2047\ufffd"  # what SentencePiece writes for unk, and what stands for bytes that are no character
)


def find_all(
    source: str | None,
    hypothesis: str,
    references: Sequence[str],
    alignment: Collection[tuple[int, int]] | None = None,
    known_words: Collection[str] = (),
) -> dict[str, list[str]]:
    """All findings of a sentence, by kind. What needs a source or an alignment that is None is not looked for.

    Args:
        source: if it is blank, there is nothing to say.
        references: blank ones do not count, and without any, there is nothing to say.
        known_words: as `copied_words`.
    """
    references = [text for text in references if text.strip()]
    if not references or (source is not None and not source.strip()):
        return {}
    found: dict[str, Words] = {
        "empty": empty(hypothesis),
        "looping": looping(hypothesis, [*references, source or ""]),
        "too long": too_long(hypothesis, references),
        "too short": too_short(hypothesis, references),
        "repeated words": repeated_words(hypothesis, references),
        "unknown characters": unknown_characters(hypothesis, [*references, source or ""]),
    }
    if source is not None:
        found |= {
            "copied words": copied_words(source, hypothesis, references, known_words),
            "invented numbers": invented_numbers(source, hypothesis, references),
            **{f"lost {kind}": lost(kind, source, hypothesis, references) for kind in KEPT},
        }
        if alignment is not None:
            found["unaligned words"] = unaligned_words(source, hypothesis, references, alignment)
    return {kind: words for kind, words in found.items() if words is not None}


def unsaid(sources: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """The kinds that the script of most sources cannot show, except for what is written in other letters.

    No word of Chinese or Thai is known to be long, names have capitals in few scripts, and Chinese and Japanese share
    characters.
    """
    unspaced = mostly(is_unspaced, sources)
    found = ["unaligned words"] if unspaced else []
    if unspaced and mostly(is_unspaced, list(chain.from_iterable(references))):
        found.append("copied words")
    return found + (["lost names"] if mostly(lambda text: text.lower() == text.upper(), sources) else [])


def empty(hypothesis: str) -> Words:
    """Nothing was written."""
    return None if hypothesis.strip() else []


def looping(hypothesis: str, others: Sequence[str]) -> Words:
    """Words, or letters in a word, that come again and again at once, if neither references nor source have such."""
    loop = find_loop(hypothesis)
    return loop.unit.split() if loop and not any(map(find_loop, others)) else None


def too_long(hypothesis: str, references: Sequence[str]) -> Words:
    """The translation is far longer than the longest reference: over-translation."""
    longest = max(map(_n_characters, references))
    return [] if _is_far(_n_characters(hypothesis), longest) else None


def too_short(hypothesis: str, references: Sequence[str]) -> Words:
    """The translation is far shorter than the shortest reference: under-translation. An empty one is another kind."""
    shortest = min(map(_n_characters, references))
    n = _n_characters(hypothesis)
    return [] if n and _is_far(shortest, n) else None


def repeated_words(hypothesis: str, references: Sequence[str]) -> Words:
    """A word that follows itself, or three words in a row that come twice, if no reference repeats them so.

    Where there are no spaces between words, eight characters in a row. A character often follows itself.
    """
    repeated = _repeated(letter_words(hypothesis))
    return [
        phrase for phrase in repeated if not any(phrase in _repeated(letter_words(text)) for text in references)
    ] or None


def unaligned_words(
    source: str, hypothesis: str, references: Sequence[str], alignment: Collection[tuple[int, int]]
) -> Words:
    """Long words of the source from which no word of the translation comes: under-translation.

    Attention often misses a word, so the translation must have fewer words than each reference, too. With both, more
    than half of 40 sentences of Multi30k had really lost something; with the first alone, few.
    """
    n_words = len(split_words(hypothesis))
    if not 0 < n_words < min(len(split_words(text)) for text in references):
        return None
    aligned = {src for src, _ in alignment}
    return [
        word
        for i, word in enumerate(split_words(source))
        if i not in aligned and sum(map(str.isalpha, word)) >= _LONG_WORD
    ] or None


def copied_words(source: str, hypothesis: str, references: Sequence[str], known_words: Collection[str] = ()) -> Words:
    """Words of the source that the translation has too, but no reference. Names and numbers do not count.

    Args:
        known_words: words of the target language, which both languages have (table, orange).
    """
    expected = set(chain.from_iterable(map(letter_words, references))).union(known_words)
    expected.update(word.casefold() for word in names(source))
    written = set(letter_words(hypothesis))
    # Chinese and Japanese share characters, so one says something only where the target has none of its kind.
    says_something = not any(map(is_unspaced, references))
    copied = (
        word
        for word in letter_words(source)
        if word in written and word not in expected and (says_something if is_unspaced(word) else len(word) > 2)
    )
    return list(dict.fromkeys(copied)) or None


def to_keep(kind: str, source: str, references: Sequence[str]) -> dict[str, str]:
    """What a translation has to keep: the source and all references have it.

    Args:
        kind: "numbers" in digits, "codes", or "names": words with a capital inside a sentence of the source.
    Returns:
        What to look for in a translation, and how the source writes it.
    """
    in_source, in_target = _KEPT[kind]
    kept = list(map(in_target, references))
    return {word: shown for word, shown in in_source(source).items() if all(word in each for each in kept)}


def lost(kind: str, source: str, hypothesis: str, references: Sequence[str]) -> Words:
    """What `to_keep` names, and the translation has not."""
    written = _KEPT[kind][1](hypothesis)
    return [shown for word, shown in to_keep(kind, source, references).items() if word not in written] or None


def invented_numbers(source: str, hypothesis: str, references: Sequence[str]) -> Words:
    """Numbers in digits that the translation has, and neither the source nor a reference has."""
    known = set(chain.from_iterable(map(numbers, [source, *references])))
    return [shown for number, shown in numbers(hypothesis).items() if number not in known] or None


def unknown_characters(hypothesis: str, others: Sequence[str]) -> Words:
    """Characters that stand for unknown ones, nobody can see, or are letters of an alphabet that no other text has."""
    known = set("".join(others))
    alphabets = scripts("".join(others))
    unknown = [
        character
        for character in dict.fromkeys(hypothesis)
        if character not in known
        and (
            character in _STANDS_FOR_UNKNOWN
            or unicodedata.category(character) in ("Cc", "Cn", "Co")
            or not scripts(character) <= alphabets
        )
    ]
    return unknown or None


def _n_characters(text: str) -> int:
    return sum(1 + (east_asian_width(character) in "WF") for character in text if not character.isspace())


def _is_far(longer: int, shorter: int) -> bool:
    return longer >= _FACTOR * shorter and longer >= shorter + _CHARACTERS


def _repeated(words: Sequence[str]) -> list[str]:
    """The words that follow themselves, then the phrases that come twice."""
    doubled = [word for word, following in pairwise(words) if word == following and not is_unspaced(word)]
    size, glue = (_PHRASE_WITHOUT_SPACES, "") if mostly(is_unspaced, words) else (_PHRASE, " ")
    phrases = Counter(glue.join(words[i : i + size]) for i in range(len(words) - size + 1))
    return list(dict.fromkeys([*doubled, *(phrase for phrase, n in phrases.items() if n > 1)]))


def _names(text: str) -> dict[str, str]:
    return {letter_words(name)[0]: name for name in names(text)}


# By kind, what it finds in a source, and in a translation.
_KEPT: dict[str, tuple[Callable[[str], Mapping[str, str]], Callable[[str], Collection[str]]]] = {
    "numbers": (numbers, numbers),
    "codes": (codes, codes),
    "names": (_names, letter_words),
}
