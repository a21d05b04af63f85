"""Weights & Biases and TensorBoard: what each keeps of a run besides its metrics. `Guarded` calls them."""

import dataclasses
import html
import logging
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import TensorBoardLogger, WandbLogger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.wandb_access import wandb_group, wandb_project, wandb_settings
from seq2seq.config import RunConfig
from seq2seq.masking import masked_words
from seq2seq.training.attention_maps import AttentionMap
from seq2seq.training.callbacks.counters import HOURS, TOKENS
from seq2seq.training.pictures import pictures_of
from seq2seq.training.sentence_tables import Table
from seq2seq.training.shipping import Product

X_AXES = {"step": "", "tokens": TOKENS, "hours": HOURS}  # Lightning's logger takes the optimizer step

log = logging.getLogger(__name__)


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
            id=run_id or None,
            resume="allow",
            settings=wandb_settings(is_online),
        )
        with _masked_command():
            _ = self.experiment  # connects now, where a failure can still be answered
        if axis := X_AXES[config.logger.x_axis]:
            self.experiment.define_metric("*", step_metric=axis, step_sync=True, overwrite=True)

    @property
    def run_id(self) -> str:
        return str(self.version or "")

    def log_sentences(self, name: str, table: Table, step: int) -> None:
        """As a page. A `wandb.Table` would be an artifact, for which W&B asks the server, and waits if that hangs."""
        import wandb

        if self.shows_text:
            self.log_metrics({name: wandb.Html(_page(table), inject=False)}, step)  # type: ignore[dict-item]

    def log_attention(self, maps: Sequence[AttentionMap], step: int) -> None:
        import wandb

        if not self.shows_text:
            return
        images = {name: wandb.Image(picture) for name, picture in pictures_of(maps).items()}
        self.log_metrics(images, step)  # type: ignore[arg-type]

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self.experiment.summary.update({**scores, **facts})

    def log_product(self, product: Product) -> None:
        import wandb

        try:
            artifact = wandb.Artifact(product.name, "model", metadata=dict(product.facts))
            artifact.add_dir(str(product.directory), policy="immutable", skip_cache=True)
            self.experiment.log_artifact(artifact, aliases=[self.run_id])
        except Exception as error:  # the run itself is worth more
            log.warning("W&B does not get the model (%s: %s)", type(error).__name__, error)

    def close(self, has_failed: bool) -> None:
        """Otherwise W&B loses its last rows, and the next run of a sweep joins this one."""
        import wandb

        try:
            wandb.finish(exit_code=int(has_failed))
        except TimeoutError:
            how = shlex.join(["wandb", "sync", "--include-online", str(Path(self.experiment.dir).parent)])
            raise TimeoutError(f"its server did not take all in time; what is missing uploads: {how}") from None

    @staticmethod
    def abandon() -> None:
        """Forget the run and the process that serves it.

        Otherwise W&B would give this run to the next `init`, or call its id in use, and look for the process when
        Python ends.
        """
        import wandb

        with suppress(Exception):
            wandb.finish(exit_code=1)
        with suppress(Exception, SystemExit):
            wandb.teardown()
        wandb.run = None  # `finish` failed before it came to this


def _page(table: Table) -> str:
    """A table in HTML, where text is text and no markup."""
    rows = [table.columns, *(["" if value is None else html.escape(str(value)) for value in row] for row in table.rows)]
    return "<meta charset=utf-8><table>" + "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in rows) + "</table>"


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
