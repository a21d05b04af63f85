"""How a run learned: its curves over steps, hours of training and target tokens, from `metrics.csv`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError

_POINTS = 300  # of a curve: more than a screen shows
_HOURS, _TOKENS = "progress/hours", "progress/tgt_tokens"
_VALIDATION = {"valid/loss": "loss", "valid/perplexity": "perplexity", "valid/accuracy": "accuracy"}
_VALIDATION |= {"valid/bleu": "BLEU", "valid/chrf": "chrF"}


@dataclass(frozen=True)
class Panel:
    """A picture of metrics that have one unit."""

    name: str  # for files
    title: str
    unit: str
    metrics: dict[str, str]  # its name in `metrics.csv`: its label


PANELS = (
    Panel("loss", "Loss", "cross-entropy, nats per token", {"train/loss": "train", "valid/loss": "valid"}),
    Panel("quality", "Translations of valid", "score, 0 to 100", {"valid/bleu": "BLEU", "valid/chrf": "chrF"}),
    Panel("learning_rate", "Learning rate", "", {"train/lr": "learning rate"}),
    Panel("speed", "Speed", "target tokens per second", {"train/tgt_tokens_per_s": "target tokens/s"}),
    Panel("gradient", "Gradient", "norm before clipping", {"train/grad_norm": "gradient norm"}),
)


@dataclass
class Curve:
    """The values of a metric, and when they were measured. Values that are infinite or no numbers are left out.

    Attributes:
        hours: of training.
        tgt_tokens: that the model was trained on.
    """

    steps: list[int] = field(default_factory=list)
    hours: list[float] = field(default_factory=list)
    tgt_tokens: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def read_curves(run: RunDirectory) -> dict[str, Curve]:
    """The curve of each metric; of a run that has logged nothing yet, none.

    Raises:
        RunError: `metrics.csv` is damaged.
    """
    rows = [metric for metric in run.metrics() if math.isfinite(metric.value)]
    hours, tokens = ({row.step: row.value for row in rows if row.name == name} for name in (_HOURS, _TOKENS))
    found: dict[str, Curve] = {}
    for row in rows:
        if row.step not in hours or row.step not in tokens:
            continue  # the tests at the end, which have no place on these axes
        curve = found.setdefault(row.name, Curve())
        curve.steps.append(row.step)
        curve.hours.append(hours[row.step])
        curve.tgt_tokens.append(tokens[row.step])
        curve.values.append(row.value)
    return found


def drawn_curves(run: RunDirectory) -> dict[str, Curve]:
    """`read_curves` for a picture, which needs some.

    Raises:
        RunError: the directory holds no metrics, or `metrics.csv` is damaged.
    """
    if found := read_curves(run):
        return found
    raise RunError(f"{run.path}: has no metrics.csv with metrics in it; give the directory of a run")


def panels(curves: Mapping[str, Curve]) -> list[dict[str, Any]]:
    """What the page of a run draws of them."""
    found = [
        {
            "title": panel.title,
            "unit": panel.unit,
            "series": [
                {"label": label, **{name: thinned(values) for name, values in vars(curves[metric]).items()}}
                for metric, label in panel.metrics.items()
                if metric in curves
            ],
        }
        for panel in PANELS
    ]
    return [panel for panel in found if panel["series"]]


def thinned(values: Sequence[float]) -> list[float]:
    """Means of as many neighbours as it takes to have `_POINTS` numbers or fewer."""
    n = -(-len(values) // _POINTS) or 1
    parts = (values[i : i + n] for i in range(0, len(values), n))
    return [float(f"{sum(part) / len(part):.7g}") for part in parts]


def validations(curves: Mapping[str, Curve]) -> tuple[list[str], list[list[float | None]]]:
    """A table of all validations: the names of its columns without the first one, which has steps; and its rows."""
    columns = {
        label: dict(zip(curves[metric].steps, curves[metric].values, strict=True))
        for metric, label in _VALIDATION.items()
        if metric in curves
    }
    steps = sorted({step for column in columns.values() for step in column})
    return list(columns), [[step, *(column.get(step) for column in columns.values())] for step in steps]
