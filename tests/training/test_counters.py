import os
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.prepare import prepare
from seq2seq.training import metrics as metrics_module
from seq2seq.training.processes import TrainingInterrupted
from tests.training.tiny_runs import SignalAt, checkpoint, tiny_config, train_with


class Clock:
    """A second passes each time that somebody looks."""

    def __init__(self):
        self.now = self.n_looks = 0

    def perf_counter(self):
        self.now += 1
        self.n_looks += 1
        return self.now


def test_an_epoch_in_two_parts_has_the_target_tokens_of_its_text_and_the_hours_of_both(corpus, tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(metrics_module, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    changes = {"trainer.max_epochs": 1, "batch.accumulate": 3, "data.test": None, "decoding.beam_size": 1}
    config = tiny_config(corpus, tmp_path / "run", changes)
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(3))
    first_part = checkpoint(config.run_dir)["callbacks"]["Counters"]["seconds"]
    clock.now += 10**6  # until somebody resumes it
    train_with(config, resume=True)

    train = prepare(config).train
    n_tokens = int(train.tgt_lengths.sum()) + len(train)  # and an eos each
    metrics = RunDirectory(tmp_path / "run").metrics()
    state = checkpoint(config.run_dir)["callbacks"]["Counters"]
    tokens = [each.value for each in metrics if each.name == "progress/tgt_tokens"]
    assert tokens[-1] == state["tgt_tokens"] == n_tokens
    seconds = [3600 * each.value for each in metrics if each.name == "progress/hours"]
    assert 0 < seconds[0] < first_part < seconds[-1] < state["seconds"] < clock.n_looks
    assert seconds[-1] > first_part + 1
    assert sum(state["spent"].values()) < state["seconds"]
    assert min(state["spent"].values()) > 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("stderr", ["a closed pipe", "a full disk"])
def test_progress_that_nobody_can_read_ends_no_run_however_long_it_will_take(corpus, tmp_path, monkeypatch, stderr):
    changes = {"trainer.max_epochs": 0, "trainer.max_steps": 10**18, "trainer.val_every_n_steps": 1}
    config = tiny_config(corpus, tmp_path / "run", changes | {"trainer.progress": True, "data.test": None})
    monkeypatch.setattr(metrics_module, "SECONDS_BETWEEN_LINES", 0)
    reader, writer = os.pipe()
    os.close(reader)
    written = os.fdopen(writer, "w") if stderr == "a closed pipe" else Path("/dev/full").open("w")  # noqa: SIM115
    monkeypatch.setattr(sys, "stderr", written)
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(3))
    with suppress(OSError):
        written.close()


def test_on_a_terminal_no_line_of_progress_is_left_when_a_run_stops(corpus, tmp_path, monkeypatch, capsys):
    changes = {"trainer.max_epochs": 0, "trainer.max_steps": 9, "trainer.progress": True, "data.test": None}
    monkeypatch.setattr(metrics_module, "SECONDS_BETWEEN_UPDATES", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(TrainingInterrupted):
        train_with(tiny_config(corpus, tmp_path / "run", changes), SignalAt(3))
    *shown, last = capsys.readouterr().err.split("\r\x1b[K")
    (line,) = [each for each in shown if each.startswith("epoch 1  step 2/9  loss ")]
    assert line.endswith(" left") and len(line) < 80 and not last
