"""`train.py`, with one fault. The variable FAULT has it as JSON: what happens, where, and at which time it comes there.

    ["fill", "last.ckpt", 2]       the disk becomes full when last.ckpt is opened for writing for the second time
    ["limit", "last.ckpt", 2]      that file cannot grow: where no small disk can be mounted
    ["SIGTERM", "validation", 1]   the process is told to stop in the first validation, twice
    ["SIGKILL", "last.ckpt", 1]    it is killed when it is about to write that file
    ["SIGKILL all", "step", 7]     and so are those that it has started
    ["Ctrl-C", "step", 7]          all processes of its terminal are told to stop
    ["orphan", "step", 7]          the process that has started this one is killed, and this one notices it
    ["SIGTERM", "moment", 700]     at the 700th moment: a file that is opened, renamed or removed, a step that is taken

A fourth item is the rank of the process to which it happens, where there are several. A phase in which a signal comes
would last longer than any test waits. The variable FILLER names the file that fills the disk.
"""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hydra._internal.config_loader_impl import ConfigLoaderImpl

from seq2seq.cli import front_door
from seq2seq.sweeps import multirun
from seq2seq.sweeps.job_process import JobProcess
from seq2seq.training import run, validation
from seq2seq.training.module import TranslationModule
from seq2seq.training.validation import Validation
from tests.faults.forked_jobs import fork_jobs
from tests.nightly import IS_NIGHTLY

PHASES: dict[str, tuple[Any, str]] = {
    "composition": (ConfigLoaderImpl, "load_configuration"),
    "preparation": (run, "prepare_together"),
    "step": (TranslationModule, "training_step"),
    "validation": (Validation, "while_training"),
    "decoding": (validation, "translate_store"),
    "selection": (Validation, "of_all"),
    "test": (Validation, "outputs"),
}
LASTS_S = 600


def prepare() -> None:
    """Let the fault happen in this process, or in the jobs of a sweep that are forked from it."""
    what, where, number, *rank = json.loads(os.environ["FAULT"])
    faults = {"fill": fill_disk, "limit": limit_files, "orphan": become_orphan}
    happen: Callable[[], None] = faults.get(what) or partial(tell, what)
    is_here = [int(os.environ.get("RANK", "0"))] == (rank or [0])
    n_times = 0

    def come() -> bool:
        """Whether the fault has happened now."""
        nonlocal n_times
        n_times += 1
        if n_times != number or not is_here:
            return False
        happen()
        return True

    if where == "moment":
        begin_phases_with(come, *PHASES["step"])
        touch_files_with(come)
    elif where in PHASES:
        begin_phases_with(come, *PHASES[where])
    else:
        open_files_with(come, where)
    if not IS_NIGHTLY:
        fork_jobs()
        return
    if "SEQ2SEQ_PARENT" in os.environ:
        os.environ["IS_JOB"] = "1"
    vars(multirun)["JobProcess"] = partial(JobProcess, command=[sys.executable, __file__])


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


def touch_files_with(come: Callable[[], bool]) -> None:
    process = os.getpid()

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove") and os.getpid() == process:  # not in a data worker
            come()

    sys.addaudithook(audit)


def tell(what: str) -> None:
    if what == "Ctrl-C":  # a job of a sweep is in no terminal; the process that started it is
        os.killpg(os.getpgid(os.getppid()) if "IS_JOB" in os.environ else 0, signal.SIGINT)
    elif what == "SIGKILL all":
        os.killpg(0, signal.SIGKILL)
    else:
        try:
            os.kill(os.getpid(), getattr(signal, what))
        finally:  # the first one may raise an exception
            os.kill(os.getpid(), getattr(signal, what))


def become_orphan() -> None:
    hears, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    os.kill(os.getppid(), signal.SIGKILL)
    os.read(hears, 1)  # until a signal has come


def fill_disk() -> None:
    with Path(os.environ["FILLER"]).open("xb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, resource.RLIM_INFINITY))  # seven blank lines are too many


def lift_limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    prepare()
    front_door("train")
