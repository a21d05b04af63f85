"""What the processes of a run say to each other, without the processes: they are threads with one store."""

import threading
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch.distributed import HashStore  # type: ignore[attr-defined]

from seq2seq.errors import RunError
from seq2seq.training.ranks import Job, OwnProcesses, Ranks


def ranks(n: int) -> list[Ranks]:
    store = HashStore()
    return [Ranks(rank, n, store=store) for rank in range(n)]


def begun(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)  # one that waits for ever stops nobody
    thread.start()
    return thread


def test_a_word_belongs_to_its_job() -> None:
    first, second = ranks(2)
    for number in range(2):
        first.tell_job(Job({"seed": number}, f"run {number}", None))
        first.tell("prepared", str(number).encode())
    first.tell_job(None)
    for number in range(2):
        assert second.hear_job() == Job({"seed": number}, f"run {number}", None)
        assert second.hear("prepared") == str(number).encode()
    assert second.hear_job() is None


def test_whoever_comes_to_a_meeting_waits_for_the_last_one() -> None:
    first, second, third = ranks(3)
    waiting = [begun(lambda: first.meet("here")), begun(lambda: second.meet("here"))]
    for thread in waiting:
        thread.join(0.05)
        assert thread.is_alive()
    third.meet("here")
    for thread in waiting:
        thread.join(60)
        assert not thread.is_alive()


def test_whoever_waits_hears_why_the_run_ends() -> None:
    first, second = ranks(2)
    heard: list[str] = []

    def wait() -> None:
        with pytest.raises(RunError) as caught:
            second.hear("prepared")
        heard.append(str(caught.value))

    waiting = begun(wait)
    assert second.error() is None
    first.fail("the disk is full")
    waiting.join(60)
    assert heard == ["the disk is full"]


def test_of_several_errors_the_first_one_counts() -> None:
    first, second = ranks(2)
    second.fail("the disk is full")
    first.fail("somebody is gone")
    assert first.error() == second.error() == "the disk is full"


def test_each_process_takes_its_own_gpu_before_it_meets_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all of them would begin on the first GPU of their machine, and keep memory there."""
    done: list[tuple[str, object]] = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: done.append(("takes", number)))
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **_: done.append(("meets by", backend)))
    Ranks(rank=5, world_size=6, environment=OwnProcesses(local_rank=1), store=HashStore()).join("cuda")
    assert done == [("takes", 1), ("meets by", "cpu:gloo,cuda:nccl")]
