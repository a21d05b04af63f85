"""What is known of heads as one picture: a square for each layer and head, a panel for each figure."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seq2seq.inspection.attention_kinds import KINDS
from seq2seq.inspection.heads import HeadReport
from seq2seq.reports import style
from seq2seq.reports.attention_matrix import draw_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NOT_DRAWN = ("95% from", "to", "precision", "recall")
_SIZE = (2.1, 1.9)  # inches of a panel


def draw_heads(report: HeadReport, file: Path) -> None:
    """Draw all figures. The ending of the file's name chooses the format: .png, .svg or .pdf."""
    tables = {kind: report.table(kind) for kind in KINDS}
    columns = [name for name in tables["cross"] if name not in _NOT_DRAWN]  # only cross-attention has all of them
    with style.grid(len(KINDS), len(columns), _SIZE) as (figure, axes):
        for row, (kind, found) in zip(axes, tables.items(), strict=True):
            for axis, name in zip(row, columns, strict=True):
                if name in found:
                    _draw(axis, found[name], kind, name)
                else:
                    axis.set_axis_off()
        style.save(figure, file)


def _draw(axis: "Axes", values: NDArray[np.float64], kind: str, name: str) -> None:
    """The darker, the more; each panel has its own scale, so each square says its number."""
    rows, columns = ([str(n + 1) for n in range(size)] for size in values.shape)
    draw_matrix(axis, values, rows, columns, low=min(0, values.min()), high=max(values.max(), 1e-9))
    axis.set(title=f"{kind}: {name}", xlabel="head", ylabel="layer")
    middle = (values.max() + min(0, values.min())) / 2
    for layer, head in np.ndindex(values.shape):
        colour = "white" if values[layer, head] > middle else "black"
        text = f"{values[layer, head]:.2f}".replace("0.", ".", 1) if abs(values[layer, head]) < 1 else ""
        text = text or f"{values[layer, head]:.1f}"
        axis.text(head, layer, text, ha="center", va="center", color=colour, fontsize=7)
