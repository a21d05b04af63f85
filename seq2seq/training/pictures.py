"""Attention as pictures. What stays the same is drawn once, so that a picture at each validation costs nothing."""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.reports.attention_matrix import COLOURS
from seq2seq.training.validation import AttentionMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture = NDArray[np.uint8]  # (height, width, 3)

_DPI, _CELL, _CHARACTER = 90, 20, 8  # pixels: an inch, the square of two tokens, a character of a label
_TOP, _RIGHT, _TITLES = 30, 110, 40
_SMALL_CELL, _GAP = 4, 10  # pixels: the same square in a small matrix, and what is between such matrices
_ROW_LABELS, _COLUMN_LABELS = 64, 30


def pictures_of(maps: Sequence[AttentionMap]) -> dict[str, Picture]:
    """By name: where the model looked on average, and where each layer and head did."""
    pictures = {each.name: picture_of(each) for each in maps}
    return pictures | {f"{each.name}_heads": picture_of_heads(each) for each in maps}


def picture_of(attention: AttentionMap) -> Picture:
    """A square for each source and target token: the darker, the more the model looked there."""
    frame, top, left = _frame(f"line {attention.pair + 1} of valid", tuple(attention.source), tuple(attention.target))
    squares = _squares(attention.weights, _CELL)
    picture = frame.copy()
    picture[top : top + squares.shape[0], left : left + squares.shape[1]] = squares
    return picture


def picture_of_heads(attention: AttentionMap) -> Picture:
    """A small matrix for each head of each layer, target tokens by source tokens."""
    n_layers, n_heads, *size = attention.heads.shape
    height, width = (n * _SMALL_CELL for n in size)
    picture = _frame_of_heads(n_layers, n_heads, height, width).copy()
    for layer in range(n_layers):
        for head in range(n_heads):
            top, left = _COLUMN_LABELS + layer * (height + _GAP), _ROW_LABELS + head * (width + _GAP)
            squares = _squares(attention.heads[layer, head], _SMALL_CELL)
            picture[top : top + height, left : left + width] = squares
    return picture


def _squares(weights: NDArray[np.float32], size: int) -> Picture:
    import matplotlib  # half a second, for those who track runs

    colours = matplotlib.colormaps[COLOURS](weights, bytes=True)[..., :3]
    squares: Picture = colours.repeat(size, axis=0).repeat(size, axis=1)
    return squares


@lru_cache(maxsize=8)
def _frame(title: str, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[Picture, int, int]:
    """The picture without its squares, and the pixels above them and to the left of them."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    left, bottom = (max(map(len, labels)) * _CHARACTER + _TITLES for labels in (target, source))
    width, height = len(source) * _CELL, len(target) * _CELL
    canvas_width, canvas_height = left + width + _RIGHT, _TOP + height + bottom

    def box(x: int, y: int, width: int, height: int) -> tuple[float, float, float, float]:
        return x / canvas_width, y / canvas_height, width / canvas_width, height / canvas_height

    figure = Figure(figsize=(canvas_width / _DPI, canvas_height / _DPI), dpi=_DPI)
    axis = figure.add_axes(box(left, bottom, width, height), frame_on=False)
    axis.set(xlim=(0, len(source)), ylim=(len(target), 0), xticks=[], yticks=[])
    text: dict[str, Any] = {"parse_math": False, "fontsize": 9}  # a $ in a sentence is no formula
    for place, piece in enumerate(source):
        axis.text(place + 0.5, len(target) + 0.2, piece, rotation=90, ha="center", va="top", **text)
    for place, piece in enumerate(target):
        axis.text(-0.2, place + 0.5, piece, ha="right", va="center", **text)
    figure.text((left + width / 2) / canvas_width, 8 / canvas_height, "source", ha="center")
    figure.text(8 / canvas_width, (bottom + height / 2) / canvas_height, "target", rotation=90, va="center")
    axis.set_title(title)
    scale = figure.add_axes(box(left + width + 20, bottom, 15, height))
    figure.colorbar(ScalarMappable(Normalize(0, 1), COLOURS), cax=scale, ticks=[0, 0.5, 1], label="share of attention")
    return _drawn(figure), _TOP, left


@lru_cache(maxsize=8)
def _frame_of_heads(n_layers: int, n_heads: int, height: int, width: int) -> Picture:
    """The picture without its squares."""
    from matplotlib.figure import Figure

    canvas_width = _ROW_LABELS + n_heads * (width + _GAP)
    canvas_height = _COLUMN_LABELS + n_layers * (height + _GAP)
    figure = Figure(figsize=(canvas_width / _DPI, canvas_height / _DPI), dpi=_DPI)
    for head in range(n_heads):
        x = _ROW_LABELS + head * (width + _GAP) + width / 2
        figure.text(x / canvas_width, 1 - 15 / canvas_height, f"head {head + 1}", ha="center", va="center", fontsize=8)
    for layer in range(n_layers):
        y = _COLUMN_LABELS + layer * (height + _GAP) + height / 2
        figure.text(8 / canvas_width, 1 - y / canvas_height, f"layer {layer + 1}", va="center", fontsize=8)
    return _drawn(figure)


def _drawn(figure: "Figure") -> Picture:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a script that the font does not have: boxes take its place
        canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
