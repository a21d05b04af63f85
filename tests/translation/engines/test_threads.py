"""Workers that are threads, by themselves; test_workers.py has what all workers do."""

from types import SimpleNamespace
from typing import Any

from seq2seq.translation.engines.workers.threads import Threads


def test_a_thread_in_which_garbage_is_collected_may_close_its_crew():
    engine: Any = SimpleNamespace(start_worker=lambda: None)
    crew = Threads(engine)
    crew.recruit(1)
    assert crew._pool is not None
    assert crew._pool.submit(crew.close).result(timeout=60) is None
