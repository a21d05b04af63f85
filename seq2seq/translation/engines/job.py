"""What a worker does at a time, and what comes of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import is_out_of_memory
from seq2seq.translation.engines.protocol import Engine

MISSING = object()


@dataclass(eq=False)
class Job:
    """Some items of a batch, next to each other.

    Attributes:
        future: of the whole batch.
        work: called as `work(engine, items, *args)`; a function of a module, which a forked process finds by its name.
        results: one for each item of the batch, `MISSING` at first.
        begin: the place of the first item among those of the batch.
        is_alone: whether no other worker may be at work meanwhile. So a single item is tried once more that memory did
            not suffice for, or that ended its worker: then the others cannot be the reason.
        is_deadly: whether a process ended with these items. This process shall not.
    """

    future: Future[Any]
    work: Callable[..., list[Any]]
    items: Sequence[Any]
    args: tuple[Any, ...]
    results: list[Any]
    begin: int = 0
    is_alone: bool = False
    is_deadly: bool = False


class Done(NamedTuple):
    """A job came to its end."""

    results: list[Any]  # one for each item


class Failed(NamedTuple):
    """The work raised an error."""

    error: BaseException


class OutOfMemory(NamedTuple):
    """The memory did not suffice for all items of a job at once. The worker lives on."""

    message: str  # of the error, which itself would keep memory in use


class Died(NamedTuple):
    """The worker, a process, has ended."""

    signum: int  # the signal that ended it; 0 if it ended by itself
    was_idle: bool


Outcome = Done | Failed | OutOfMemory | Died


def outcome(engine: Engine, work: Callable[..., list[Any]], items: Sequence[Any], args: tuple[Any, ...]) -> Outcome:
    """Do a job in this thread."""
    try:
        return Done(work(engine, items, *args))
    except BaseException as error:
        if not is_out_of_memory(error):
            return Failed(error)
        message = " ".join(str(error).split())[:200] or type(error).__name__
    give_back_freed_memory()  # now that the error, and what it kept, are gone
    return OutOfMemory(message)
