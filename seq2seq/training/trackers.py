"""Weights & Biases and TensorBoard: what they are shown of a run besides its metrics. One that fails does not end it.

That is what the run is, samples of valid as they change, where the model looks, and at last the model itself.
"""

import html
import logging
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from pytorch_lightning.loggers import Logger, TensorBoardLogger, WandbLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.model_card import model_card
from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.wandb_access import wandb_group, wandb_project, wandb_settings
from seq2seq.config import RunConfig, kept
from seq2seq.errors import UserError
from seq2seq.masking import masked_words
from seq2seq.model.transformer import Transformer
from seq2seq.training.metrics import HOURS, TOKENS, Counters
from seq2seq.training.module import TranslationModule
from seq2seq.training.pictures import pictures_of
from seq2seq.training.validation import AttentionMap, Sample, Validation

STEP = "trainer/global_step"  # as Lightning's logger names the optimizer step
X_AXES = {"step": STEP, "tokens": TOKENS, "hours": HOURS}

log = logging.getLogger(__name__)


class Table(NamedTuple):
    columns: list[str]
    rows: list[list[str | float]]


class WandbTracker(WandbLogger):
    """A run of Weights & Biases that is connected already. While it trains, nothing waits for the server.

    Args:
        run_id: the W&B run to continue; empty for a new one.
    Raises:
        Exception: of many kinds, if W&B does not start.
    """

    title = "W&B"

    def __init__(self, config: RunConfig, run: RunDirectory, run_id: str, is_online: bool) -> None:
        import wandb

        self.shows_text = config.logger.text
        # Now, when a failure can still be answered. Lightning itself would take a run of the program's, and finish it.
        with _masked_command():
            experiment = rank_zero_only(wandb.init)(
                project=wandb_project(config.logger),
                entity=config.logger.wandb_entity or None,
                name=config.logger.wandb_name or run.path.name,
                job_type="train",
                notes=config.logger.wandb_notes or None,
                group=wandb_group(config.logger, config.name),
                tags=config.logger.wandb_tags or None,
                dir=str(run.path),
                id=run_id or None,
                resume="allow",
                settings=wandb_settings(is_online),
            )
        super().__init__(save_dir=run.path, experiment=experiment)
        x_axis = X_AXES[config.logger.x_axis]
        self.experiment.define_metric(STEP)
        self.experiment.define_metric("*", step_metric=x_axis, step_sync=True, overwrite=True)

    @property
    def run_id(self) -> str:
        return str(self.version or "")

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        """As a page. A `wandb.Table` would be an artifact, for which W&B asks the server, and waits if that hangs."""
        import wandb

        if self.shows_text:
            self.log_metrics({name: wandb.Html(f"<meta charset=utf-8>{_html(table)}", inject=False)}, step)  # type: ignore[dict-item]

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        import wandb

        if not self.shows_text:
            return
        images = {name: wandb.Image(picture) for name, picture in pictures_of(maps).items()}
        self.log_metrics(images, step)  # type: ignore[arg-type]

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self.experiment.summary.update({**scores, **facts})

    def log_model(self, name: str, directory: Path, facts: Mapping[str, Any]) -> None:
        """As an artifact, with these facts beside it."""
        import wandb

        try:
            artifact = wandb.Artifact(name, "model", metadata=dict(facts))
            artifact.add_dir(str(directory), policy="immutable", skip_cache=True)
            self.experiment.log_artifact(artifact, aliases=[self.run_id])
        except Exception as error:  # the run itself is worth more
            log.warning("W&B does not get the model (%s: %s)", type(error).__name__, error)

    def close(self, has_failed: bool) -> None:
        """Otherwise W&B loses its last rows."""
        try:
            self.experiment.finish(exit_code=int(has_failed))
        except TimeoutError:
            how = shlex.join(["wandb", "sync", "--include-online", str(Path(self.experiment.dir).parent)])
            raise TimeoutError(f"its server did not take all in time; what is missing uploads: {how}") from None

    def abandon(self) -> None:
        with suppress(Exception):
            self.experiment.finish(exit_code=1)
        end_service()


def end_service() -> None:
    """End the process that serves W&B's runs here. Otherwise it would call the id of a run that failed in use.

    It goes on if a run of the program's is active, which it serves, too.
    """
    import wandb

    if wandb.run is not None:
        return
    with suppress(Exception, SystemExit):
        wandb.teardown()


def _html(table: Table) -> str:
    """A table in which text is text and no markup."""
    rows = [table.columns, *([html.escape(str(value)) for value in row] for row in table.rows)]
    return "<table>" + "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in rows) + "</table>"


@contextmanager
def _masked_command() -> Iterator[None]:
    """Hide secrets in the words of the command, which W&B notes, too."""
    words = sys.argv
    sys.argv = [words[0], *masked_words(words[1:])]
    try:
        yield
    finally:
        sys.argv = words


