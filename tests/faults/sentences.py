"""What every error of ours is: a sentence that helps."""

from pathlib import Path

from seq2seq.errors import UserError


def assert_helps(error: UserError, *places: Path | str) -> None:
    """It is one line, and names one of the places: a file, its folder, an option."""
    assert str(error) and "\n" not in str(error), error
    assert not places or any(str(place) in str(error) for place in places), error
