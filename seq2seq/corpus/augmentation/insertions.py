"""What has no translation and stands in both languages alike: emoji, URLs, numbers, placeholders."""

import random
from collections.abc import Callable, Sequence

from seq2seq.corpus.augmentation.aligned_places import aligned_places, ends

_AT_THE_END = 0.6  # where most emoji and links stand
_CLOSING = frozenset(".,;:!?…)]}»”。，、！？")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_EMOJI = _listed(
    "😀 😂 🤣 😊 😍 🥰 😘 😎 🤔 😅 😭 😢 😡 😱 🙄 😴 🤗 🥳 🤦 🤷 "
    "👍 👎 👏 🙏 💪 👋 👍🏽 🙏🏿 👩🏼‍💻 🤷‍♀️ 👨‍👩‍👧‍👦 🏳️‍🌈 "
    "❤️ 💙 💔 🔥 ✨ 🎉 ✅ ⚠️ ☀️ ⭐ 🇫🇷 🇬🇧 🇨🇦 1️⃣"
)
_WORDS = _listed(
    "admin article blog contact date document download forum guide info image message news page photo plan product "
    "question radio service shop site sport station support ticket video weekend"
)
_HOSTS = ("example.com", "example.org", "example.net", "www.example.com", "www.example.org")
_NAMES = ("name", "user", "count", "title", "date", "city", "id", "0", "1")
_FORMS = ("{{{}}}", "{{{{{}}}}}", "{{{{ {} }}}}", "${{{}}}", "%({})s", "__{}__")
_FORMATS = ("%s", "%d", "%1$s", "%2$s", "%.2f", "%@", "$USER", "$VAR", "$HOME", "$1")


def emoji(draw: random.Random) -> str:
    return draw.choice(_EMOJI)


def url(draw: random.Random) -> str:
    """A URL or an e-mail address. Its domain is reserved for examples."""
    word, other = draw.choice(_WORDS), draw.choice(_WORDS)
    match draw.randrange(5):
        case 0:
            return f"{word}.{other}@{draw.choice(_HOSTS[:3])}"
        case 1:
            return f"https://{word}.example/{other}"
        case 2:
            return f"https://{draw.choice(_HOSTS)}/{word}/{draw.randrange(1, 10_000)}?{other}={draw.randrange(100)}"
        case 3:
            return f"http://{draw.choice(_HOSTS)}/{word}-{other}.html"
        case _:
            return f"www.{word}.example"


def number(draw: random.Random) -> str:
    """A number that all languages write alike: no decimals and no thousands."""
    match draw.randrange(7):
        case 0:
            return f"({draw.randrange(1, 100)})"
        case 1:
            return str(draw.randrange(1800, 2051))
        case 2:
            return f"{draw.randrange(10, 24)}:{draw.randrange(60):02}"
        case 3:
            return f"#{draw.randrange(1, 1000)}"
        case 4:
            return f"[{draw.randrange(1, 100)}]"
        case 5:
            return f"{draw.randrange(1950, 2051)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
        case _:
            return str(draw.randrange(10, 1000))


def placeholder(draw: random.Random) -> str:
    if draw.random() < 0.5:
        return draw.choice(_FORMATS)
    return draw.choice(_FORMS).format(draw.choice(_NAMES))


def with_piece(piece: Callable[[random.Random], str], texts: Sequence[str], draw: random.Random) -> list[str]:
    """The texts with the same piece at an aligned place. Blank ones stay blank."""
    written = [text for text in texts if text.strip()]
    if not written:
        return list(texts)
    added = piece(draw)
    places = [ends(written)] if draw.random() < _AT_THE_END else aligned_places(written)[1:] or [ends(written)]
    chosen = draw.choice(places)
    if added[0].isdigit() and added[-1].isdigit() and any(map(_touches_digits, written, chosen)):
        added = f"({added})"  # "in 20 723" would be one number
    place = iter(chosen)
    return [_inserted(added, text, next(place)) if text.strip() else text for text in texts]


def _touches_digits(text: str, at: int) -> bool:
    return text[:at].rstrip()[-1:].isdigit() or text[at:].lstrip()[:1].isdigit()


def _inserted(piece: str, text: str, at: int) -> str:
    before, after = text[:at], text[at:]
    if before and not before[-1].isspace():
        piece = f" {piece}"
    if after and not after[0].isspace() and after[0] not in _CLOSING:
        piece += " "
    return before + piece + after
