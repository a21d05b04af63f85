"""The summary of a sweep in W&B: one run with the table of all scores, in the group of its jobs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.artifacts.wandb_access import wandb_mode, wandb_project, wandb_settings
from seq2seq.artifacts.wandb_sync import sync_notice
from seq2seq.config import RunConfig
from seq2seq.config.on_resume import RUNTIME, classes, value_of
from seq2seq.errors import RunError, UserError, command
from seq2seq.exit_status import note

JOB_TYPE = "summary"


def summarise_if_tracked(folder: Path) -> None:
    """At the end of a sweep or search: log its summary if W&B has its runs. A failure costs a warning."""
    finished = [run for run in runs_in(folder) if run.is_scored]
    if not finished:
        return
    try:
        logger = finished[0].config().logger
        if not logger.wandb:
            return
        if wandb_mode(logger) != "disabled":
            log_sweep_summary(runs_in(folder), folder)
    except UserError as error:  # also of a run whose plugins this process has not imported
        note(f"warning: {error}")


def log_sweep_summary(runs: Sequence[RunDirectory], folder: Path) -> None:
    """Log the table of all scores, in project and group of the first run. A second summary continues the first one.

    Args:
        runs: all jobs, finished or not.
        folder: the directory of the sweep, for W&B's files.
    Raises:
        RunError: the runs cannot be read, or W&B does not get the summary.
    """
    import wandb

    columns, rows = score_table(runs)
    logger, identity = runs[0].config().logger, runs[0].identity()
    group = logger.wandb_group or (identity.sweep.group if identity and identity.sweep else folder.resolve().name)
    mode = wandb_mode(logger)
    if mode == "disabled":
        raise RunError(f"{folder}: no summary, since W&B is disabled; set logger.wandb_mode or WANDB_MODE to offline")
    wandb.setup(settings=wandb.Settings(silent=True))
    try:
        with wandb.init(
            project=wandb_project(logger),
            entity=logger.wandb_entity or None,
            name=f"{group} summary",
            group=group,
            job_type=JOB_TYPE,
            tags=logger.wandb_tags or None,
            dir=folder,
            id=re.sub(r"[^A-Za-z0-9_\-]", "-", f"{identity.id if identity else group}-summary"),
            resume="allow",
            settings=wandb_settings(is_online=mode == "online"),
        ) as run:
            run.log({"scores": wandb.Table(columns=list[str | int](columns), data=rows)})
            run.summary.update(best_scores(columns, rows))
            url = run.url
    except Exception as error:
        raise RunError(
            f"{folder}: W&B does not get the summary ({error}); try again with {command('wandb summary', folder)}"
        ) from error
    if mode == "online":
        note(f"the summary of {len(runs)} runs is at {url}")
    elif notice := sync_notice([folder], f"wrote the summary of {len(runs)} runs"):
        note(notice)


def score_table(runs: Sequence[RunDirectory]) -> tuple[list[str], list[list[Any]]]:
    """A row for each run: its directory, what differs between the runs, whether it has ended, and its scores.

    Raises:
        RunError: a run cannot be read.
    """
    configs = [run.config() for run in runs]
    keys = differing(configs)
    scores = [
        {f"{test} {metric}": score.score for test, found in run.scores().items() for metric, score in found.items()}
        if run.is_scored
        else {}
        for run in runs
    ]
    names = list(dict.fromkeys(name for found in scores for name in found))
    rows = [
        [run.path.name, *(_cell(value_of(config, key)) for key in keys), *_end(run), *(found.get(n) for n in names)]
        for run, config, found in zip(runs, configs, scores, strict=True)
    ]
    return ["run", *keys, "state", "selected", *names], rows


def differing(configs: Sequence[RunConfig]) -> list[str]:
    """The keys in which runs differ, but those that decide nothing."""
    keys = [key for key, mark in classes(RunConfig).items() if mark != RUNTIME]
    return [key for key in keys if any(value_of(each, key) != value_of(configs[0], key) for each in configs)]


def best_scores(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, float]:
    """The best value of each score: the lowest TER, the highest of the others."""
    best = {}
    for number, name in enumerate(columns):
        if number > columns.index("selected") and (found := [row[number] for row in rows if row[number] is not None]):
            best[f"best/{name}"] = min(found) if name.endswith(" ter") else max(found)
    return best


def _end(run: RunDirectory) -> tuple[str, str | None]:
    return ("finished", run.selection().selected) if run.is_scored else ("unfinished", None)


def _cell(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) else str(value)
