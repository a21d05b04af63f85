"""A picture of how runs learned: loss and BLEU over steps, seeds of one recipe as their mean in a band."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.exit_status import note
from seq2seq.reports import style
from seq2seq.reports.compared_run import read_run
from seq2seq.reports.curves import PANELS, Curve, Panel, drawn_curves, read_curves
from seq2seq.reports.seeds import recipes

_PANELS = (PANELS[0], Panel("bleu", "BLEU on valid", "BLEU, 0 to 100", {"valid/bleu": "valid"}))


def draw(runs: Sequence[RunDirectory], output: Path) -> None:
    """Draw runs, finished or not, with one colour for each recipe. The ending of the file chooses the format.

    Of several runs, those that have logged nothing yet are left out.

    Raises:
        RunError: a directory holds no run, or none has logged anything.
    """
    found = {run: read_curves(run) for run in runs}
    drawn = [run for run in runs if found[run]]
    if not drawn:
        drawn_curves(runs[0])  # which says so
    for run in runs:
        if not found[run]:
            note(f"{run.path} has no metrics yet, and is left out")
    groups = [[each.run for each in recipe.runs] for recipe in recipes([read_run(run, run.path.name) for run in drawn])]
    with style.panels(len(_PANELS)) as (figure, axes):
        for axis, panel in zip(axes, _PANELS, strict=True):
            axis.set(xlabel="optimizer step", ylabel=panel.unit, title=panel.title)
            for number, group in enumerate(groups):
                colour = style.COLOURS[number % len(style.COLOURS)]
                seeds = f" and {len(group) - 1} more" if len(group) > 1 else ""
                for metric, label in panel.metrics.items():
                    curves = [found[run][metric] for run in group if metric in found[run]]
                    steps, means, deviations = over_seeds(curves)
                    look = {"marker": "."} if label == "valid" else {"alpha": 0.35}
                    if steps:
                        axis.plot(steps, means, color=colour, label=f"{group[0].path.name}{seeds}: {label}", **look)
                    if len(curves) > 1:
                        low, high = ([m + sign * d for m, d in zip(means, deviations, strict=True)] for sign in (-1, 1))
                        axis.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
            if axis.lines:
                axis.legend()
        style.save(figure, output)


def over_seeds(curves: Sequence[Curve]) -> tuple[list[int], list[float], list[float]]:
    """The mean and the standard deviation of curves at all of their steps, as far as all of them reach.

    Each is a line between its own steps: with augmentation, an epoch of one seed has a few steps more than of another.
    """
    first = max((curve.steps[0] for curve in curves), default=0)
    last = min((curve.steps[-1] for curve in curves), default=0)
    steps = sorted({step for curve in curves for step in curve.steps if first <= step <= last})
    lines = [np.interp(steps, curve.steps, curve.values).tolist() for curve in curves]
    values = list(zip(*lines, strict=True))
    return steps, list(map(mean, values)), [stdev(each) if len(each) > 1 else 0.0 for each in values]
