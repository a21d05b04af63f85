"""Signs that a translation went wrong, found without a reference."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from seq2seq.analysis.loops import find_loop
from seq2seq.characters import LETTER_ROW, bare, composed, is_unspaced, split_words

# The translator finds `long`, `split`, `cut`, `missing`, `untranslated` and `unknown`; `unscored` is of given
# translations, `tags` of subtitles.
Kind = Literal[
    "empty", "loop", "copied", "short", "long", "split", "cut", "missing", "untranslated", "unknown", "unscored", "tags"
]

_SHOWN_CHARACTERS = 5  # that the model does not read, in a message
_SHOWN_WORDS = 20


class Finding(NamedTuple):
    """One reason to look at a translation."""

    kind: Kind
    message: str  # one sentence


def unread(source: str) -> list[Finding]:
    """What to say of a line without a token, so that nothing of it was translated; nothing if it is blank."""
    held = [character for character in dict.fromkeys(source) if not _is_space(character)]
    if not held:
        return []
    names = _some([f"U+{ord(character):04X}" for character in held], _SHOWN_CHARACTERS)
    return [Finding("empty", f"The line holds only characters that the model does not read ({names}).")]


def unknown(parts: Iterable[str]) -> list[Finding]:
    """What to say of parts of a line that come through as they are, since training had no such letters."""
    words = _some([*map(repr, dict.fromkeys(parts))], _SHOWN_WORDS)
    return [Finding("unknown", f"kept as it is, since training had no such letters: {words}")] if words else []


def _some(names: Sequence[str], n: int) -> str:
    """The first ones, for a message."""
    return ", ".join([*names[:n], "..."] if len(names) > n else names)


def _is_space(character: str) -> bool:
    # U+001C to U+001F are spaces for Python, but nobody sees them.
    return character.isspace() and not "\x1c" <= character <= "\x1f"


def findings(source: str, translation: str, n_source_tokens: int, n_target_tokens: int) -> list[Finding]:
    """Signs that `translation` is wrong; none for a blank source."""
    if not source.strip():
        return []
    if not translation.strip():
        return [Finding("empty", "The translation is empty, but the source is not.")]
    found = []
    loop = find_loop(translation)
    if loop is not None and find_loop(source) is None:
        found.append(Finding("loop", f"The translation repeats {loop.shown!r} {loop.n_times} times in a row."))
    if _is_copied(source, translation):
        found.append(Finding("copied", "The translation has nearly the same words as the source."))
    # Below ten tokens, the lengths of good translations vary too much ("I have no idea." is "Aucune idée.").
    if n_source_tokens >= 10 and n_target_tokens < 0.3 * n_source_tokens:
        message = f"The translation has {n_target_tokens} tokens for {n_source_tokens} of the source."
        found.append(Finding("short", message))
    return found


def _is_copied(source: str, translation: str) -> bool:
    src, tgt = (composed(text.casefold()) for text in (source, translation))
    words = split_words(src)
    known = {*map(bare, split_words(tgt))}
    if sum(word.isalpha() and word not in known for word in words) > 0.1 * len(words):
        return False  # as most are not: it takes a moment to see
    # Names, numbers and addresses are the same in both languages; sentences have words without capitals.
    if sum(LETTER_ROW.fullmatch(word) is not None and word == word.lower() for word in split_words(source)) < 3:
        return False
    src_words, tgt_words = ([*filter(LETTER_ROW.fullmatch, map(bare, each))] for each in (words, split_words(tgt)))
    fewest = 8 if is_unspaced(source) else 4  # a name of four characters is the same in Chinese and Japanese
    if len(src_words) < fewest or abs(len(src_words) - len(tgt_words)) > 0.2 * len(src_words):
        return False
    return _n_in_order(src_words, tgt_words) >= 0.9 * len(src_words)


def _n_in_order(src_words: list[str], tgt_words: list[str]) -> int:
    """How many source words the target has in the same order: an estimate in linear time.

    Each one must be within a few words of the last one that was found.
    """
    n_met, place = 0, 0
    for word in src_words:
        for i in range(place, min(place + 4, len(tgt_words))):
            if tgt_words[i] == word:
                n_met, place = n_met + 1, i + 1
                break
    return n_met
