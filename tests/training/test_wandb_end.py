"""A run of W&B ends within its time, whatever W&B does."""

import threading

import pytest

from seq2seq.training import wandb_end


class Service:
    """Stands for the process that serves W&B, whose end lets everybody go who waits for it."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()
        self._connection = self._proc = self._process = self

    def kill(self) -> None:
        self.has_ended.set()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    import wandb

    found = Service()
    monkeypatch.setattr(wandb, "setup", lambda: found)
    return found


@pytest.mark.slow
def test_an_end_that_does_not_come_is_an_error_and_holds_nobody_up(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    monkeypatch.setattr(wandb, "finish", lambda exit_code: service.has_ended.wait())
    monkeypatch.setattr(wandb_end, "GRACE_S", 0.25)
    with pytest.raises(TimeoutError, match="its end took more than 1 seconds"):
        wandb_end.finish_within(0.5, exit_code=0)
    assert service.has_ended.is_set()


def test_a_failure_is_told_and_an_end_that_comes_kills_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    codes = []

    def finish(exit_code: int) -> None:
        codes.append(exit_code)
        if exit_code:
            raise OSError("no route to host")

    monkeypatch.setattr(wandb, "finish", finish)
    wandb_end.finish_within(60, exit_code=0)
    with pytest.raises(OSError, match="no route to host"):
        wandb_end.finish_within(60, exit_code=1)
    assert codes == [0, 1] and not service.has_ended.is_set()
