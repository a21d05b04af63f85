"""The loggers of a run: metrics.csv always, Weights & Biases and TensorBoard as configured.

Each is chosen and connected before the run starts, so that none can prompt, block or stop it later.
"""

import logging
import netrc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import LoggerConfig, RunConfig
from seq2seq.errors import ConfigError
from seq2seq.evaluation.scores import Interval
from seq2seq.training.metrics_csv import MetricsCsv

log = logging.getLogger(__name__)

ONLINE_TIMEOUT_S = 20  # W&B alone would wait 90 seconds for a network that is not there


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


def build_loggers(config: RunConfig, run: RunDirectory, resumed_step: int, wandb_id: str) -> list[Logger]:
    """The loggers of a run; `wandb_id` names the W&B run that a resumed run continues."""
    loggers: list[Logger] = [MetricsCsv(run, resumed_step)]
    if config.logger.tensorboard:
        loggers.append(_tensorboard(run))
    if config.logger.wandb and config.logger.wandb_mode != "disabled":
        loggers += _wandb(config, run, wandb_id)
    return loggers


def wandb_mode(config: LoggerConfig) -> str:
    """`online` or `offline`: `auto` goes online only where credentials are found."""
    if config.wandb_mode != "auto":
        return config.wandb_mode
    if (mode := os.environ.get("WANDB_MODE")) in ("online", "offline", "disabled"):
        return mode
    return "online" if _has_credentials() else "offline"


def _has_credentials() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").split("//")[-1].split("/")[0]
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _wandb(config: RunConfig, run: RunDirectory, run_id: str) -> list[Logger]:
    """A W&B logger that is connected already, or none: tracking never stops training."""
    import wandb
    from pytorch_lightning.loggers import WandbLogger

    mode = wandb_mode(config.logger)
    if mode == "disabled":
        return []

    def connect(offline: bool) -> Logger:
        # Silent from here on: W&B would warn of an argument of Lightning's before it reads the settings of the run.
        wandb.setup(settings=wandb.Settings(silent=True))
        logger = WandbLogger(
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
            ),
        )
        _ = logger.experiment  # connects now, where a failure can still be answered
        return logger

    try:
        logger = connect(offline=mode == "offline")
    except Exception as error:  # whatever goes wrong in the tracker, the training is worth more
        if mode == "offline":
            log.warning("W&B did not start (%s); this run is not tracked there", error)
            return []
        log.warning("W&B did not start (%s); trying it offline instead", error)
        try:
            logger, mode = connect(offline=True), "offline"
        except Exception as again:
            log.warning("W&B did not start offline either (%s); this run is not tracked there", again)
            return []
    if mode == "offline":
        log.info("W&B is offline; upload the run later with: wandb sync %s", run.latest_wandb_run)
    return [logger]


def _tensorboard(run: RunDirectory) -> Logger:
    from pytorch_lightning.loggers import TensorBoardLogger

    try:
        return TensorBoardLogger(save_dir=run.path, name="tensorboard", version="")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "logger.tensorboard=true needs the package tensorboard; run, in a clone of seq2seq: "
            "pip install -e '.[tensorboard]'"
        ) from error


def wandb_id(logger: Logger) -> str:
    """The id of a W&B logger's run; empty for other loggers."""
    return str(logger.version or "") if logger.__class__.__name__ == "WandbLogger" else ""


def log_final_scores(
    loggers: Sequence[Logger], scores: dict[str, dict[str, Interval]], selected: str, step: int
) -> None:
    """Put the test scores where each logger keeps a run's results."""
    flat = {f"test/{name}/{metric}": score.score for name, found in scores.items() for metric, score in found.items()}
    for logger in loggers:
        if wandb_id(logger):
            summary = logger.experiment.summary  # type: ignore[attr-defined]
            summary.update({**flat, "selected": selected})
            for name, found in scores.items():
                summary.update({f"test/{name}/{metric}/half_width": s.half_width for metric, s in found.items()})
                summary.update({f"test/{name}/{metric}/signature": s.signature for metric, s in found.items()})
        else:
            logger.log_metrics(flat, step)


def finish(loggers: Sequence[Logger], failed: bool = False) -> None:
    """Flush and close. Otherwise W&B loses its last rows, and the next run of a sweep joins this one."""
    for logger in loggers:
        logger.finalize("failed" if failed else "success")
        if wandb_id(logger):
            import wandb

            wandb.finish(exit_code=int(failed))
