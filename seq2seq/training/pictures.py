"""Attention as pictures. What stays the same is drawn once, so that a picture at each validation costs nothing."""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.training.attention_maps import AttentionMap

Picture = NDArray[np.uint8]  # (height, width, 3)

# From light to dark in one hue, so that it needs no eye for colours.
_COLOURS = "Blues"
_DPI, _CELL, _CHARACTER = 90, 20, 8  # pixels: an inch, the square of two tokens, a character of a label
_TOP, _RIGHT, _TITLES = 30, 110, 40


def picture_of(attention: AttentionMap) -> Picture:
    """A square for each source and target token: the darker, the more the model looked there."""
    import matplotlib  # half a second, for those who track runs

    frame, top, left = _frame(f"line {attention.pair + 1} of valid", tuple(attention.source), tuple(attention.target))
    squares = matplotlib.colormaps[_COLOURS](attention.weights, bytes=True)[..., :3]
    squares = squares.repeat(_CELL, axis=0).repeat(_CELL, axis=1)
    picture = frame.copy()
    picture[top : top + squares.shape[0], left : left + squares.shape[1]] = squares
    return picture


@lru_cache(maxsize=8)
def _frame(title: str, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[Picture, int, int]:
    """The picture without its squares, and the pixels above them and to the left of them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
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
    figure.colorbar(ScalarMappable(Normalize(0, 1), _COLOURS), cax=scale, ticks=[0, 0.5, 1], label="share of attention")
    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a script that the font does not have: boxes take its place
        canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy(), _TOP, left  # type: ignore[no-untyped-call]
