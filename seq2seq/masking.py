"""What a secret in text looks like. What is kept of a run, and what people are shown, says `***` in its place.

    http://ann:S3cret@host/train                who asks, in an address
    ?token=S3cret, api_key: S3cret              what stands behind such a name
    a variable WANDB_API_KEY has this value     wherever the value stands

A secret under another name is not recognised. Names of things, such as `tokenizer.vocab_size`, are none.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

MASK = "***"
_SHORTEST = 8  # characters; a shorter value of a variable could be part of any word
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of a name: X-Amz-Signature, authToken, API_KEY
_SECRET_PART = re.compile(
    r"key|auth|authorization|credentials?|sig|pwd|jwt|.*(token|secret|apikey|signature)|.*passw.*"
)
# To the last @ before the path. Second: a password with / ? or # in it, which is no address, but is what people write.
_USER = re.compile(r"://(?:[^/?#\s]*@|[^/?#\s:@\[,]+:(?!\d+(?:[/?#\s]|$))\S*@)")
_NAMED = re.compile(r"""(?P<name>[\w.+\-]+)["']?[ \t]*[=:][ \t]*""")
# What ends a sentence, a list or a quotation is no part of a value.
_VALUE = re.compile(
    r"""(?P<quote>["'])?(?(quote).*?(?P=quote)|(?:(?:Bearer|Basic)[ ]+)?\S*[^\s.,;:'")\]}])""", re.IGNORECASE
)
_VALUE_IN_QUERY = re.compile(r"""(?P<quote>)[^\s&#]*[^\s&#.,;:'")\]}]""")


def masked(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text without its secrets. To mask it again changes nothing.

    Args:
        environment: the variables whose values may stand in it.
    """
    named = {name: value for name, value in environment.items() if name != "PWD"}  # the folder, where a shell names it
    secrets = (value for name, value in named.items() if len(value) >= _SHORTEST and is_secret(name))
    for secret in sorted(secrets, key=len, reverse=True):  # one may be part of another
        text = text.replace(secret, MASK)
    return _without_named(_USER.sub(f"://{MASK}@", text))


def masked_words(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """The words of a command. As `masked`, but the value of a word `token=VALUE` is all the rest, spaces too.

    The word after `--token` is such a value as well.
    """
    found = []
    for before, word in zip(["", *words], words, strict=False):
        name, equals, _ = word.partition("=")
        if equals and is_secret(name):
            word = f"{name}={MASK}"
        elif before.startswith("-") and "=" not in before and is_secret(before):
            word = MASK
        found.append(masked(word, environment))
    return found


def masked_addresses(content: Any) -> Any:
    """Plain containers, such as a configuration, with each text masked that has an address.

    Other text stays: a name that is the value of some variable, too, must be there when the configuration is read.
    """
    if isinstance(content, Mapping):
        return {key: masked_addresses(value) for key, value in content.items()}
    if isinstance(content, list):
        return [masked_addresses(value) for value in content]
    return masked(content) if isinstance(content, str) and "://" in content else content


@cache
def is_secret(name: str) -> bool:
    """Whether the value behind a name, or of a variable, is a secret."""
    return any(_SECRET_PART.fullmatch(part.lower()) for part in _PART.findall(name))


def _without_named(text: str) -> str:
    for found in _NAMED.finditer(text):
        if is_secret(found["name"]):
            is_query = text.endswith(("?", "&"), 0, found.start())
            if value := (_VALUE_IN_QUERY if is_query else _VALUE).match(text, found.end()):
                quote = value["quote"] or ""
                return text[: found.end()] + quote + MASK + quote + _without_named(text[value.end() :])
    return text
