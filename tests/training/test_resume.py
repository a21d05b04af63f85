"""A run that is stopped and continued is the run that was never stopped.

An epoch of the small corpus has 15 batches, of which the numbers of the steps here are thirds and multiples.
"""

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

import seq2seq
from seq2seq.artifacts.checkpoint import resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import read_config
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.stop_signals import STOP_SIGNALS, TrainingInterrupted
from tests.training.tiny_runs import (
    TIMINGS,
    SignalAt,
    arguments,
    callback_states,
    checkpoint,
    command,
    tiny_config,
    train_in_parts,
    train_with,
)

pytestmark = pytest.mark.slow


def metrics(run_dir):
    rows = [each for each in RunDirectory(Path(run_dir)).metrics() if each.name not in TIMINGS]
    return sorted((each.step, each.name, each.value) for each in rows)  # a validation may be made up for later


def plain(value, run_dir):
    """A state in a form that == compares bit by bit, without the paths of its run."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {
            plain(key, run_dir): plain(item, run_dir)
            for key, item in value.items()
            if key != "current_score"  # of the latest validation; only told, never used
        }
    if isinstance(value, (list, tuple)):
        return [plain(item, run_dir) for item in value]
    return value.replace(str(run_dir), "RUN") if isinstance(value, str) else value


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"trainer.max_epochs": 3, "trainer.patience": 3, "trainer.ema_decay": 0.9},
    "accumulate": {"batch.accumulate": 4, "trainer.max_epochs": 4, "batch.max_tokens": 100},
    "sampling": {"tokenizer.subword_regularization": 0.2, "trainer.val_every_n_steps": 6, "trainer.max_epochs": 2},
    "workers": {"batch.n_workers": 2, "trainer.max_steps": 25, "trainer.max_epochs": 0},
    "temperature": {"data.train": ["train", "valid"], "data.temperature": 4.0, "batch.max_tokens": 220},
    "disguises": {
        "data.train": [{"source": "train", "tag": "a"}, {"source": "valid", "tag": "b"}],
        "data.valid": {"source": "valid", "tag": "b"},
        "data.temperature": 2.0,
        "data.augment.join": 0.3,
        "data.augment.typos": 0.3,
        "data.augment.upper": 0.3,
        "data.augment.emoji": 0.3,
        "tokenizer.vocab_size": 390,
        "tokenizer.subword_regularization": 0.2,
    },
    # 9 batches in each of two epochs, then 20 in each of two: the first stage ends at step 18.
    "stages": {
        "data.train": [{"source": "train", "weight": 0.4}, {"source": "valid", "tag": "b", "name": "few"}],
        "data.stages": [{"until_epoch": 2}, {"weights": {"train": 1.0, "few": 2.5}}],
        "data.valid": {"source": "valid", "tag": "b"},
        "data.augment.join": 0.3,
        "data.augment.typos": 0.3,
        "tokenizer.subword_regularization": 0.2,
        "batch.max_tokens": 320,
        "optim.schedule": "cosine",
        "trainer.max_epochs": 4,
        "trainer.max_rollbacks": 0,
    },
    "tags": {
        "data.train": [{"source": "train", "tag": "a"}, {"source": "valid", "tag": "b"}],
        "data.valid": {"source": "valid", "tag": "b"},
        "data.tag_dropout": 0.4,
        "tokenizer.subword_regularization": 0.2,
    },
    "bf16": {"trainer.precision": "bf16-mixed", "trainer.max_time": "00:01:00:00"},
    "widths": {"model.d_encoder": 24, "model.embeddings": "decoder", "model.bias": True, "model.norm_type": "rms"},
    "muon": {
        "optim.optimizer": "muon",
        "optim.weight_decay": 0.1,
        "model.n_kv_heads": 1,
        "model.d_value": 10,
        "model.attention": "additive",
        "model.window": 3,
    },
}


@pytest.fixture(scope="module")
def unbroken(corpus, tmp_path_factory):
    """Runs that were never stopped, and their steps in an epoch."""
    done = {}

    def run(variant):
        if variant not in done:
            run_dir = tmp_path_factory.mktemp("unbroken") / "run"
            done[variant] = run_dir, train_with(tiny_config(corpus, run_dir, VARIANTS[variant]))
        return done[variant]

    return run


@pytest.mark.parametrize(
    ("variant", "stops"),
    [
        ("plain", [17]),
        ("plain", [15]),  # the end of an epoch
        ("plain", [1, 30, 31, 44]),
        ("plain", [45]),  # the end of the run
        ("accumulate", [3, 9]),
        ("sampling", [6, 20]),  # 6: before a validation within an epoch
        ("workers", [15, 22]),
        ("temperature", [7, 22]),
        ("stages", [5, 18, 31, 38]),
        ("tags", [9, 20]),
        ("disguises", [9, 40]),
        ("bf16", [11]),
        ("widths", [11]),
        ("muon", [11]),
    ],
)
def test_a_continued_run_is_an_unbroken_run(corpus, tmp_path, unbroken, variant, stops):
    whole_dir, whole_outcome = unbroken(variant)
    outcome = train_in_parts(tiny_config(corpus, tmp_path / "run", VARIANTS[variant]), *stops)
    assert outcome == whole_outcome
    whole, parts = checkpoint(whole_dir), checkpoint(tmp_path / "run")
    assert whole["global_step"] > max(stops) - 1
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch", "tokenizer_sha256", "seen"):
        assert plain(parts[key], "") == plain(whole[key], ""), key
    for name, state in callback_states(whole).items():
        assert plain(callback_states(parts)[name], tmp_path / "run") == plain(state, whole_dir), name
    assert metrics(tmp_path / "run") == metrics(whole_dir)
    keys = [(step, name) for step, name, _ in metrics(whole_dir)]
    assert len(set(keys)) == len(keys)
    for file in ("scores.json", "selection.json", "hypotheses/test.en", "references/test.en"):
        assert (tmp_path / "run" / file).read_bytes() == (whole_dir / file).read_bytes()


def test_segmentations_are_drawn_alike_in_every_process(corpus, tmp_path):
    """The parts of a run are two processes; the unbroken run is a third one."""
    for name, n_steps in (("parts", 7), ("whole", 33)):
        changes = VARIANTS["sampling"] | {"trainer.max_steps": n_steps, "trainer.max_epochs": 0}
        done = command(*arguments(corpus, tmp_path / name, changes))
        assert done.returncode == 0, done.stderr
    done = command(f"resume={tmp_path / 'parts'}", "trainer.max_steps=33", env={"PYTHONHASHSEED": "2"}, is_fresh=True)
    assert done.returncode == 0, done.stderr
    parts, whole = checkpoint(tmp_path / "parts"), checkpoint(tmp_path / "whole")
    assert parts["global_step"] == whole["global_step"] == 33 and whole["epoch"] >= 1
    assert plain(parts["state_dict"], "") == plain(whole["state_dict"], "")
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")


def test_early_stopping_counts_on(corpus, tmp_path):
    """It stops after two validations without a better loss, wherever the run was interrupted."""
    changes = {"trainer.max_epochs": 50, "trainer.patience": 2, "trainer.monitor": "valid/loss", "optim.lr": 0.5}
    whole = tiny_config(corpus, tmp_path / "whole", changes)
    train_with(whole)
    n_steps = checkpoint(whole.run_dir)["global_step"]
    losses = [float(value) for _, name, value in metrics(whole.run_dir) if name == "valid/loss"]
    assert len(losses) < 50 and losses.index(min(losses)) == len(losses) - 3
    parts = tiny_config(corpus, tmp_path / "parts", changes)
    train_in_parts(parts, n_steps - 15, n_steps - 4)
    assert metrics(parts.run_dir) == metrics(whole.run_dir)


class Crash(pl.Callback):
    """Ends the process's training without any warning."""

    def __init__(self, step):
        self.step = step

    def on_train_batch_end(self, trainer, *args):
        if trainer.global_step == self.step:
            raise RuntimeError("power cut")


