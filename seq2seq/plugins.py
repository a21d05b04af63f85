"""Losses, positions and attentions from modules of the user (docs/python.md).

A plugin is a module that puts what it adds into these dicts when it is imported. No plugin is imported because a saved
model names it: that would run code which somebody else has chosen.
"""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from seq2seq.errors import PluginError

# By `optim.loss`, functions that are called, and answer, as `smoothed_cross_entropy` of training/loss.py.
LOSSES: dict[str, Callable[..., Any]] = {}
# By `model.positions`, what takes max_length and d_model and makes a module such as `LearnedPositions` of
# model/positions.py.
POSITIONS: dict[str, Callable[..., Any]] = {}
# By `model.attention`, what takes a `ModelConfig` and makes an `Attend` of model/attention.py.
ATTENTIONS: dict[str, Callable[..., Any]] = {}

VARIABLE = "SEQ2SEQ_PLUGINS"  # names of modules, with commas between them
ENTRY_POINTS = "seq2seq.plugins"  # the group in which installed packages name theirs


def import_plugins(names: Iterable[str]) -> None:
    """
    Raises:
        PluginError: one cannot be imported.
    """
    for name in names:
        try:
            import_module(name)
        except Exception as error:  # whatever the code of the module does
            is_missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
            reason = (
                "is not on Python's path; install it, or add its folder to PYTHONPATH"
                if is_missing
                else f"fails ({type(error).__name__}: {' '.join(str(error).split())}); correct it"
            )
            raise PluginError(f"the plugin {name} {reason}") from error


def import_installed_plugins() -> None:
    """Import the plugins that the environment or an installed package names.

    Raises:
        PluginError: one cannot be imported.
    """
    from importlib.metadata import entry_points  # takes long to import

    import_plugins(filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))))
    import_plugins(entry.module for entry in entry_points(group=ENTRY_POINTS))
