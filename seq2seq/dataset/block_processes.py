"""Processes that make blocks for another one:  python -m seq2seq.dataset.block_processes

The command is for `make_blocks`, which starts it. A process gets its work through stdin, and ends when nobody holds the
other end any more. So none outlives the one that started it, however that ends.
"""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from seq2seq.dataset.block_work import BlockWork
from seq2seq.errors import CorpusError, UserError
from seq2seq.exit_status import progress, signals_held_back, tell_at_end
from seq2seq.memory import offer_to_be_killed_first

_LOOK_S = 0.1  # from one look at the processes to the next one
_SHOW_S = 1.0
_LOG_S = 10.0  # where there is no terminal
# A process met an error that everybody meets who makes the same block, so it need not say which.
_ERROR_OF_BLOCK = 3
_PACKAGE = Path(__file__).resolve().parents[2]

Processes = Sequence["subprocess.Popen[bytes]"]
logger = logging.getLogger(__name__)


def make_blocks(work: BlockWork, n_processes: int) -> None:
    """Make the blocks that nobody has made or is making. If one cannot be made, others may be missing too.

    Args:
        n_processes: how many work at once; 1: this one.
    Raises:
        CorpusError: a process was killed, or see `BlockWork.make_free_blocks`.
    """
    work.directory.mkdir(parents=True, exist_ok=True)
    n_before = work.n_done
    if n_before:
        logger.info("%s of %s blocks are there already", f"{n_before:,}", f"{work.n_blocks:,}")
    n_processes = min(n_processes, work.n_blocks - n_before)
    try:
        with _showing(work) as show:
            if n_processes <= 1:
                work.make_free_blocks(show)
            else:
                _make_in_processes(work, n_processes, show)
    except (KeyboardInterrupt, SystemExit) as stop:
        n_done = f"{work.n_done:,} of {work.n_blocks:,} blocks"
        tell_at_end(stop, f"{n_done} of prepared text stay in {work.directory}; the same command goes on from there")
        raise


def _make_in_processes(work: BlockWork, n: int, show: Callable[[], None]) -> None:
    data = pickle.dumps(work)
    children: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(n):
            children.append(_start())
        for child in children:
            assert child.stdin is not None
            with suppress(BrokenPipeError):  # it is dead, which `_all_are_done` will notice
                child.stdin.write(data)
                child.stdin.flush()
        while not _all_are_done(children):
            show()
            time.sleep(_LOOK_S)
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()
            with suppress(BrokenPipeError):
                child.stdin.close()  # type: ignore[union-attr]


def _start() -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "seq2seq.dataset.block_processes"]
    env = os.environ | {"PYTHONPATH": path}
    with signals_held_back():  # for ever: it ends with this process
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)


def _all_are_done(children: Processes) -> bool:
    """Whether nothing is left to wait for: all came to their end, or one met an error that joining will meet too.

    Raises:
        CorpusError: one was killed, or failed.
    """
    statuses = [child.poll() for child in children]
    for status in filter(None, statuses):
        if status == _ERROR_OF_BLOCK:
            return True
        if status < 0:
            raise CorpusError(
                f"a process that prepares text was killed ({signal.Signals(-status).name}), most likely because memory "
                "ran out; set data.n_workers to fewer, and start again: what is done stays"
            )
        raise CorpusError(
            f"a process that prepares text ended with status {status}; its message stands above, and what is done stays"
        )
    return None not in statuses


@contextmanager
def _showing(work: BlockWork) -> Iterator[Callable[[], None]]:
    """What tells how far all processes are, those of other machines too: on a terminal, or else in the log."""
    begin, n_before = time.monotonic(), work.n_done
    is_terminal = sys.stderr.isatty()
    next_s = begin + (_SHOW_S if is_terminal else _LOG_S)
    with progress() as tell:

        def show() -> None:
            nonlocal next_s
            if (now := time.monotonic()) < next_s:
                return
            next_s = now + (_SHOW_S if is_terminal else _LOG_S)
            message = _progress_line(work.n_done, n_before, work, now - begin)
            if is_terminal:
                tell(message)
            else:
                logger.info("%s", message)

        yield show


def _progress_line(n_done: int, n_before: int, work: BlockWork, seconds: float) -> str:
    """
    Args:
        n_done, n_before: blocks that are there now, and were before these seconds.
    """
    n_pairs = min(n_done * work.n_pairs // work.n_blocks, work.n_pairs)
    rate = (n_done - n_before) * work.n_pairs / work.n_blocks / seconds
    line = f"encoded {n_pairs:,} of {work.n_pairs:,} pairs"
    if not rate:
        return line
    left_s = (work.n_pairs - n_pairs) / rate
    left = f"{left_s / 60:.0f} minutes" if left_s >= 90 else f"{left_s:.0f} seconds"
    return f"{line}, {rate:,.0f} a second, {left} left"


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows cannot hold it back
    work: BlockWork = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    offer_to_be_killed_first()
    try:
        work.make_free_blocks()
    except (UserError, OSError):
        sys.exit(_ERROR_OF_BLOCK)


def _end_with_parent() -> None:
    """Wait until nobody can write to stdin any more, and end at once: a block that is not done is not there."""
    os.read(0, 1)  # not `sys.stdin`, whose lock would hinder the end of Python
    os._exit(1)


if __name__ == "__main__":
    _main()