class TensorBoardTracker(TensorBoardLogger):
    """Event files.

    Raises:
        ModuleNotFoundError: the package is missing.
    """

    title = "TensorBoard"
    run_id = ""  # more files in the same directory continue it

    def __init__(self, run: RunDirectory) -> None:
        # Without an `hp_metric` of -1: the scores come at the end.
        super().__init__(save_dir=run.path, name="tensorboard", version="", default_hp_metric=False)

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Only the configuration: each value is a column of the page that compares runs."""
        keys = {field.name for field in fields(RunConfig)}
        super().log_hyperparams({key: value for key, value in dict(params).items() if key in keys}, *args, **kwargs)

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        self.experiment.add_text(name, _html(table), step)  # Markdown takes HTML as it is

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        for name, picture in pictures_of(maps).items():
            self.experiment.add_image(name, picture, step, dataformats="HWC")

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        super().log_hyperparams(self.hparams, scores, step)  # logs the scores, too

    def log_model(self, name: str, directory: Path, facts: Mapping[str, Any]) -> None:
        """It has no artifacts."""

    def close(self, has_failed: bool) -> None:
        self.finalize("failed" if has_failed else "success")

    def abandon(self) -> None:
        """Nothing to let go: nobody else writes these files."""


Tracker = WandbTracker | TensorBoardTracker


class Guarded(Logger):
    """Stands between Lightning and a tracker. The first failure costs a warning, and all that would have come later.

    Only `Exception` counts as a failure: a signal that comes while the tracker works still stops the run.
    """

    version = ""

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        self._tracker: Tracker | None = tracker
        self._title = tracker.title

    @property
    def name(self) -> str:
        return self._title

    @property
    def run_id(self) -> str:
        return self._tracker.run_id if self._tracker else ""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.attempt(lambda tracker: tracker.log_metrics(metrics, step))

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        self.attempt(lambda tracker: tracker.log_hyperparams(params))

    def finalize(self, status: str) -> None:
        self.attempt(lambda tracker: tracker.finalize(status))

    def attempt(self, work: Callable[[Tracker], None]) -> None:
        """Have the tracker do this, if it has not failed yet."""
        if self._tracker is None:
            return
        try:
            work(self._tracker)
        except Exception as error:
            failed, self._tracker = self._tracker, None
            cause = error.__cause__ or error  # TensorBoard's logger says that of any error a value has the wrong type
            log.warning(
                "%s failed (%s: %s); it records nothing more of this run, which goes on",
                self._title,
                type(cause).__name__,
                cause,
            )
            failed.abandon()


def guarded(loggers: Iterable[Any]) -> list[Guarded]:
    """Those that show more than metrics."""
    return [logger for logger in loggers if isinstance(logger, Guarded)]


class Tracking(pl.Callback):
    """Logs the configuration at the start and, after each validation, sample translations and pictures of attention.

    Args:
        facts: what a tracker shows beside the configuration.
        validation: has the translations of the latest validation.
    """

    def __init__(self, config: RunConfig, facts: dict[str, Any], validation: Validation, counters: Counters) -> None:
        self.config, self.facts, self.validation, self.counters = config, facts, validation, counters
        self.has_told_signatures = False

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for logger in trainer.loggers:
            logger.log_hyperparams({**kept(self.config), **self.facts})
        for tracker in guarded(trainer.loggers):
            if tracker.run_id:
                assert isinstance(pl_module, TranslationModule)
                pl_module.wandb_id = tracker.run_id

    def show_validation(self, module: TranslationModule, metrics: Mapping[str, float]) -> None:
        trackers = guarded(module.loggers)
        if not trackers or module.global_rank:
            return
        with self.counters.timed("tracking"):
            if not self.has_told_signatures:
                self.has_told_signatures = True
                for tracker in trackers:
                    tracker.log_hyperparams({"valid_signatures": self.validation.signatures})
            if not self.config.logger.shows_text:
                return
            step = module.n_steps
            table = table_of_samples(self.validation.samples(self.config.logger.n_samples), step)
            maps = self.validation.attention
            for tracker in trackers:
                tracker.attempt(lambda t: t.log_sentences("valid/samples", table, step))
                tracker.attempt(lambda t: t.log_attention(maps, step))


def table_of_samples(samples: Sequence[Sample], step: int) -> Table:
    columns = ["step", "line", "domain", "source", "reference", "translation", "chrF"]
    return Table(columns, [[step, pair + 1, *texts, round(chrf, 2)] for pair, *texts, chrf in samples])


def ship(loggers: Iterable[Logger], config: RunConfig, run: RunDirectory, model: Transformer) -> None:
    """Write the selected weights as `python -m seq2seq export` does, for the trackers. The run survives a failure.

    Args:
        model: of this run, with any weights.
    """
    directory = run.export / "safetensors"
    try:
        saved = read_checkpoint(run.selected).model
        vocab_size = len(model.embeddings.source)
        lines = ["`model.safetensors`: weights for PyTorch"]
        card = model_card(config, model.n_parameters, vocab_size, lines, run, saved.seen)
        write_model_directory(
            directory,
            saved,
            card,
            lambda building: write_safetensors(building, saved.weights, saved.tokenizer_sha256),
            overwrite=True,
        )
        selection, tests = run.selection(), run.scores()
    except (UserError, OSError) as error:
        log.warning("no model for the trackers: %s", error)
        return
    facts = {
        "selected": selection.selected,
        "step": selection.step,
        "tokenizer": saved.tokenizer_sha256,
        "scores": {
            test: {metric: {"score": found.score, "signature": found.signature} for metric, found in scores.items()}
            for test, scores in tests.items()
        },
    }
    name = artifact_name(config.name, config.data.src_lang, config.data.tgt_lang)
    for tracker in guarded(loggers):
        tracker.attempt(lambda t: t.log_model(name, directory, facts))


def artifact_name(*parts: str) -> str:
    """A name that W&B accepts."""
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", "-".join(parts))[:120]
