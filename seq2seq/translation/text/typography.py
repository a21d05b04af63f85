"""Restore in translations the typography that normalisation removed."""

import re
from collections.abc import Callable
from itertools import cycle

_NNBSP = "\u202f"
_SMILEY = r"[:;]-?[)(DPp/\\|](?!\w)"
_KEEP = rf"https?://\S+|www\.\S+|[\w.+-]{{1,64}}@[\w.-]+|&#?\w{{1,32}};|\b[A-Za-z]:\\\S*|(?<!\S){_SMILEY}"
# A single no-break space of either width stays, since somebody chose it.
_MARKS = re.compile(
    rf"({_KEEP})|(?<=[^\s(\[{{«\";:!?])(?![\u00a0\u202f][;:!?])(?! +{_SMILEY})[ \u00a0\u202f]*([;:!?]+(?: +[!?]+)*)"
    r"(?=\s|$|[\"»”’')\].…,])"
)
_APOSTROPHE = re.compile(rf"({_KEEP})|(?<=[^\W\d_])'(?=[^\W\d_])")
_OPEN_GUILLEMET = re.compile(r"«(?![\u00a0\u202f]) *(?=\S)")
_CLOSE_GUILLEMET = re.compile(r"(?<=\S) *»")
_QUOTE = re.compile('"')
_OPENS = re.compile(r"(?:^|(?<=[\s(\[’']))\"(?=[^\s\"])", re.MULTILINE)
_CLOSES = re.compile(r"(?<=[^\s\"])\"(?!\w)")


def french(text: str) -> str:
    """`text` with French spacing, guillemets and apostrophes.

    A narrow no-break space (U+202F) goes before ; : ! ? and inside « ». Some printers prefer a full one (U+00A0)
    before the colon and inside guillemets: no-break spaces of either width stay where they are. Times, URLs, addresses,
    HTML entities and smileys are left alone. So are straight quotes that do not pair up in a line.
    """
    text = _APOSTROPHE.sub(lambda match: match[1] or "’", text)
    text = _space_guillemets(text)  # first, since a quotation mark opens after a space
    text = _space_guillemets("\n".join(_guillemets(line) for line in text.split("\n")))
    return _MARKS.sub(lambda match: match[1] or _NNBSP + re.sub(" +", _NNBSP, match[2]), text)


TYPOGRAPHIES: dict[str, Callable[[str], str]] = {"fr": french}


def _space_guillemets(text: str) -> str:
    return _CLOSE_GUILLEMET.sub(f"{_NNBSP}»", _OPEN_GUILLEMET.sub(f"«{_NNBSP}", text))


def _guillemets(line: str) -> str:
    places = [match.start() for match in _QUOTE.finditer(line)]
    open_and_close = all(pattern.match(line, i) for pattern, i in zip(cycle([_OPENS, _CLOSES]), places, strict=False))
    guillemets = cycle("«»")
    return _QUOTE.sub(lambda _: next(guillemets), line) if open_and_close and len(places) % 2 == 0 else line
