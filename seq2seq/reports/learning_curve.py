"""Draw how runs learned, from their metrics.csv:  python -m seq2seq learning-curve RUN_DIR... --output curve.png"""

import argparse
import sys
from pathlib import Path

from seq2seq.errors import CheckpointError, UserError
from seq2seq.training.metrics_csv import read_metrics

PANELS = (("loss", "cross-entropy (nats per token)"), ("bleu", "BLEU on valid"))
Curve = tuple[list[int], list[float]]


def curves(run_dir: Path) -> dict[str, Curve]:
    """Steps and values of each metric of a run.

    Raises:
        CheckpointError: the directory holds no metrics.
    """
    found: dict[str, Curve] = {}
    for row in read_metrics(run_dir / "metrics.csv"):
        steps, values = found.setdefault(row["metric"], ([], []))
        steps.append(int(row["step"]))
        values.append(float(row["value"]))
    if not found:
        raise CheckpointError(f"{run_dir}: has no metrics.csv with metrics in it; give the directory of a run")
    return found


def draw(run_dirs: list[Path], output: Path) -> None:
    """Loss and BLEU over steps, one colour a run; the file's ending chooses the format."""
    import matplotlib

    matplotlib.use("Agg")  # no screen needed
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(10, 4), layout="constrained")
    for number, run_dir in enumerate(run_dirs):
        found, colour = curves(run_dir), f"C{number}"
        for axis, (metric, title) in zip(axes, PANELS, strict=True):
            axis.set(xlabel="optimizer step", title=title)
            axis.grid(alpha=0.3)
            if f"train/{metric}" in found:
                axis.plot(*found[f"train/{metric}"], color=colour, alpha=0.3, label=f"{run_dir.name}: train")
            if f"valid/{metric}" in found:
                axis.plot(*found[f"valid/{metric}"], color=colour, marker=".", label=f"{run_dir.name}: valid")
    for axis in axes:
        axis.legend()
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=120)
    plt.close(figure)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m seq2seq learning-curve", description=__doc__.splitlines()[0])
    parser.add_argument("run_dirs", nargs="+", type=Path, metavar="RUN_DIR")
    parser.add_argument("--output", type=Path, default=Path("learning_curve.png"))
    args = parser.parse_args(argv)
    try:
        draw(args.run_dirs, args.output)
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
