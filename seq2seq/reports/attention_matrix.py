"""A matrix of attention weights in a picture: a row for each token that looks, a column for each that is looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "Blues"  # from light to dark in one hue, so that it needs no eye for colours


def draw_matrix(
    axes: "Axes",
    weights: Any,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> None:
    """Draw weights (rows, columns) from `low` to `high`: the more, the darker.

    Args:
        rows, columns: names; none: there is no room for them.
    """
    axes.imshow(weights, cmap=COLOURS, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    axes.grid(False)
    axes.set_xticks(range(len(columns)), columns, rotation=90 if max(map(len, columns), default=0) > 2 else 0)
    axes.set_yticks(range(len(rows)), rows)
