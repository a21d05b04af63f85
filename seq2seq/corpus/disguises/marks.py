"""Quotes, apostrophes and the stop at the end."""

import random
import re

_TYPOGRAPHIC = re.compile("[’‘“”„«»‹›]")
_TO_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "‹": "'", "›": "'"} | dict.fromkeys("“”„«»", '"'))
_AFTER_OPENING = re.compile("(?<=[«‹])[ \u00a0\u202f\u2009]")
_BEFORE_CLOSING = re.compile("[ \u00a0\u202f\u2009](?=[»›])")
_OPENING_APOSTROPHE = re.compile(r"(?<![^\s(\[{\"“«])'(?=\w)")
_QUOTED = re.compile(r"(?<!\w)\"(?=\S)([^\"]*)(?<=\S)\"(?!\w)")
_QUOTED_AS = (r"“\1”", "«\u00a0\\1\u00a0»")

_STOPS = ".…"
_CLOSING = "\"'”’»›)]} \u00a0\u202f\u2009"
_ONLY_OPENED = re.compile(r"[(\[{«‹“„‘]$|(?<!\S)[\"']$")


def other_quotes(text: str, draw: random.Random) -> str:
    """Straight quotes become typographic ones, and typographic ones straight. With some of both, all become straight.

    A straight quote that has no partner stays.
    """
    if _TYPOGRAPHIC.search(text):
        return _BEFORE_CLOSING.sub("", _AFTER_OPENING.sub("", text)).translate(_TO_STRAIGHT)
    text = _OPENING_APOSTROPHE.sub("‘", text).replace("'", "’")
    return _QUOTED.sub(draw.choice(_QUOTED_AS), text) if '"' in text else text


def without_stop(text: str, draw: random.Random) -> str:
    """No full stop or ellipsis at the end, nor before the quotes and brackets that end the text."""
    while True:
        head = text.rstrip(_CLOSING)
        body = head.rstrip(_STOPS)
        if body == head or not (body := body.rstrip()) or _ONLY_OPENED.search(body):
            return text
        text = body + text[len(head) :]
