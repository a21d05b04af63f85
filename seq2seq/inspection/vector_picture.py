"""Vectors as points in a plane, by principal component analysis (Pearson 1901)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seq2seq.inspection.vectors import Vectors
from seq2seq.reports import style

_MOST_LABELS = 60
_LABEL = 40  # characters


def project(vectors: Vectors) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Vectors (N, D) along the two directions in which they differ most, (N, 2), and the share of the variance on each.

    Signs are chosen so that the largest number of a direction is positive: the same vectors give the same picture.
    """
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    axes = directions[:2]
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])[:, None]
    variances = lengths**2
    shares = variances[:2] / max(variances.sum(), 1e-12)
    points = np.zeros((len(vectors), 2))
    points[:, : len(axes)] = centred @ axes.T
    return points, np.pad(shares, (0, 2 - len(shares)))


def draw_vectors(vectors: Vectors, labels: Sequence[str], title: str, file: Path) -> None:
    """A point for each vector, with its label if they are few. The ending of the file's name chooses the format."""
    points, shares = project(vectors)
    with style.grid(1, 1, (8.0, 6.0)) as (figure, ((axis,),)):
        axis.scatter(points[:, 0], points[:, 1], s=14)
        if len(labels) <= _MOST_LABELS:
            for point, label in zip(points, labels, strict=True):
                text = label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"
                axis.annotate(text, point, xytext=(3, 3), textcoords="offset points", fontsize=7)
        xlabel, ylabel = (f"{share:.0%} of the variance" for share in shares)
        axis.set(title=title, xlabel=xlabel, ylabel=ylabel)
        style.save(figure, file)
