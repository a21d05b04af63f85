"""`train.py`, with one fault. The variable FAULT has it as JSON: what happens, where, and at which time it comes there.

    ["fill", "last.ckpt", 2]         the disk becomes full when last.ckpt is opened for writing for the second time
    ["limit", "last.ckpt", 2]        that file cannot grow: where no small disk can be mounted
    ["SIGTERM", "validation", 1]     the process is told to stop in the first validation, and told again a little later
    ["SIGTERM", "last.ckpt", 1]      the same, while that file is written
    ["SIGTERM", "milliseconds", 700] the same, after that time

A phase in which a signal comes would last a minute. The variable FILLER names the file that fills the disk.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hydra._internal.config_loader_impl import ConfigLoaderImpl

from seq2seq.cli import front_door
from seq2seq.training import run, validation
from seq2seq.training.module import TranslationModule
from seq2seq.training.validation import Validation

PHASES: dict[str, tuple[Any, str]] = {
    "composition": (ConfigLoaderImpl, "load_configuration"),
    "preparation": (run, "prepare_together"),
    "first step": (TranslationModule, "training_step"),
    "validation": (Validation, "while_training"),
    "decoding": (validation, "translate_store"),
    "selection": (Validation, "of_all"),
    "test": (Validation, "outputs"),
}
AGAIN_AFTER_S = 0.1
LASTS_S = 60


def main() -> None:
    what, where, number = json.loads(os.environ["FAULT"])
    happen: Callable[[], None] = {"fill": fill_disk, "limit": limit_files}.get(what) or (lambda: tell(what))
    moments = iter(range(1, 10_000))

    def come() -> bool:
        """Whether the fault has happened now."""
        if next(moments) != number:
            return False
        happen()
        return True

    if where == "milliseconds":
        timer = threading.Timer(number / 1000, happen)
        timer.daemon = True
        timer.start()
    elif where in PHASES:
        begin_phases_with(come, *PHASES[where])
    else:
        open_files_with(come, where)
    front_door("train")


def begin_phases_with(come: Callable[[], bool], owner: Any, name: str) -> None:
    work = getattr(owner, name)

    @wraps(work)
    def faulty(*args: Any, **options: Any) -> Any:
        if owner is ConfigLoaderImpl:
            with suppress(SystemExit):  # as an exception in a callback of C is lost
                come()
        elif come() and name != "training_step":  # a step is brought to its end
            time.sleep(LASTS_S)
        return work(*args, **options)

    setattr(owner, name, faulty)


def open_files_with(come: Callable[[], bool], name: str) -> None:
    """Files are written under their own name, or under `.NAME.*.tmp`."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.remove", "os.truncate"):  # what was written goes again
            lift_limit()
        if event != "open" or not isinstance(args[0], str) or not isinstance(args[1], str):
            return
        if args[1][0] in "wa" and Path(args[0]).name.removeprefix(".").startswith(name):
            come()

    sys.addaudithook(audit)


def tell(name: str) -> None:
    def kill() -> None:
        os.kill(os.getpid(), getattr(signal, name))

    kill()
    again = threading.Timer(AGAIN_AFTER_S, kill)
    again.daemon = True
    again.start()


def fill_disk() -> None:
    with Path(os.environ["FILLER"]).open("xb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))


def lift_limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
