"""The loggers of a run: metrics.csv always, Weights & Biases and TensorBoard as configured.

Each is chosen and connected before the run starts, so that none can prompt or block it later. `metrics.csv` is part of
the run: if it cannot be written, the run ends. The others are guarded: if one fails, the run goes on without it.
"""

import csv
import io
import logging
import shlex
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.run_directory import METRICS_HEADER, RunDirectory
from seq2seq.artifacts.wandb_access import has_credentials, wandb_mode
from seq2seq.config import RunConfig
from seq2seq.evaluation.scores import Interval
from seq2seq.files import append_text, write_text
from seq2seq.training.trackers import Guarded, TensorBoardTracker, WandbTracker, end_service, guarded

log = logging.getLogger(__name__)


@contextmanager
def open_loggers(config: RunConfig, run: RunDirectory, resumed: Checkpoint | None) -> Iterator[list[Logger]]:
    """The loggers of a run; at the end of the block they are closed, and W&B learns whether the run failed."""
    loggers = build_loggers(config, run, resumed.step if resumed else -1, resumed.wandb_id if resumed else "")
    has_failed = True
    try:
        yield loggers
        has_failed = False
    finally:
        finish(loggers, has_failed)
        if config.logger.wandb and (notice := sync_notice(run, "W&B has not got all of this run")):
            log.info("%s", notice)


def build_loggers(config: RunConfig, run: RunDirectory, resumed_step: int, wandb_id: str) -> list[Logger]:
    """The loggers of a run; `wandb_id` names the W&B run that a resumed run continues."""
    loggers: list[Logger] = [MetricsCsv(run, resumed_step)]
    if config.logger.tensorboard:
        loggers.append(Guarded(TensorBoardTracker(run)))
    if config.logger.wandb:
        loggers += _wandb(config, run, wandb_id)
    return loggers


def _wandb(config: RunConfig, run: RunDirectory, run_id: str) -> list[Logger]:
    """A W&B logger that is connected already, or none: tracking never stops training."""
    modes = {"online": ("online", "offline"), "offline": ("offline",), "disabled": ()}[wandb_mode(config.logger)]
    for mode in modes:
        try:
            tracker = WandbTracker(config, run, run_id, is_online=mode == "online")
            break
        except Exception as error:  # whatever goes wrong in the tracker, the training is worth more
            log.warning("W&B did not start %s (%s)", mode, str(error).partition("\n")[0])
            end_service()
    else:
        return []
    if tracker.run_id:  # only the first rank has one
        state = "was offline before"
        if mode == "online":
            text = ", and with logger.text=true, sentences of valid with their translations"
            log.info(
                "W&B is online: it uploads the configuration, the metrics, what it notes of this machine%s, to %s; "
                "logger.wandb_mode=offline keeps all of it here",
                text if config.logger.text and config.logger.n_samples else "",
                tracker.experiment.url,
            )
        else:
            state = "is offline" if has_credentials() else "is offline, without credentials"
        if notice := sync_notice(run, f"W&B {state}"):
            log.info("%s", notice)
    return [Guarded(tracker)]


def sync_notice(run: RunDirectory, state: str) -> str:
    """How to upload what a run recorded offline; empty if all of it is uploaded.

    Args:
        state: begins the sentence.
    """
    if all(any(part.glob("run-*.wandb.synced")) for part in run.offline_wandb_parts()):
        return ""
    return f"{state}; upload it after the run with: {shlex.join(['wandb', 'sync', str(run.path / 'wandb')])}"


def log_final_scores(
    loggers: Sequence[Logger], scores: dict[str, dict[str, Interval]], selected: str, step: int
) -> None:
    """Put the test scores where each logger keeps a run's results."""
    named = {f"test/{name}/{metric}": score for name, found in scores.items() for metric, score in found.items()}
    flat = {name: score.score for name, score in named.items()}
    facts: dict[str, float | str] = {"selected": selected}
    facts |= {f"{name}/half_width": score.half_width for name, score in named.items()}
    facts |= {f"{name}/signature": score.signature for name, score in named.items()}
    for logger in loggers:
        if isinstance(logger, Guarded):
            logger.attempt(lambda tracker: tracker.log_results(flat, facts, step))
        else:
            logger.log_metrics(flat, step)


def log_ending(loggers: Sequence[Logger], ending: str, step: int) -> None:
    """Show trackers how the run ended."""
    for each in guarded(loggers):
        each.attempt(lambda tracker: tracker.log_results({}, {"ended": ending}, step))


def finish(loggers: Sequence[Logger], failed: bool = False) -> None:
    """Flush and close. Trackers learn how the run ended."""
    for logger in loggers:
        if isinstance(logger, Guarded):
            logger.attempt(lambda tracker: tracker.close(failed))
        else:
            logger.finalize("failed" if failed else "success")


class MetricsCsv(Logger):
    """A Lightning logger that appends `step,metric,value,unix_time` rows, one for each step and metric.

    Lightning's own CSVLogger deletes the file when a run resumes. Rows are long rather than wide because
    training and validation metrics come at different steps, and so that appending never rewrites a header.

    Args:
        resumed_step: optimizer steps done by the run that is continued. Rows of later steps, left by a run that
            died after its last checkpoint, are dropped, and so are the scores of an earlier end.
    """

    name, version = "csv", ""

    def __init__(self, run: RunDirectory, resumed_step: int = -1) -> None:
        super().__init__()
        self.run = run
        self._begin(resumed_step)

    @rank_zero_only
    def _begin(self, resumed_step: int) -> None:
        kept = [
            (step, name, f"{value:.7g}", time)
            for step, name, value, time in self.run.metrics()
            if step < resumed_step or (step == resumed_step and not name.startswith("test/"))
        ]
        self.written = {(int(step), name) for step, name, *_ in kept if step == resumed_step}  # of the latest step
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([METRICS_HEADER, *kept])
        write_text(self.run.metrics_file, text.getvalue())

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """The configuration is in config.yaml."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        now = f"{time.time():.1f}"
        step = step or 0
        self.written = {row for row in self.written if row[0] == step}
        rows = [
            (step, name, f"{float(value):.7g}", now)
            for name, value in metrics.items()
            if name != "epoch" and (step, name) not in self.written
        ]
        self.written |= {(step, name) for step, name, *_ in rows}
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        append_text(self.run.metrics_file, text.getvalue())
