"""How runs learned: the panels of curves over the steps, from `metrics.csv`, and a picture of several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.reports import style

Curve = tuple[list[int], list[float]]


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
_OF_SEVERAL_RUNS = (PANELS[0], Panel("bleu", "BLEU on valid", "BLEU, 0 to 100", {"valid/bleu": "valid"}))


def curves(run: RunDirectory) -> dict[str, Curve]:
    """Steps and values of each metric of a run.

    Raises:
        RunError: the directory holds no metrics.
    """
    found: dict[str, Curve] = {}
    for metric in run.metrics():
        steps, values = found.setdefault(metric.name, ([], []))
        steps.append(metric.step)
        values.append(metric.value)
    if not found:
        raise RunError(f"{run.path}: has no metrics.csv with metrics in it; give the directory of a run")
    return found


def draw(runs: Sequence[RunDirectory], output: Path) -> None:
    """Draw loss and BLEU over steps, with one colour for each run. The ending of the file chooses the format."""
    found = {run: curves(run) for run in runs}
    with style.panels(len(_OF_SEVERAL_RUNS)) as (figure, axes):
        for axis, panel in zip(axes, _OF_SEVERAL_RUNS, strict=True):
            axis.set(xlabel="optimizer step", ylabel=panel.unit, title=panel.title)
            for number, run in enumerate(runs):
                colour = style.COLOURS[number % len(style.COLOURS)]
                for metric, label in panel.metrics.items():
                    if metric in found[run]:
                        look = {"marker": "."} if label == "valid" else {"alpha": 0.35}
                        axis.plot(*found[run][metric], color=colour, label=f"{run.path.name}: {label}", **look)
            if axis.lines:
                axis.legend()
        style.save(figure, output)
