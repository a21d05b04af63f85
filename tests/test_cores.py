import os

import pytest

from seq2seq.cores import n_cores


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert n_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert n_cores() == 64
