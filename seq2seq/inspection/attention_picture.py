"""Pictures of attention for papers: one head, all heads of a layer, or all layers and heads."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seq2seq.errors import TranslationError
from seq2seq.inspection.attention_kinds import TITLES, Kind
from seq2seq.inspection.pair_attention import PairAttention, Weights
from seq2seq.reports import style
from seq2seq.reports.attention_matrix import draw_matrix

_CELL, _CHARACTER = (0.18, 0.3), 0.09  # inches, of a row and a column with names, and of a letter of these
_MOST_INCHES = 20.0  # of a panel; memory for more may not be there
_SMALL = 1.1  # inches, of a matrix without names
_MOST_IN_ROW = 4


class Shown(NamedTuple):
    """What a picture shows.

    Attributes:
        layer, head: counted from 1. None: all of them; a head without a layer is one of each layer.
        in_pieces: rows and columns are pieces, and not words.
    """

    kind: Kind = "cross"
    layer: int | None = None
    head: int | None = None
    in_pieces: bool = False


def write_picture(pairs: Sequence[PairAttention], shown: Shown, file: Path) -> None:
    """Draw a matrix for each chosen head. The ending of the file's name is one of `style.FORMATS`.

    One head of several sentences is drawn side by side, to compare them.

    Raises:
        TranslationError: there is no such layer or head, or there are more matrices of several sentences than one
            picture shows.
    """
    is_one = shown.layer is not None and shown.head is not None
    if len(pairs) > (_MOST_IN_ROW if is_one else 1):
        raise TranslationError(
            f"a picture shows one head of up to {_MOST_IN_ROW} sentences, or several heads of one sentence; "
            f"there are {len(pairs)} sentences: name --layer and --head, or give fewer"
        )
    n_layers, n_heads = pairs[0].view(shown.kind).weights.shape[:2]
    layers = _chosen("layer", shown.layer, n_layers, shown.kind)
    heads = _chosen("head", shown.head, n_heads, shown.kind)
    if shown.layer is None:
        _draw_small(pairs[0], shown, layers, heads, file)
    else:
        _draw_large([(pair, head) for pair in pairs for head in heads], shown, layers[0], file)


def _chosen(name: str, number: int | None, n: int, kind: Kind) -> Sequence[int]:
    if number is not None and number > n:
        raise TranslationError(f"--{name} {number}: {TITLES[kind]} of this model has {n} of them; count from 1")
    return range(n) if number is None else [number - 1]


def _draw_large(panels: Sequence[tuple[PairAttention, int]], shown: Shown, layer: int, file: Path) -> None:
    """Matrices with names, up to four in a row."""
    n_columns = min(len(panels), _MOST_IN_ROW)
    n_rows = -(-len(panels) // n_columns)
    matrices = [_matrices(pair, shown) for pair, _ in panels]
    width, height = (_size([each[:2] for each in matrices], side) for side in (1, 0))
    with style.grid(n_rows, n_columns, (width, height)) as (figure, rows):
        places = [axes for row in rows for axes in row]
        for axes, (_, head), (queries, keys, weights) in zip(places, panels, matrices, strict=False):
            draw_matrix(axes, weights[layer, head], queries, keys)
            axes.xaxis.tick_top()
            axes.set_xticks(range(len(keys)), keys, rotation=45, ha="left", rotation_mode="anchor")
            axes.set_title(f"layer {layer + 1}, head {head + 1}")
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        style.save(figure, file)


def _size(axes_names: Sequence[tuple[list[str], list[str]]], side: int) -> float:
    """Inches that a panel needs for its rows (side 0) or columns (side 1), and for the names of the others."""
    n_places = max(len(names[side]) for names in axes_names)
    longest = max(len(name) for names in axes_names for name in names[1 - side])
    return min(_CELL[side] * n_places + _CHARACTER * longest + 0.4, _MOST_INCHES)


def _draw_small(pair: PairAttention, shown: Shown, layers: Sequence[int], heads: Sequence[int], file: Path) -> None:
    """A row of matrices without names for each layer."""
    _, _, weights = _matrices(pair, shown)
    with style.grid(len(layers), len(heads), (_SMALL, _SMALL)) as (figure, rows):
        figure.suptitle(TITLES[shown.kind])
        for layer, row in zip(layers, rows, strict=True):
            row[0].set_ylabel(f"layer {layer + 1}")
            for head, axes in zip(heads, row, strict=True):
                draw_matrix(axes, weights[layer, head])
                if layer == layers[0]:
                    axes.set_title(f"head {head + 1}")
        style.save(figure, file)


def _matrices(pair: PairAttention, shown: Shown) -> tuple[list[str], list[str], Weights]:
    """The names of rows and columns, and the weights of all layers and heads between them."""
    view = pair.view(shown.kind)
    if shown.in_pieces:
        return view.queries.pieces, view.keys.pieces, view.weights
    return view.queries.words, view.keys.words, view.in_words()
