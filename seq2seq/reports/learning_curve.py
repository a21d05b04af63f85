"""How runs learned: pictures of loss and BLEU over the steps, from `metrics.csv`."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError

PANELS = (("loss", "cross-entropy (nats per token)"), ("bleu", "BLEU on valid"))
Curve = tuple[list[int], list[float]]


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
    import matplotlib

    matplotlib.use("Agg")  # no screen needed
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(10, 4), layout="constrained")
    for number, run in enumerate(runs):
        found, colour = curves(run), f"C{number}"
        for axis, (metric, title) in zip(axes, PANELS, strict=True):
            axis.set(xlabel="optimizer step", title=title)
            axis.grid(alpha=0.3)
            if f"train/{metric}" in found:
                axis.plot(*found[f"train/{metric}"], color=colour, alpha=0.3, label=f"{run.path.name}: train")
            if f"valid/{metric}" in found:
                axis.plot(*found[f"valid/{metric}"], color=colour, marker=".", label=f"{run.path.name}: valid")
    for axis in axes:
        axis.legend()
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=120)
    plt.close(figure)
