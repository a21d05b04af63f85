"""Prepare the text of a training run, and train nothing:  python -m seq2seq prepare experiment=multi30k data.dir=PATH

It takes the words of `train.py`, whose run then finds everything in the cache. So a machine without a GPU can do it
before. Several machines that share the cache, and are given the same command at the same time, do it together.
"""

import logging
import sys
from collections.abc import Sequence


def run(words: Sequence[str]) -> None:
    """Prepare what the words describe.

    Raises:
        ConfigError: they do not describe one new run.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)

    from seq2seq.artifacts.trained_model import TrainedModel
    from seq2seq.dataset.prepare import prepare
    from seq2seq.training.composed import composed_if_any

    if (config := composed_if_any(words)) is None:
        return  # after `--help`, `--cfg` and the like
    tokenizer = TrainedModel.read(config.finetune).tokenizer if config.finetune else None
    prepared = prepare(config, tokenizer)
    print(prepared.train.directory)
