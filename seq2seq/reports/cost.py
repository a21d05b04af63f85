"""What a run has cost so far, as far as its `metrics.csv` says so."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seq2seq.artifacts.run_directory import Metric, RunDirectory


@dataclass(frozen=True)
class Cost:
    """None is what the run did not log.

    Attributes:
        n_parameters: of the model; a run keeps it at its end.
        steps: optimizer steps; of a run that is not finished, up to the last one that was logged.
        tgt_tokens: target tokens that the model was trained on, each as often as it was.
        tgt_tokens_per_s: the median of what was logged, without the time of validations.
        hours: of training.
        memory_gb: the most that the first process was seen to have after a step; within steps it may have more.
        device_memory_gb: the most that was allocated on its GPU.
    """

    n_parameters: int | None
    steps: int | None
    tgt_tokens: int | None
    tgt_tokens_per_s: float | None
    hours: float | None
    memory_gb: float | None
    device_memory_gb: float | None


def cost(run: RunDirectory) -> Cost:
    """The cost of a run. A finished one has kept its steps and parameters, an unfinished one what it logged."""
    logged = logged_cost(run.metrics())
    if not run.is_scored:
        return logged
    selection = run.selection()
    return replace(logged, steps=selection.step, n_parameters=selection.n_parameters or None)


def logged_cost(metrics: Sequence[Metric]) -> Cost:
    """The cost of a run, from the rows of its `metrics.csv`."""

    def values(name: str) -> list[float]:
        return [metric.value for metric in metrics if metric.name == name and math.isfinite(metric.value)]

    tokens, hours = values("progress/tgt_tokens"), values("progress/hours")
    speeds = values("train/tgt_tokens_per_s")
    return Cost(
        n_parameters=None,
        steps=max((metric.step for metric in metrics), default=None),
        tgt_tokens=int(max(tokens)) if tokens else None,
        tgt_tokens_per_s=statistics.median(speeds) if speeds else None,
        hours=max(hours, default=None),
        memory_gb=max(values("train/process_memory_gb"), default=None),
        device_memory_gb=max(values("train/device_memory_gb"), default=None),
    )
