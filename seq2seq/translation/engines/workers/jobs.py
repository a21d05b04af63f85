"""What passes between the supervisor and its workers, whether they are processes or threads."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import is_out_of_memory
from seq2seq.translation.engines.protocol import Engine


@dataclass(eq=False)
class Job:
    """Some items of one task, next to each other: what one worker does at a time.

    Attributes:
        key: of the task that it belongs to.
        work: called as `work(engine, items, *args)`; a function of a module, which a forked process finds by its name.
        begin: the place of the first item among those of the task.
        is_alone: whether no other worker may be at work meanwhile. So a single item is tried once more that memory did
            not suffice for, or that ended its worker: then the others cannot be the reason.
    """

    key: object
    work: Callable[..., list[Any]]
    items: list[Any]
    args: tuple[Any, ...]
    begin: int = 0
    is_alone: bool = False


class Done(NamedTuple):
    """A job came to its end."""

    job: Job
    results: list[Any]  # one for each item


class Failed(NamedTuple):
    """The work raised an error."""

    job: Job
    error: BaseException


class OutOfMemory(NamedTuple):
    """The memory did not suffice for all items of a job at once. The worker lives on."""

    job: Job
    message: str  # of the error, which itself would keep memory in use


class Died(NamedTuple):
    """A worker process has ended."""

    job: Job | None  # which it was doing
    signum: int  # the signal that ended it; 0 if it ended by itself


Outcome = Done | Failed | OutOfMemory | Died


class Crew(Protocol):
    """Workers of one form. One thread at a time calls these methods."""

    @property
    def n_workers(self) -> int:
        """Workers that live, as far as is known."""

    @property
    def n_idle(self) -> int:
        """Those of them that have no job."""

    def recruit(self, n_workers: int) -> bool:
        """Start workers until there are so many, or as many as possible. Returns whether there is any."""

    def give(self, job: Job) -> None:
        """Let an idle worker do a job; there must be one."""

    def wait(self, timeout_s: float) -> list[Outcome]:
        """What has happened; if nothing has, wait for so many seconds at most."""

    def drop(self, keys: Container[object]) -> None:
        """Stop the jobs of these tasks, or let them end unnoticed."""

    def close(self) -> None:
        """End all workers. It may be called more than once."""


def outcome(engine: Engine, job: Job) -> Done | Failed | OutOfMemory:
    """Do a job in this thread."""
    try:
        return Done(job, job.work(engine, job.items, *job.args))
    except BaseException as error:
        if not is_out_of_memory(error):
            return Failed(job, error)
        message = " ".join(str(error).split())[:200] or type(error).__name__
    give_back_freed_memory()  # now that the error, and what it kept, are gone
    return OutOfMemory(job, message)
