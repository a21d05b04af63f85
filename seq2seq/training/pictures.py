"""Attention as pictures. What stays the same is drawn once, so that a picture at each validation costs nothing."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seq2seq.reports import style
from seq2seq.reports.attention_matrix import COLOURS, draw_matrix
from seq2seq.training.validation import AttentionMap

Picture = NDArray[np.uint8]  # (height, width, 3)

_CELL, _CHARACTER, _MARGIN = 0.22, 0.09, 1.2  # inches: a token, a letter of a label, titles and the scale
_SMALL_CELL = 4  # pixels: a token in the matrix of a head


def pictures_of(maps: Sequence[AttentionMap]) -> dict[str, Picture]:
    """By name: where the model looked on average, and where each layer and head did."""
    pictures = {each.name: picture_of(each) for each in maps}
    return pictures | {f"{each.name}_heads": picture_of_heads(each) for each in maps}


def picture_of(attention: AttentionMap) -> Picture:
    """A square for each source and target token: the darker, the more the model looked there."""
    frame, rows, columns = _frame(
        f"line {attention.pair + 1} of valid", tuple(attention.source), tuple(attention.target)
    )
    picture = frame.copy()
    height, width = picture[rows, columns].shape[:2]
    n_rows, n_columns = attention.weights.shape
    squares = np.ix_(np.arange(height) * n_rows // height, np.arange(width) * n_columns // width)
    picture[rows, columns] = _coloured(attention.weights[squares])
    return picture


def picture_of_heads(attention: AttentionMap) -> Picture:
    """A row of small matrices for each layer, one a head, with dark lines between them."""
    lined = np.pad(attention.heads, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=1.0)  # (L, H, T + 1, S + 1)
    n_layers, n_heads, n_rows, n_columns = lined.shape
    picture = lined.swapaxes(1, 2).reshape(n_layers * n_rows, n_heads * n_columns)
    return _coloured(picture).repeat(_SMALL_CELL, axis=0).repeat(_SMALL_CELL, axis=1)


def _coloured(weights: NDArray[np.float32]) -> Picture:
    import matplotlib  # half a second, for those who track runs

    colours: Picture = matplotlib.colormaps[COLOURS](weights, bytes=True)[..., :3]
    return colours


@lru_cache(maxsize=8)
def _frame(title: str, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[Picture, slice, slice]:
    """The picture without its squares, and the rows and columns of pixels where they belong."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    height, width = (
        _CELL * len(side) + _CHARACTER * max(map(len, other)) + _MARGIN
        for side, other in ((target, source), (source, target))
    )
    with style.grid(1, 1, (width, height)) as (figure, ((axes,),)), style.boxes_said("png"):
        draw_matrix(axes, np.zeros((len(target), len(source))), target, source)
        axes.set(title=title, xlabel="source", ylabel="target")
        figure.colorbar(axes.images[0], label="share of attention")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        picture = np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
        left, bottom, right, top = np.rint(axes.get_window_extent().extents).astype(int)
    return picture, slice(len(picture) - top, len(picture) - bottom), slice(left, right)
