"""Prepare the text of a training run, and train nothing:  python -m seq2seq prepare experiment=multi30k data.dir=PATH

It takes the words of `train.py`, whose run then finds everything in the cache. So a machine without a GPU can do it
before. Where one machine is too small, `data.executor` names a Dask cluster.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seq2seq.config.by_hydra import MULTIRUN, job_of, with_hydra
from seq2seq.errors import ConfigError
from seq2seq.exit_status import show_log

if TYPE_CHECKING:  # Hydra takes a tenth of a second to import: too long for the help of all commands
    from omegaconf import DictConfig


def run(words: Sequence[str]) -> None:
    """Prepare what the words describe.

    Raises:
        ConfigError: they do not describe one new run.
    """
    show_log()
    if not MULTIRUN.isdisjoint(words):
        raise ConfigError("prepare is for one run; leave -m out, and give each key one value")
    with_hydra(words, _prepare)


def _prepare(cfg: "DictConfig") -> None:
    from seq2seq.dataset.prepare import prepare
    from seq2seq.training.composed import checked, given_tokenizer

    config = checked(job := job_of(cfg))
    if config.hours:
        from seq2seq.training.recipe import with_recipe

        config = checked(with_recipe(job)[0])
    prepared = prepare(config, given_tokenizer(config))
    print(prepared.train.directory)
