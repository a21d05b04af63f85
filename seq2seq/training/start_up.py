"""What comes before a run: is every package there, and a quick import of Lightning (benchmarks/start_up.py)."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from seq2seq.config import LoggerConfig
from seq2seq.errors import ConfigError


def check_environment(config: LoggerConfig) -> None:
    """
    Raises:
        ConfigError: the run would need a package that is not installed, or the environment has no mode of W&B.
    """
    if config.wandb:
        from seq2seq.artifacts.wandb_access import wandb_mode  # help and typing errors do not wait for it

        wandb_mode(config)
    if not config.tensorboard:
        return
    try:
        import tensorboard  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            "logger.tensorboard=true needs the package tensorboard; run, in a clone of seq2seq: "
            "pip install -e '.[tensorboard]'"
        ) from error


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import torch, Lightning and what uses them inside this block.

    Imports make hundreds of thousands of objects that stay. Searching them for garbage again and again takes half a
    second, so the block pauses the search, and then keeps these objects out of all later ones.
    """
    if "pytorch_lightning" in sys.modules:  # a later job of a sweep: what the one before left is garbage
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
