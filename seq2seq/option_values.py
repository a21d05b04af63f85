"""Values on a command line. argparse shows the names of these functions: "invalid positive number value: '0'"."""

import math
import re


def positive(text: str) -> int:
    """A whole number above 0."""
    if (value := int(text)) < 1:
        raise ValueError
    return value


def not_negative_integer(text: str) -> int:
    """A whole number of at least 0."""
    if (value := int(text)) < 0:
        raise ValueError
    return value


def not_negative(text: str) -> float:
    """A finite number of at least 0."""
    if not 0 <= (value := float(text)) < math.inf:
        raise ValueError
    return value


def above_zero(text: str) -> float:
    """A finite number above 0."""
    if not 0 < (value := float(text)) < math.inf:
        raise ValueError
    return value


def probability(text: str) -> float:
    """A number above 0 and up to 1."""
    if not 0 < (value := float(text)) <= 1:
        raise ValueError
    return value


def device(text: str) -> str:
    """A device by its name. Several of them are refused later, in a sentence."""
    if text not in ("auto", "cpu") and not re.fullmatch(r"cuda(:\d+)?(,cuda(:\d+)?)*", text):
        raise ValueError
    return text


def shard(text: str) -> tuple[int, int]:
    """Which share of how many: `3/8`, from 1."""
    number, n_shards = map(int, text.split("/"))
    if not 1 <= number <= n_shards:
        raise ValueError
    return number, n_shards


positive.__name__ = "positive number"
not_negative_integer.__name__ = "whole number of at least 0"
not_negative.__name__ = "number of at least 0"
above_zero.__name__ = "number above 0"
probability.__name__ = "number above 0 and up to 1"
device.__name__ = "device (auto, cpu, cuda or cuda:1)"
shard.__name__ = "share (I/N as 3/8, I from 1 to N)"
