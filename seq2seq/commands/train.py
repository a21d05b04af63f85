"""Launch a training run:  python train.py experiment=multi30k data.dir=PATH

Hydra composes the configuration from `conf/` and the command line; `--help` explains, `--cfg job` shows the result.
`--estimate` prints what the run would take, and does not start it. `-m` makes a sweep of keys with several values.
docs/architecture.md has the way from these words to the processes that train.
"""

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seq2seq.config.by_hydra import MULTIRUN, job_of, with_hydra
from seq2seq.errors import ConfigError
from seq2seq.exit_status import show_log

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig

    from seq2seq.training.ranks import Ranks

ESTIMATE = "--estimate"


def run(words: Sequence[str]) -> int:
    """Let Hydra compose a configuration from the words, and train: once, or once for each job of a sweep.

    Returns:
        The exit status: 2 if a job of a sweep failed.
    Raises:
        ConfigError: Hydra refuses the words.
        SystemExit: a signal came.
    """
    if {"WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}.isdisjoint(os.environ):  # of which a launcher sets one
        return _run(words, None)

    from seq2seq.training.processes import quick_imports

    with quick_imports():
        from seq2seq.training.launch import follow
        from seq2seq.training.ranks import launched, leaving_group
    ranks = launched()
    if ranks is None:
        return _run(words, None)
    if not ranks.is_first:
        show_log(logging.WARNING)
        follow(ranks)
        return 0
    with leaving_group(), ranks.ending_together():
        return _run(words, ranks)


def _run(words: Sequence[str], ranks: "Ranks | None") -> int:
    show_log()
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # the first time, it tells that it has looked for fonts
    if any(word.startswith("resume=") for word in words):
        from seq2seq.sweeps.multirun import words_to_resume

        words = words_to_resume(words) or words
    is_sweep = not MULTIRUN.isdisjoint(words)
    if ranks is not None and (is_sweep or ESTIMATE in words):
        raise ConfigError("-m and --estimate are for one process; give the command without torchrun or srun")
    if ESTIMATE in words:
        if is_sweep:
            raise ConfigError(f"{ESTIMATE} is for one run; leave -m out, and give each key one value")
        with_hydra([word for word in words if word != ESTIMATE], _estimate)
        return 0
    if is_sweep:
        from seq2seq.sweeps.multirun import do_sweep

        return do_sweep(words)

    if launchers := [word for word in words if word.startswith("hydra/launcher=")]:
        raise ConfigError(f"{launchers[0]} starts the jobs of a sweep; add -m, or leave it out")

    from seq2seq.training.processes import quick_imports

    def train(cfg: "DictConfig") -> None:
        if not words:
            raise ConfigError(
                f"say what to train: experiment=demo is a start, data=files data.dir=PATH is text of yours, and --help "
                f"shows more; without a word it would be {cfg.name!r}, {cfg.data.src_lang} to {cfg.data.tgt_lang} on "
                f"{cfg.data.name}"
            )

        with quick_imports():
            from seq2seq.training.launch import launch

        launch(job_of(cfg), words, ranks)

    with_hydra(words, train)
    return 0


def _estimate(cfg: "DictConfig") -> None:
    """Print what the run would take."""
    from seq2seq.training.composed import checked
    from seq2seq.training.launch import check_environment
    from seq2seq.training.processes import quick_imports

    job = job_of(cfg)
    config = checked(job)
    check_environment(config.logger)
    with quick_imports():
        from seq2seq.training.estimate import estimate
        from seq2seq.training.recipe import with_recipe
    if config.hours:
        config = checked(with_recipe(job)[0])
    print(estimate(config).render())
