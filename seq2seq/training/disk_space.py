"""Is there room on the disk for what a run will save? Asked before it trains.

A quota cannot be seen from here. If a run meets one, or if the disk fills up later, the save that fails ends the run
with a sentence, and what was saved before stays whole (commands/train.py).
"""

import logging
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.errors import RunError
from seq2seq.files import readable_size
from seq2seq.training.muon import parameters_of

_BYTES = {"bf16-true": 2, "64-true": 8}  # of a weight; 4 in all other precisions
_EMA_BYTES = 4
_SELDOM = 100  # steps between two saves: then a whole window of training/loss_watch.py lies between them

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckpointSizes:
    """Bytes of the tensors in a checkpoint. The rest, such as the tokenizer, is below a megabyte."""

    state: int  # last.ckpt, previous.ckpt: the weights, what the optimizer remembers of them, their average
    model: int  # all others: the weights

    @classmethod
    def of(cls, model: nn.Module, config: RunConfig, precision: str) -> "CheckpointSizes":
        """
        Args:
            precision: that of the run, which is not `auto`.
        """
        width, has_ema = _BYTES.get(precision, 4), bool(config.trainer.ema_decay)
        n_weights = sum({tensor.data_ptr(): tensor.numel() for tensor in model.state_dict().values()}.values())
        n_trained = sum(p.numel() for p in model.parameters())
        n_moments = 2 * n_trained  # of Adam; Muon has one
        if config.optim.optimizer == "muon":
            n_moments -= sum(p.numel() for weights in parameters_of(model)[0] for p in weights)
        state = width * (n_weights + n_moments) + (_EMA_BYTES * n_trained if has_ema else 0)
        return cls(state, n_weights * (max(width, _EMA_BYTES) if has_ema else width))

    def of_new_run(self, config: TrainerConfig, total_steps: int, steps_per_epoch: int) -> int:
        """Bytes of all checkpoints at the end of a run, at most.

        Args:
            total_steps: 0 if only time limits the run; then `trainer.keep_every_n_steps` is not counted.
            steps_per_epoch: of the shortest epochs, if they differ.
        """
        every = config.val_every_n_steps or steps_per_epoch
        n_saves = max(1, total_steps // every) if total_steps else 10**9
        # To go back to if the run diverges. If saves are seldom, they are links to the two that are there anyway.
        n_good = 2 if config.max_rollbacks and every < _SELDOM else 0
        n_kept = total_steps // config.keep_every_n_steps if config.keep_every_n_steps else 0
        n_models = min(config.keep_best, n_saves) + min(config.average_last, n_saves) + n_kept + 1  # the winner
        return min(2 + n_good, n_saves) * self.state + n_models * self.model


def check_disk_space(
    run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, done: int, total_steps: int, *, is_new: bool
) -> None:
    """Warn if the disk of a run has too little room for all its checkpoints.

    Args:
        done: optimizer steps of the run so far.
        total_steps: of the whole run; 0 if only time limits it.
    Raises:
        RunError: there is too little room for the next save.
    """
    disk = shutil.disk_usage(run.path)
    if not disk.total:  # some network file systems do not say
        return
    now = _bytes_of_next_save(run, config, sizes, is_over=0 < total_steps <= done)
    if now > disk.free:
        remedies = ["make room", "name another run_dir" if is_new else "move the run to another disk"]
        remedies += ["set trainer.average_last=0"] if config.average_last else []
        raise RunError(
            f"the disk of run_dir={run.path} has {readable_size(disk.free)} free, and the next save takes "
            f"{readable_size(now)}; {_either(remedies)}"
        )
    in_all = _bytes_of_all_saves(run, config, sizes, done, total_steps)
    if in_all > disk.free:
        settings = {
            "average_last": config.average_last > 1,
            "keep_best": config.keep_best > 1,
            "keep_every_n_steps": config.keep_every_n_steps > 0,
        }
        fewer = [f"trainer.{name}={getattr(config, name)}" for name, is_set in settings.items() if is_set]
        remedies = ["make room", *([f"keep fewer weights ({', '.join(fewer)})"] if fewer else [])]
        log.warning(
            "the disk of run_dir=%s has %s free, and all checkpoints of this run take up to %s more; %s",
            run.path,
            readable_size(disk.free),
            readable_size(in_all),
            _either(remedies),
        )


def _bytes_of_next_save(run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, *, is_over: bool) -> int:
    """What has to be free until a validation is saved: a file is whole before another one goes."""
    if is_over:
        return sizes.model  # the winner of the selection
    recent = sizes.model if config.average_last and not run.recent() else 0
    return max(0, sizes.state - _bytes_of_one_name(run.previous)) + sizes.model + recent


def _bytes_of_all_saves(
    run: RunDirectory, config: TrainerConfig, sizes: CheckpointSizes, done: int, total_steps: int
) -> int:
    """What has to be free until the end, for the largest number of files."""
    best = [run.best, *run.all_best()]
    good = [run.good_at(step) for step in run.good()]
    n_states = 4 if config.max_rollbacks else 2  # a state to go back to, and one on trial
    kinds = [
        (n_states * sizes.state, [run.last, run.previous, *good]),
        (config.keep_best * sizes.model, best),
        (config.average_last * sizes.model, run.recent()),
        (sizes.model, [run.selected]),
    ]
    every = config.keep_every_n_steps
    n_kept = max(0, total_steps // every - done // every) if every else 0
    being_written = sizes.model
    return sum(max(0, n - _bytes_of(there)) for n, there in kinds) + n_kept * sizes.model + being_written


def _bytes_of(files: Iterable[Path]) -> int:
    """The room that files take; two names of one file count once."""
    found = [file.stat() for file in files if file.is_file()]
    return sum({(each.st_dev, each.st_ino): each.st_size for each in found}.values())


def _bytes_of_one_name(file: Path) -> int:
    """The room that is free when this file goes."""
    with suppress(FileNotFoundError):
        found = file.stat()
        return found.st_size if found.st_nlink == 1 else 0
    return 0


def _either(remedies: list[str]) -> str:
    *others, last = remedies
    return f"{', '.join(others)} or {last}" if others else last
