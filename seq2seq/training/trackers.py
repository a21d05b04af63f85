"""Weights & Biases and TensorBoard: what each keeps of a run besides its metrics. `Guarded` calls them."""

import dataclasses
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pytorch_lightning.loggers import TensorBoardLogger, WandbLogger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.wandb_access import wandb_group, wandb_project
from seq2seq.config import RunConfig
from seq2seq.masking import masked_words
from seq2seq.training.attention_maps import AttentionMap
from seq2seq.training.callbacks.counters import HOURS, TOKENS
from seq2seq.training.lineage import Origin, Product, give, use
from seq2seq.training.pictures import pictures_of
from seq2seq.training.sentence_tables import Table
from seq2seq.training.wandb_end import finish_within

if TYPE_CHECKING:  # wandb is imported when it is used
    import wandb

X_AXES = {"step": "", "tokens": TOKENS, "hours": HOURS}  # Lightning's logger takes the optimizer step
ONLINE_TIMEOUT_S = 20  # W&B alone would wait 90 seconds for a network that is not there
FINISH_TIMEOUT_S = 600  # it would wait for days at the end of a run, if the network went away in the middle


def wandb_settings(offline: bool) -> "wandb.Settings":
    """A run that says nothing, and waits for nothing longer than it must."""
    import wandb

    return wandb.Settings(
        # Lightning's `offline` sets an environment variable. W&B reads it once, not again for a second attempt.
        mode="offline" if offline else "online",
        console="off",
        silent=True,
        init_timeout=ONLINE_TIMEOUT_S,
        finish_timeout=FINISH_TIMEOUT_S,
        finish_timeout_raises=True,
    )


class WandbTracker(WandbLogger):
    """A run of Weights & Biases that is connected already.

    Args:
        run_id: the W&B run to continue; empty for a new one.
    Raises:
        Exception: of many kinds, if W&B does not start.
    """

    title = "W&B"

    def __init__(self, config: RunConfig, run: RunDirectory, run_id: str, offline: bool) -> None:
        import wandb

        self.run = run
        # Silent from here on: W&B would warn of an argument of Lightning's before it reads the settings of the run.
        wandb.setup(settings=wandb.Settings(silent=True))
        super().__init__(
            project=wandb_project(config.logger),
            entity=config.logger.wandb_entity or None,
            name=config.logger.wandb_name or run.path.name,
            job_type="train",
            notes=config.logger.wandb_notes or None,
            group=wandb_group(config.logger, config.name),
            tags=config.logger.wandb_tags or None,
            save_dir=run.path,
            offline=offline,
            id=run_id or None,
            resume="allow",
            settings=wandb_settings(offline),
        )
        with _masked_command():
            _ = self.experiment  # connects now, where a failure can still be answered
        # Before each table and artifact, W&B would ask the server for the type of others of that name. For one that
        # hangs it waits 19 seconds: at every validation, while the run stands still.
        self.experiment._assert_can_log_artifact = lambda artifact: None
        if axis := X_AXES[config.logger.x_axis]:
            self.experiment.define_metric("*", step_metric=axis, step_sync=True, overwrite=True)

    @property
    def run_id(self) -> str:
        return str(self.version or "")

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        self.log_table(key=name, columns=table.columns, data=table.rows, step=step)

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        import wandb

        images = {name: wandb.Image(picture) for name, picture in pictures_of(maps).items()}
        self.log_metrics(images, step)  # type: ignore[arg-type]

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self.experiment.summary.update({**scores, **facts})

    def log_origins(self, found: Sequence[Origin], finetuned: str) -> None:
        use(self.experiment, found, finetuned, self.run.path / "wandb" / "lineage")

    def log_product(self, product: Product) -> None:
        give(self.experiment, product)

    def close(self, has_failed: bool) -> None:
        """Otherwise W&B loses its last rows, and the next run of a sweep joins this one."""
        finish_within(FINISH_TIMEOUT_S, int(has_failed))

    def abandon(self) -> None:
        """Forget the run and the process that serves it.

        Otherwise W&B would give this run to the next `init`, and look for the process when Python ends.
        """
        import wandb

        with suppress(Exception):
            finish_within(FINISH_TIMEOUT_S, 1)
        with suppress(Exception, SystemExit):
            wandb.teardown()
        wandb.run = None  # `finish` failed before it came to this


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
        keys = {field.name for field in dataclasses.fields(RunConfig)}
        super().log_hyperparams({key: value for key, value in dict(params).items() if key in keys}, *args, **kwargs)

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        rows = [table.columns, ["---"] * len(table.columns), *([_cell(value) for value in row] for row in table.rows)]
        self.experiment.add_text(name, "\n".join(f"| {' | '.join(row)} |" for row in rows), step)

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        for name, picture in pictures_of(maps).items():
            self.experiment.add_image(name, picture, step, dataformats="HWC")

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        super().log_hyperparams(self.hparams, scores, step)  # logs the scores, too

    def log_origins(self, found: Sequence[Origin], finetuned: str) -> None:
        """It has no artifacts."""

    def log_product(self, product: Product) -> None:
        """It has no artifacts."""

    def close(self, has_failed: bool) -> None:
        self.finalize("failed" if has_failed else "success")

    def abandon(self) -> None:
        """Nothing to let go: nobody else writes these files."""


def _cell(value: str | float | None) -> str:
    """A value in a table of Markdown, where text is text and no markup."""
    text = "" if value is None else str(value).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|>-])", r"\\\1", " ".join(text.split()))