def test_what_a_crashed_run_logged_after_its_last_checkpoint_is_dropped(corpus, tmp_path, unbroken):
    config = tiny_config(corpus, tmp_path / "run", VARIANTS["plain"])
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Crash(21))
    assert max(step for step, *_ in metrics(config.run_dir)) == 19
    assert checkpoint(config.run_dir)["global_step"] == 15
    train_with(config, resume=True)
    assert metrics(config.run_dir) == metrics(unbroken("plain")[0])


def test_a_finished_run_goes_on_with_more_epochs(corpus, tmp_path, unbroken):
    changes = VARIANTS["plain"] | {"trainer.max_epochs": 2}
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    train_with(tiny_config(corpus, tmp_path / "run", VARIANTS["plain"]), resume=True)
    assert metrics(tmp_path / "run") == metrics(unbroken("plain")[0])


@pytest.mark.parametrize("ends", ["max_steps", "max_epochs"])
def test_a_run_that_ends_between_validations_can_go_on(corpus, tmp_path, unbroken, ends):
    short = {"trainer.val_every_n_steps": 11, "trainer.max_epochs": 1}
    if ends == "max_steps":
        short |= {"trainer.max_steps": 8}
    train_with(tiny_config(corpus, tmp_path / "parts", short))
    assert checkpoint(tmp_path / "parts")["global_step"] == (8 if ends == "max_steps" else 15)
    for name, resume in (("parts", True), ("whole", False)):
        long = {"trainer.val_every_n_steps": 11, "trainer.max_epochs": 2}
        train_with(tiny_config(corpus, tmp_path / name, long), resume=resume)
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")


def test_resuming_a_finished_run_only_tests_it_again(corpus, tmp_path, unbroken):
    run_dir, outcome = unbroken("plain")
    shutil.copytree(run_dir, tmp_path / "run")
    before = metrics(run_dir)
    assert train_with(tiny_config(corpus, tmp_path / "run", VARIANTS["plain"]), resume=True) == outcome
    assert metrics(tmp_path / "run") == before


