"""What is made of translations alone says so of a classifier."""

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError


def refuse_classifier(run: RunDirectory, what: str) -> None:
    """
    Raises:
        RunError: the run learned to classify, and `what` is made of translations.
    """
    if run.is_of_classifier:
        raise RunError(
            f"{run.path}: is the run of a classifier, and {what} is made of translations; see its scores with: "
            f"python -m seq2seq report {run.path}"
        )
