"""An HTML file that holds all that it shows: style, program, data. It asks nothing of a network.

The files of `page/` say how it looks and what it does. Data are JSON in an element of their own, from which the program
makes text nodes, never markup. The policy of the page (Content-Security-Policy) names these files by their digests, and
lets nothing else run or load.
"""

import base64
import hashlib
import html
import json
import math
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

_FILES = Path(__file__).parent / "page"
_SHARED = ("elements.js", "charts.js", "words.js", "sentences.js")
# In JSON these stand only in texts. Escaped, no text can end its script element, or begin a comment in it.
_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def page(title: str, data: Mapping[str, Any], *programs: str) -> str:
    """The page that programs of `page/` make of data, which are JSON types.

    The last program may have a style sheet of its own, beside the one of all pages.
    """
    own = programs[-1].removesuffix(".js") + ".css"
    style = "\n".join(_file(name) for name in ("page.css", own) if (_FILES / name).is_file())
    script = "\n".join(map(_file, (*_SHARED, *programs)))
    text = _json(data).translate(_ESCAPED)
    # JSON may hold half a surrogate pair as an escape, but UTF-8 cannot.
    return Template(_file("page.html")).substitute(
        title=html.escape(title),
        style=style,
        style_hash=_digest(style),
        script=script,
        script_hash=_digest(script),
        data=text.encode("utf-8", "backslashreplace").decode(),
    )


def _json(data: Any) -> str:
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a number that JSON has no word for
        return _json(_finite(data))


def _finite(data: Any) -> Any:
    """The same with nothing in place of numbers that are infinite or none."""
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _file(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """As a Content-Security-Policy names a text that may stand in its page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
