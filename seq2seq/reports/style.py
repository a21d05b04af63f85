"""How pictures look: one style for all, for screens and for papers."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): colours that colour-blind people can tell apart. The pages' style sheet has the same.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FORMATS = ("png", "svg", "pdf")  # and the endings of their files
_WIDTH, _HEIGHT = 4.6, 3.1  # inches of one panel
_RULES: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#dfe3e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.edgecolor": "#5b636b",
    "text.parse_math": False,  # a dollar sign in the name of a run, or in a sentence, is one
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text, which an editor can change
    "svg.hashsalt": "seq2seq",  # the same picture is the same file
}


@contextmanager
def panels(n: int) -> Iterator[tuple["Figure", list["Axes"]]]:
    """A figure of `n` panels side by side, in the style of this project; closed at the end."""
    with grid(1, n, (_WIDTH, _HEIGHT)) as (figure, (axes,)):
        yield figure, axes


@contextmanager
def grid(n_rows: int, n_columns: int, size: tuple[float, float]) -> Iterator[tuple["Figure", list[list["Axes"]]]]:
    """As `panels`, in rows.

    Args:
        size: width and height of one panel, in inches.
    """
    import matplotlib

    matplotlib.use("Agg")  # no screen needed
    from cycler import cycler
    from matplotlib import pyplot as plt

    with plt.rc_context(_RULES | {"axes.prop_cycle": cycler(color=COLOURS)}):
        width, height = size
        figure, axes = plt.subplots(
            n_rows, n_columns, figsize=(width * n_columns, height * n_rows), layout="constrained", squeeze=False
        )
        try:
            yield figure, [list(row) for row in axes]
        finally:
            plt.close(figure)


def save(figure: "Figure", file: Path) -> None:
    """Write a picture, whole or not at all. The ending of the file's name chooses one of `FORMATS`."""
    form = file.suffix.removeprefix(".").lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)  # the same picture is the same file
    with atomic_file(file) as opened, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # boxes take the place of such characters
        figure.savefig(opened, format=form, dpi=200, metadata=metadata)


def save_all(figure: "Figure", stem: Path) -> list[Path]:
    """Write a picture as PNG and as SVG, and say where."""
    files = [stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "svg")]
    for file in files:
        save(figure, file)
    return files
