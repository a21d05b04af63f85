"""What the processes of a run say to each other, without the processes: they are threads with one store."""

import re
import threading
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch.distributed import HashStore  # type: ignore[attr-defined]

from seq2seq.errors import RunError, UserError
from seq2seq.training.ranks import Ranks


def ranks(n: int) -> list[Ranks]:
    store = HashStore()
    return [Ranks(rank, n, store=store) for rank in range(n)]


def begun(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)  # one that waits for ever stops nobody
    thread.start()
    return thread


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
    with pytest.raises(UserError), first.ending_together():
        raise UserError("the disk is full")
    waiting.join(60)
    assert heard == ["the disk is full"]


@pytest.mark.parametrize(
    ("caused", "told"),
    [
        (UserError("the disk is full"), "the disk is full"),
        (KeyError("x"), r"process 1 of this run failed \[KeyError\]"),
    ],
)
def test_of_several_errors_the_first_one_counts(caused: Exception, told: str) -> None:
    first, second = ranks(2)
    with pytest.raises(type(caused)), second.ending_together():
        raise caused
    with pytest.raises(RunError, match=told), first.ending_together():
        raise RuntimeError("of torch, which only sees that somebody is gone")
    assert re.search(told, first.error() or "")


def test_who_is_gone_without_a_word_is_told_of() -> None:
    for each in ranks(2):
        with pytest.raises(RunError, match="another process of this run is gone"), each.ending_together():
            raise RuntimeError("[third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer")
    with pytest.raises(RuntimeError, match="shapes"), ranks(2)[0].ending_together():
        raise RuntimeError("shapes do not fit")


def test_each_process_takes_its_own_gpu_before_it_meets_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all of them would begin on the first GPU of their machine, and keep memory there."""
    done: list[tuple[str, object]] = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: done.append(("takes", number)))
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **_: done.append(("meets by", backend)))
    monkeypatch.setenv("LOCAL_RANK", "1")
    Ranks(rank=5, world_size=6, store=HashStore()).join("cuda")
    assert done == [("takes", 1), ("meets by", "cpu:gloo,cuda:nccl")]
