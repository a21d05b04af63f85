"""Several lines as one."""

from collections.abc import Sequence
from itertools import zip_longest

import regex

from seq2seq.characters import EAST_ASIAN

_ENDS_SO, _BEGINS_SO = regex.compile(f"(?V1){EAST_ASIAN}$"), regex.compile(f"(?V1){EAST_ASIAN}")


def joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as one: all sources as a text, all translations as a text, and so on.

    A row that lacks a further reference gives its first one instead, so that each joined reference is complete.
    Blank texts leave no trace. A single row comes back as it is.
    """
    if len(rows) == 1:
        return list(rows[0])
    columns = []
    for number, column in enumerate(zip_longest(*rows, fillvalue="")):
        if number > 1 and any(map(str.strip, column)):
            column = tuple(text if text.strip() else row[1] for text, row in zip(column, rows, strict=True))
        columns.append(_one_text(column))
    return columns


def _one_text(texts: Sequence[str]) -> str:
    joint = ""
    for text in filter(None, map(str.strip, texts)):
        needs_space = joint and not _ENDS_SO.search(joint) and not _BEGINS_SO.match(text)
        joint += f" {text}" if needs_space else text
    return joint
