"""The lease of a run: a lock on a file in its directory, which one process has as long as it trains there.

The system opens the lock when that process ends, however it ends, so a run that was killed can be resumed at once.
The lock is of POSIX (`lockf`), for two reasons. A process that the holder forks, such as one that assembles batches,
does not inherit it. And NFS knows it between machines, if its lock service runs. Where a file system has no locks,
nobody is refused.
"""

import fcntl
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


class LeaseTakenError(Exception):
    """Another process has the lease; `holder` says which one and where."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def leased(file: Path) -> Iterator[None]:
    """Have the lease in this block. Whoever wants it meanwhile reads in `file` who has it.

    Within one process it keeps nobody out: POSIX gives a process the locks that it has.

    Raises:
        LeaseTakenError: another process has it.
        OSError: the file cannot be made.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(descriptor, file)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_leased(file: Path) -> bool:
    """Whether another process has the lease at this moment. Those who ask at the same time do not hinder each other."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # no locks here
        return False
    finally:
        os.close(descriptor)


def _lock(descriptor: int, file: Path) -> None:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:  # systems differ in how they say that it is taken
        holder = os.read(descriptor, 200).decode(errors="replace").strip()
        raise LeaseTakenError(holder or "another process") from error
    except OSError as error:
        log.warning("%s cannot be locked (%s); nothing here keeps two processes out of one run", file, error.strerror)
    if not file.exists() or not os.path.samestat(os.fstat(descriptor), file.stat()):
        raise LeaseTakenError("another process")  # whoever had the lease has just withdrawn, and removed the file
