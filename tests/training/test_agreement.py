"""All processes of a run stop and save at the same step, whichever of them is told to."""

import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from seq2seq.training.milestones import SAVE_EVERY_S, STEPS_BETWEEN_AGREEMENTS, Milestones
from seq2seq.training.module import TranslationModule
from seq2seq.training.processes import StopSignals, TrainingInterrupted
from tests.training.two_ranks import in_two_processes, needs_gloo

pytestmark = needs_gloo


@pytest.mark.parametrize("told", [0, 1])
def test_what_one_process_is_told_all_do_at_the_same_step(tmp_path: Path, told: int) -> None:
    """The other one finds that its last save is old."""

    def decisions(rank: int) -> list[Any]:
        milestones = Milestones.__new__(Milestones)  # without a run: only its signals and its last save count here
        milestones.signals, milestones.stopping, milestones.saved_at = StopSignals(), 0, time.monotonic()
        if rank == told:
            milestones.signals.received = signal.SIGTERM
        else:
            milestones.saved_at -= SAVE_EVERY_S + 1
        strategy = SimpleNamespace(root_device=torch.device("cpu"))
        steps = (STEPS_BETWEEN_AGREEMENTS - 1, STEPS_BETWEEN_AGREEMENTS)
        trainer: Any = SimpleNamespace(world_size=2, strategy=strategy, is_global_zero=False)
        agreed = [milestones._agree(trainer, step) for step in steps]
        with pytest.raises(TrainingInterrupted) as at_end:  # as if the training had ended before they could agree
            milestones.on_train_end(trainer, TranslationModule.__new__(TranslationModule))
        return [*agreed, at_end.value.signum]

    assert in_two_processes(decisions, tmp_path) == [[(0, False), (signal.SIGTERM, True), signal.SIGTERM]] * 2
