"""Weights & Biases and TensorBoard: what each keeps of a run besides its metrics. `Guarded` calls them."""

from collections.abc import Sequence
from contextlib import suppress

from pytorch_lightning.loggers import TensorBoardLogger, WandbLogger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig

ONLINE_TIMEOUT_S = 20  # W&B alone would wait 90 seconds for a network that is not there
FINISH_TIMEOUT_S = 600  # it would wait for days at the end of a run, if the network went away in the middle


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

        # Silent from here on: W&B would warn of an argument of Lightning's before it reads the settings of the run.
        wandb.setup(settings=wandb.Settings(silent=True))
        super().__init__(
            project=config.logger.wandb_project,
            entity=config.logger.wandb_entity or None,
            name=run.path.name,
            group=config.logger.wandb_group or config.name,
            tags=config.logger.wandb_tags or None,
            save_dir=run.path,
            offline=offline,
            id=run_id or None,
            resume="allow",
            settings=wandb.Settings(
                # Lightning's `offline` sets an environment variable. W&B reads it once, not again for a second attempt.
                mode="offline" if offline else "online",
                console="off",
                silent=True,
                init_timeout=ONLINE_TIMEOUT_S,
                finish_timeout=FINISH_TIMEOUT_S,
                finish_timeout_raises=True,
            ),
        )
        _ = self.experiment  # connects now, where a failure can still be answered

    @property
    def run_id(self) -> str:
        return str(self.version or "")

    def log_samples(self, rows: Sequence[tuple[str, str, str]], step: int) -> None:
        columns = ["step", "source", "reference", "translation"]
        self.log_table(key="valid/samples", columns=columns, data=[[step, *row] for row in rows])

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self.experiment.summary.update({**scores, **facts})

    def close(self, has_failed: bool) -> None:
        """Otherwise W&B loses its last rows, and the next run of a sweep joins this one."""
        import wandb

        wandb.finish(exit_code=int(has_failed))

    def abandon(self) -> None:
        """Forget the run and the process that serves it.

        Otherwise W&B would give this run to the next `init`, and look for the process when Python ends.
        """
        import wandb

        with suppress(Exception):
            wandb.finish(exit_code=1)
        with suppress(Exception, SystemExit):
            wandb.teardown()
        wandb.run = None  # `finish` failed before it came to this


class TensorBoardTracker(TensorBoardLogger):
    """Event files.

    Raises:
        ModuleNotFoundError: the package is missing.
    """

    title = "TensorBoard"
    run_id = ""  # more files in the same directory continue it

    def __init__(self, run: RunDirectory) -> None:
        super().__init__(save_dir=run.path, name="tensorboard", version="")

    def log_samples(self, rows: Sequence[tuple[str, str, str]], step: int) -> None:
        text = "\n\n".join(f"**{src}**  \n{ref}  \n*{hyp}*" for src, ref, hyp in rows)
        self.experiment.add_text("valid/samples", text, step)

    def log_results(self, scores: dict[str, float], facts: dict[str, float | str], step: int) -> None:
        self.log_metrics(scores, step)

    def close(self, has_failed: bool) -> None:
        self.finalize("failed" if has_failed else "success")

    def abandon(self) -> None:
        """Nothing to let go: nobody else writes these files."""
