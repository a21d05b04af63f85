"""Runs as their end leaves them, made from a configuration and a few scores."""

import dataclasses
from pathlib import Path

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory, Selection
from seq2seq.config import RunConfig
from seq2seq.evaluation.scores import Interval

REFERENCES = ["A man stands on a ladder.", "Two dogs run in the snow.", "People repair a roof of a house."]


def interval(value: float) -> Interval:
    return Interval(value, value + 0.25, 1.5, "nrefs:1")


def started_run(path: Path, config: RunConfig | None = None, text: str = "") -> Path:
    """A run that has begun. Without `text`, it is from before runs kept which files they read."""
    path.mkdir(parents=True)
    config = config or RunConfig()
    config = dataclasses.replace(config, run_dir=str(path), trainer=dataclasses.replace(config.trainer, max_epochs=1))
    run = RunDirectory(path)
    run.write_config(config)
    if text:
        run.write_identity(RunIdentity("1", corpus={"train": [text], "valid": ["v"]}))
    return path


def ended_run(
    path: Path, bleu: float, config: RunConfig | None = None, valid: float = 50.0, text: str = "", step: int = 70
) -> Path:
    """A run that has its scores, and no translations."""
    run = RunDirectory(started_run(path, config, text))
    run.write_scores({"flickr": {"bleu": interval(bleu), "ter": interval(100 - bleu)}})
    run.write_selection(Selection("last", step, {"last": {"bleu": valid}, "best": {"bleu": 1.0}}, {}, 9000))
    return path


def logged(path: Path, *rows: tuple[int, str, float, float]) -> None:
    """Give a run these rows of metrics.csv: step, metric, value, unix_time. With each loss it logs what it took."""
    took: list[tuple[int, str, float, float]] = []
    for step, name, _, time in rows:
        if name == "train/loss":
            took += [(step, "progress/hours", (time - rows[0][3]) / 3600, time)]
            took += [(step, "progress/tgt_tokens", 100 * step, time)]
    lines = ["step,metric,value,unix_time", *(",".join(map(str, row)) for row in (*rows, *took))]
    (path / "metrics.csv").write_text("".join(f"{line}\n" for line in lines))
