"""A matrix of attention weights in a picture: a row for each token that looks, a column for each that is looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "Blues"  # from light to dark in one hue, so that it needs no eye for colours


def draw_matrix(axes: "Axes", weights: Any, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Draw weights (rows, columns) from 0 to 1: the more, the darker.

    Args:
        rows, columns: names; none: there is no room for them.
    """
    axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.grid(False)
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
