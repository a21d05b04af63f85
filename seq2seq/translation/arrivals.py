"""Lines that come when they come, from a person or another program, without waiting for the next one."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_MOST_WAITING = 1024  # lines that are read ahead


def arrivals(lines: Iterable[T], tick_s: float) -> Iterator[T | None]:
    """The lines, and None whenever none came for `tick_s` seconds.

    A thread reads them. It may be waiting for a line when the program ends.
    """
    waiting: queue.Queue[T | BaseException | None] = queue.Queue(_MOST_WAITING)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
        except BaseException as error:
            waiting.put(error)
        else:
            waiting.put(None)

    threading.Thread(target=read, name="reader of lines", daemon=True).start()
    while True:
        try:
            line = waiting.get(timeout=tick_s)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        if isinstance(line, BaseException):
            raise line
        yield line
