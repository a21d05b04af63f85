"""Texts in pieces, for the tests of all forms."""

from collections.abc import Callable

from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.forms.read import read_pieces


def pieces_of(text: str, form: str, field: str | None = None) -> list[Piece]:
    """The pieces of a text; what must be true of all pieces is checked here."""
    pieces = list(read_pieces(_lines(text), "a", form, field))
    assert "".join(piece.source for piece in pieces) == text
    line = 1
    for piece in pieces:
        assert piece.line == line
        line += len(_lines(piece.source))
        assert all(text == text.strip() and "\n" not in text for text in piece.texts)
    return pieces


def texts_of(text: str, form: str, field: str | None = None) -> list[str]:
    return [each for piece in pieces_of(text, form, field) for each in piece.texts]


def translated(
    text: str, form: str, field: str | None = None, translate: Callable[[str], str] = lambda text: text
) -> str:
    """The text when each of its texts is translated by a function; without one, it stays as it is."""
    return "".join(piece.render([translate(each) for each in piece.texts]) for piece in pieces_of(text, form, field))


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [rest for rest in [text.split("\n")[-1]] if rest]
