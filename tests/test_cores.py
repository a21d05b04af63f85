import os
from pathlib import Path

import pytest

from seq2seq import cores
from seq2seq.cores import n_cores


@pytest.mark.parametrize(("quota", "n"), [("200000 100000\n", 2), ("150000 100000", 2), ("max 100000", 8), ("", 8)])
def test_a_container_may_have_fewer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, n: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(cores, "_QUOTA", tmp_path / "cpu.max")
    assert n_cores() == 8
    (tmp_path / "cpu.max").write_text(quota)
    assert n_cores() == n


@pytest.mark.parametrize(("quota", "n"), [("250000", 3), ("-1", 8)])
def test_a_container_of_an_older_system_may_have_fewer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, n: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    files = [tmp_path / "cpu.cfs_quota_us", tmp_path / "cpu.cfs_period_us"]
    monkeypatch.setattr(cores, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(cores, "_OLD_QUOTA", files)
    for file, text in zip(files, (quota, "100000"), strict=True):
        file.write_text(f"{text}\n")
    assert n_cores() == n


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert n_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert n_cores() == 64
