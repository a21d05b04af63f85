"""How pictures look: one style for all, for screens and for papers."""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

log = logging.getLogger(__name__)

# Okabe and Ito (2008): colours that colour-blind people can tell apart. The pages' style sheet has the same.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FORMATS = ("png", "svg", "pdf")  # and the endings of their files
_IS_MISSING = "Glyph .* missing from"
_BOXES = (
    "the font of pictures lacks letters of this text, and boxes stand for them; choose .svg or, for attention, .html, "
    "which a browser shows with its own fonts"
)
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
    """A figure of `n` panels side by side, in the style of this project."""
    with grid(1, n, (_WIDTH, _HEIGHT)) as (figure, (axes,)):
        yield figure, axes


@contextmanager
def grid(n_rows: int, n_columns: int, size: tuple[float, float]) -> Iterator[tuple["Figure", list[list["Axes"]]]]:
    """As `panels`, in rows.

    Args:
        size: width and height of one panel, in inches.
    """
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Without pyplot, which would need a screen, or take that of a notebook away.
    with rc_context(_RULES | {"axes.prop_cycle": cycler(color=COLOURS)}):
        width, height = size
        figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
        yield figure, [list(row) for row in figure.subplots(n_rows, n_columns, squeeze=False)]


def save(figure: "Figure", file: Path) -> None:
    """Write a picture, whole or not at all. The ending of the file's name chooses one of `FORMATS`."""
    form = file.suffix.removeprefix(".").lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)  # the same picture is the same file
    with atomic_file(file) as opened, boxes_said(form):
        figure.savefig(opened, format=form, dpi=200, metadata=metadata)


@contextmanager
def boxes_said(form: str) -> Iterator[None]:
    """Say once what matplotlib warns of: a box stands for each letter that the font lacks, unless an SVG keeps it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("ignore" if form == "svg" else "always", message=_IS_MISSING)
        yield
    for each in caught:
        _say_once(_BOXES if re.match(_IS_MISSING, str(each.message)) else str(each.message))


@cache
def _say_once(message: str) -> None:
    log.warning("%s", message)


def save_all(figure: "Figure", stem: Path) -> list[Path]:
    """Write a picture as PNG and as SVG, and say where."""
    files = [stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "svg")]
    for file in files:
        save(figure, file)
    return files
