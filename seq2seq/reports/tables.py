"""Tables for people: as plain text that fits a terminal, and as Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_GAP = "  "


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        n_keys: how many of the first columns name a row.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_keys: int = 1

    def without_empty_columns(self) -> "Table":
        kept = [i for i in range(len(self.header)) if i < self.n_keys or any(row[i] for row in self.rows)]
        header, *rows = ([row[i] for i in kept] for row in (self.header, *self.rows))
        return Table(self.title, header, rows, self.n_keys)


def label(number: int) -> str:
    """A, B, ..., Z, AA, AB, ..., for 0 and so on."""
    before, last = divmod(number, 26)
    return (label(before - 1) if before else "") + chr(ord("A") + last)


def as_text(table: Table, width: int) -> str:
    """The table in lines of at most `width` characters, if its columns allow that.

    Columns that do not fit beside the others follow in a block of their own, which names the rows again. A key that is
    the same as in the row above is left out.
    """
    lines = [table.header, *_without_repetition(table)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.header))]
    blocks = []
    for block in _blocks(widths, table.n_keys, width):
        columns = [*range(table.n_keys), *block]
        blocks.append("\n".join(_GAP.join(line[i].ljust(widths[i]) for i in columns).rstrip() for line in lines) + "\n")
    return "\n".join([table.title, *blocks]).rstrip("\n")


def as_markdown(table: Table) -> str:
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    rows = (" | ".join(cell.strip().replace("|", r"\|") for cell in line) for line in lines)
    return "\n".join([f"**{table.title}**", "", *(f"| {row} |" for row in rows)])


def _without_repetition(table: Table) -> Iterator[list[str]]:
    above: list[str] = []
    for row in table.rows:
        shown = list(row)
        for i in range(table.n_keys):
            if list(row[: i + 1]) != above[: i + 1]:
                break
            shown[i] = ""
        yield shown
        above = list(row)


def _blocks(widths: Sequence[int], n_keys: int, width: int) -> Iterator[list[int]]:
    """Columns that fit beside the keys, as many as possible at a time, and at least one."""
    used = n_used = sum(widths[:n_keys]) + len(_GAP) * (n_keys - 1)
    block: list[int] = []
    for i in range(n_keys, len(widths)):
        if block and used + len(_GAP) + widths[i] > width:
            yield block
            block, used = [], n_used
        block.append(i)
        used += len(_GAP) + widths[i]
    yield block
