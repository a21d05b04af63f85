"""What every error of ours is: a sentence that helps, for each problem."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seq2seq.errors import UserError


def assert_helps(error: UserError, *places: Path | str) -> None:
    """Each problem is a line, which names one of the places: a file, its folder, an option."""
    for problem in error.problems:
        assert problem.strip(), error
        assert not places or any(str(place) in problem for place in places), error


@contextmanager
def may_refuse(*places: Path | str) -> Iterator[None]:
    """A block that may end with an error of ours, which helps."""
    try:
        yield
    except UserError as error:
        assert_helps(error, *places)
