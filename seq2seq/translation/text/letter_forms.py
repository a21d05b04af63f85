"""Letters in the form that training had: composed accents, plain Latin letters for ligatures and wide ones.

Only forms of the same letters are changed. Signs with a meaning of their own, such as x², ½ or ™, stay.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from seq2seq.translation.text.rewriting import Edit

_KNOWN = 0.001  # of the lines of training
_MARK = "[\u0300-\u036f\u0653-\u0655\u3099\u309a]"
_CLUSTER = re.compile(rf"[^\W_]{_MARK}+|[\u1100-\u11ff]+|[\u212a\u212b\u2126]")
_COMPATIBLE = re.compile(f"(?:[\ufb00-\ufb06\uff01-\uff5e\U0001d400-\U0001d7ff]{_MARK}*)+")


def form_edits(text: str, share: Callable[[str], float]) -> list[Edit]:
    """What to change in `text`, so that its letters have the form of training."""
    if text.isascii():
        return []
    return sorted([*_composed(text, share), *_compatible(text, share)])


def _composed(text: str, share: Callable[[str], float]) -> Iterator[Edit]:
    for match in _CLUSTER.finditer(text):
        composed = unicodedata.normalize("NFC", match[0])
        if composed != match[0] and not any(share(mark) >= _KNOWN for mark in match[0][1:] if not mark.isalnum()):
            yield Edit(*match.span(), composed)


def _compatible(text: str, share: Callable[[str], float]) -> Iterator[Edit]:
    for match in _COMPATIBLE.finditer(text):
        if not any(share(character) >= _KNOWN for character in match[0] if not character.isalnum()):
            yield Edit(*match.span(), unicodedata.normalize("NFKC", match[0]))