def test_a_checkpoint_is_complete_and_of_plain_types(unbroken):
    run_dir, _ = unbroken("plain")
    names = sorted(path.name for path in (run_dir / "checkpoints").iterdir())
    assert [name for name in names if not name.startswith("recent-")] == [
        "best.ckpt", "good-00000015.ckpt", "last.ckpt", "model.ckpt", "previous.ckpt",
    ]  # fmt: skip
    assert [name for name in names if name.startswith("recent-")] == ["recent-00000030.ckpt", "recent-00000045.ckpt"]
    for name in names:
        content = checkpoint(run_dir, name)  # with weights_only=True
        assert read_config(content["config"]).run_dir == str(run_dir)
        assert type(content["config"]) is dict
        tokenizer = Tokenizer.from_bytes(bytes(content["tokenizer"].numpy()))
        assert tokenizer.fingerprint == content["tokenizer_sha256"]
    last = checkpoint(run_dir)
    ema = last["callbacks"]["ExponentialAverage"]
    assert ema["n_updates"] == 45 and ema["weights"].keys() == {
        name.removeprefix("model.") for name in last["state_dict"]
    }
    assert last["optimizer_states"][0]["state"] and last["lr_schedulers"]
    assert last["position"] == {"epoch": 2, "done": 15, "of": 15, "world_size": 1, "planned_for": 1}


def test_tags_travel_with_every_checkpoint(unbroken):
    run_dir, _ = unbroken("tags")
    for path in (run_dir / "checkpoints").iterdir():
        tokenizer = Tokenizer.from_bytes(bytes(checkpoint(run_dir, path.name)["tokenizer"].numpy()))
        assert tokenizer.tags == {"a": 4, "b": 5}
    translator = seq2seq.load(run_dir, device="cpu", threads=1)
    assert translator.translate(["ba bi"], tag="a")[0].hypotheses != translator.translate(["ba bi"])[0].hypotheses


def test_a_damaged_last_checkpoint_costs_only_the_steps_since_the_one_before(corpus, tmp_path, unbroken):
    config = tiny_config(corpus, tmp_path / "run", VARIANTS["plain"])
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(20))
    (tmp_path / "run/checkpoints/last.ckpt").write_bytes(b"PK")
    assert resumable(RunDirectory(tmp_path / "run")).step == 15
    train_with(config, resume=True)
    assert metrics(config.run_dir) == metrics(unbroken("plain")[0])


def test_the_command_that_resumes(corpus, tmp_path, unbroken):
    """`train.py resume=RUN` takes everything from the checkpoint but what may change."""
    run_dir = tmp_path / "run"
    config = tiny_config(corpus, run_dir, {"trainer.max_epochs": 1})
    train_with(config)
    refused = command(f"resume={run_dir}", "model.dropout=0.5", "trainer.max_epochs=2")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: model.dropout cannot change when a run is resumed, since it decides what ")
    missing = command(f"resume={tmp_path / 'elsewhere'}")
    assert missing.returncode == 2 and missing.stderr.startswith(f"error: {tmp_path / 'elsewhere'}: nothing to resume")
    unnamed = command("resume=")
    assert unnamed.returncode == 2 and unnamed.stderr.startswith("error: resume= names no run; ")
    # An unquoted YAML 1.1 reader takes 10:00:00:00 for a number in base 60.
    done = command(f"resume={run_dir}", "trainer.max_epochs=2", "trainer.max_time=10:00:00:00")
    assert done.returncode == 0, done.stderr
    content = checkpoint(run_dir)
    assert (content["global_step"], content["config"]["trainer"]["max_time"]) == (30, "10:00:00:00")
    whole = tiny_config(corpus, tmp_path / "whole", {"trainer.max_epochs": 2})
    train_with(whole)
    assert metrics(run_dir) == metrics(whole.run_dir)


def test_a_job_script_gives_the_same_command_each_time(corpus, tmp_path):
    words = [*arguments(corpus, tmp_path / "run", {"trainer.max_epochs": 1}), "resume=auto"]
    for _ in range(2):  # the second one only tests again
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert checkpoint(tmp_path / "run")["global_step"] == 15
    done = command(*words, "trainer.max_epochs=2")
    assert done.returncode == 0 and "trainer.max_epochs: 2 from here on, 1 before" in done.stderr
    content = checkpoint(tmp_path / "run")
    assert (content["global_step"], content["config"]["resume"]) == (30, "")
    refused = command(*words, "model.dropout=0.5")
    assert refused.returncode == 2
    assert "error: model.dropout cannot change when a run is resumed, since it decides what is comp" in refused.stderr
    nowhere = command(*[word for word in words if not word.startswith("run_dir=")])
    assert nowhere.returncode == 2 and "resume=auto needs a directory that is the same at each" in nowhere.stderr


def test_a_signal_during_the_last_step_still_stops(corpus, tmp_path):
    """The tests of a run can take long; whoever stops it does not wait for them."""
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 1, "trainer.val_every_n_steps": 400})
    outcome = train_in_parts(config, 15)
    assert outcome.selected == "last (step 15)"


def test_no_signal_handler_stays_behind(corpus, tmp_path):
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and before.count(signal.SIG_DFL) == 3
    train_in_parts(tiny_config(corpus, tmp_path / "run", {"trainer.max_steps": 4}), 2)
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before
