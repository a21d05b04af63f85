"""Reading the word tables, which are kept as text because text is easier to read and to correct."""


def listed(text: str) -> list[str]:
    return text.split()


def rows(table: str) -> list[list[str]]:
    """The lines of a table, each split at "|"."""
    return [[column.strip() for column in line.split("|")] for line in table.strip().splitlines()]


def mapping(table: str) -> dict[str, str]:
    """A two-column table."""
    return dict(rows(table))
