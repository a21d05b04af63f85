"""Restore in translations the typography that normalisation removed."""

import re
from collections.abc import Callable

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
    quotes = [match.start() for match in _QUOTE.finditer(line)]
    opens, closes = quotes[::2], quotes[1::2]
    pairs_up = (
        len(opens) == len(closes)
        and all(_OPENS.match(line, i) for i in opens)
        and all(_CLOSES.match(line, i) for i in closes)
    )
    if not pairs_up:
        return line
    characters = list(line)
    for i in opens:
        characters[i] = "«"
    for i in closes:
        characters[i] = "»"
    return "".join(characters)
