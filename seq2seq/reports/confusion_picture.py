"""The confusion matrix of a test set as a picture."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.evaluation.labels import confusion
from seq2seq.reports import style

_MOST_NUMBERS = 20  # labels up to which each cell has its count
_DARK = 0.55  # share of a row from which light text is read better


def write_confusion(run: RunDirectory, test: str, labels: Sequence[str]) -> Path:
    """Draw which label was taken for which: a row is a true label, and its colours are shares of it.

    Raises:
        RunError: a file of the run is missing or damaged.
    """
    counts = confusion([first for first, *_ in run.references(test)], run.hypotheses(test), labels)
    shares = counts / counts.sum(1, keepdims=True).clip(min=1)
    with style.panels(1) as (figure, (axes,)):
        side = 1.8 + 0.45 * min(len(labels), 40)
        figure.set_size_inches(side + 1, side)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        axes.grid(False)
        axes.set_xticks(range(len(labels)), labels, rotation=90)
        axes.set_yticks(range(len(labels)), labels)
        axes.set(title=f"Labels of {test}", xlabel="prediction", ylabel="label")
        if len(labels) <= _MOST_NUMBERS:
            for row, column in zip(*counts.nonzero(), strict=True):
                colour = "white" if shares[row, column] > _DARK else "black"
                axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=colour)
        style.save(figure, run.confusion_file(test))
    return run.confusion_file(test)
