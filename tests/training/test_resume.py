"""A run that is stopped and continued is the run that was never stopped.

With `SHORT`, an epoch of the small corpus has 5 batches.
"""

import logging
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from seq2seq.artifacts.checkpoint import resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import read_config
from seq2seq.reports.origin import origin
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.processes import TrainingInterrupted
from tests.training.tiny_runs import (
    TIMINGS,
    SignalAt,
    arguments,
    callback_states,
    checkpoint,
    command,
    tiny_config,
    train_here,
    train_in_parts,
    train_with,
)


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


SHORT: dict[str, Any] = {"batch.max_tokens": 600, "decoding.beam_size": 1}

# Each option that draws at random or has a state is in one of them, and most are there together.
VARIANTS: dict[str, tuple[dict[str, Any], list[int]]] = {
    # The first step, the end of an epoch, the end of the run.
    "plain": ({"trainer.max_epochs": 2, "trainer.patience": 3, "trainer.ema_decay": 0.9}, [1, 5, 10]),
    # 7 batches make 3 steps, the last one of a single batch; 4 is before a validation.
    "workers": (
        {
            "batch.n_workers": 1,
            "batch.accumulate": 3,
            "tokenizer.subword_regularization": 0.2,
            "trainer.val_every_n_steps": 4,
            "trainer.max_steps": 6,
            "trainer.max_epochs": 0,
            "trainer.precision": "bf16-mixed",
            "trainer.max_time": "00:01:00:00",
        },
        [4],
    ),
    "mixed": (
        {
            "data.train": [
                {"source": "train", "weight": 0.3, "tag": "a"},
                {"source": "valid", "tag": "b"},
            ],
            "data.valid": {"source": "valid", "tag": "b"},
            "data.temperature": 2.0,
            "data.tag_dropout": 0.4,
            "data.augment.join": 0.3,
            "data.augment.typos": 0.3,
            "data.augment.upper": 0.3,
            "data.augment.emoji": 0.3,
            "tokenizer.vocab_size": 390,
            "tokenizer.subword_regularization": 0.2,
            "optim.schedule": "cosine",
            "optim.optimizer": "muon",
            "optim.weight_decay": 0.1,
            "model.d_encoder": 24,
            "model.embeddings": "decoder",
            "model.bias": True,
            "model.norm_type": "rms",
            "model.n_kv_heads": 1,
            "model.d_value": 10,
            "model.attention": "additive",
            "model.window": 3,
            "trainer.max_rollbacks": 0,
        },
        [5, 9],
    ),
}


def config_of(corpus, run_dir, variant, changes=None):
    return tiny_config(corpus, run_dir, SHORT | VARIANTS[variant][0] | (changes or {}))


@pytest.fixture(scope="module")
def unbroken(corpus, tmp_path_factory):
    """Runs that were never stopped."""
    done = {}

    def run(variant):
        if variant not in done:
            run_dir = tmp_path_factory.mktemp("unbroken") / "run"
            done[variant] = run_dir, train_with(config_of(corpus, run_dir, variant))
        return done[variant]

    return run


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_continued_run_is_an_unbroken_run(corpus, tmp_path, unbroken, variant):
    whole_dir, whole_outcome = unbroken(variant)
    outcome = train_in_parts(config_of(corpus, tmp_path / "run", variant), *(stops := VARIANTS[variant][1]))
    assert outcome == whole_outcome
    whole, parts = checkpoint(whole_dir), checkpoint(tmp_path / "run")
    assert whole["global_step"] > max(stops) - 1
    for key in ("state_dict", "optimizer_states", "global_step", "position", "tokenizer_sha256", "seen"):
        assert plain(parts[key], "") == plain(whole[key], ""), key
    for name, state in callback_states(whole).items():
        assert plain(callback_states(parts)[name], tmp_path / "run") == plain(state, whole_dir), name
    assert metrics(tmp_path / "run") == metrics(whole_dir)
    keys = [(step, name) for step, name, _ in metrics(whole_dir)]
    assert len(set(keys)) == len(keys)
    for file in ("scores.json", "selection.json", "hypotheses/test.en", "references/test.en"):
        assert (tmp_path / "run" / file).read_bytes() == (whole_dir / file).read_bytes()


def test_early_stopping_counts_on(corpus, tmp_path):
    """It stops after two validations without a better loss, wherever the run was interrupted."""
    changes = {"trainer.max_epochs": 50, "trainer.patience": 2, "trainer.monitor": "valid/loss", "optim.lr": 1.0}
    changes |= SHORT | {"batch.max_tokens": 1500, "trainer.valid_sentences": 1, "data.test": None}
    whole = tiny_config(corpus, tmp_path / "whole", changes)
    outcome = train_with(whole)
    n_steps = checkpoint(whole.run_dir)["global_step"]
    found = metrics(whole.run_dir)
    losses = [float(value) for _, name, value in found if name == "valid/loss"]
    assert len(losses) < 50 and losses.index(min(losses)) == len(losses) - 3
    parts = tiny_config(corpus, tmp_path / "parts", changes)
    train_in_parts(parts, n_steps - 1)
    assert metrics(parts.run_dir) == found

    ends = [start["ended"] for start in RunDirectory(Path(parts.run_dir)).provenance()["starts"]]
    best = f"{[row[0] for row in found if row[1] == 'valid/loss'][-3]:,}"
    why = f"after step {n_steps:,}: valid/loss was not better than at step {best} in trainer.patience=2 validations"
    assert ends == [f"after step {n_steps - 1:,}: SIGTERM told it to stop", why]
    for run in (RunDirectory(Path(each.run_dir)) for each in (whole, parts)):
        assert f"; training ended {why}\n" in (run.path / "summary.txt").read_text() and ("ended", why) in origin(run)

    assert train_with(whole, resume=True) == outcome
    assert metrics(whole.run_dir) == found
    whole.trainer.patience, whole.trainer.max_steps = 4, n_steps + 10
    train_with(whole, resume=True)
    more = metrics(whole.run_dir)
    assert [row for row in more if row[0] <= n_steps] == found
    assert len([name for _, name, _ in more if name == "valid/loss"]) == len(losses) + 2


class Crash(pl.Callback):
    """Ends the process's training without any warning."""

    def __init__(self, step):
        self.step = step

    def on_train_batch_end(self, trainer, pl_module, *args):
        if pl_module.n_steps == self.step:
            raise RuntimeError("power cut")


def test_a_checkpoint_is_complete_and_of_plain_types(unbroken):
    run_dir, _ = unbroken("plain")
    names = sorted(path.name for path in (run_dir / "checkpoints").iterdir())
    assert names == [
        "best.ckpt", "good-00000005.ckpt", "last.ckpt", "model.ckpt", "previous.ckpt",
        "recent-00000005.ckpt", "recent-00000010.ckpt",
    ]  # fmt: skip
    for name in names:
        content = checkpoint(run_dir, name)  # with weights_only=True
        assert read_config(content["config"]).run_dir == str(run_dir)
        assert type(content["config"]) is dict
        tokenizer = Tokenizer(bytes(content["tokenizer"].numpy()))
        assert tokenizer.fingerprint == content["tokenizer_sha256"]


def test_a_crash_and_a_damaged_last_checkpoint_cost_only_the_steps_since_the_one_before(corpus, tmp_path, unbroken):
    """What was logged in these steps is dropped."""
    config = config_of(corpus, tmp_path / "run", "plain")
    with pytest.raises(RuntimeError, match="power cut"):
        train_with(config, Crash(8))
    assert max(step for step, *_ in metrics(config.run_dir)) == 7
    assert checkpoint(config.run_dir)["global_step"] == 5
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(9), resume=True)
    (tmp_path / "run/checkpoints/last.ckpt").write_bytes(b"PK")
    assert resumable(RunDirectory(tmp_path / "run")).step == 5
    train_with(config, resume=True)
    assert metrics(config.run_dir) == metrics(unbroken("plain")[0])


def refusal(*words):
    """What train.py says to such words."""
    done = train_here(*words)
    assert done.returncode == 2
    return done.stderr


def test_what_an_earlier_start_kept_of_test_sets_goes(corpus, tmp_path, own_signals):
    run_dir = tmp_path / "run"
    words = arguments(
        corpus, run_dir, {"trainer.max_steps": 1, "decoding.beam_size": 1, "data.test": "{old: test, both: test}"}
    )
    assert train_here(*words).returncode == 0
    run = RunDirectory(run_dir)
    (run_dir / "references/both.en.1").write_text("another\n" * 7)  # as if there had been two references
    assert run.tests() == ["both", "old"] and len(run.references("both")[0]) == 2
    done = train_here(f"resume={run_dir}", "trainer.max_steps=2", "data.test={both: test, new: valid}")
    assert done.returncode == 0, done.stderr
    assert run.tests() == ["both", "new"] == sorted(run.scores())
    assert {len(each) for test in run.tests() for each in run.references(test)} == {1}
    assert not [file for file in run_dir.rglob("*old*") if file.suffix in (".en", ".fr", ".json")]
    assert train_here(f"resume={run_dir}", "trainer.max_steps=1").returncode == 0  # fewer steps than are done
    assert checkpoint(run_dir)["global_step"] == 2


def test_the_command_that_resumes(corpus, tmp_path, own_signals, caplog):
    """`train.py resume=RUN` takes everything from the checkpoint but what may change; a job script has `resume=auto`.

    Its process draws the same segmentations, although its hashes are others.
    """
    caplog.set_level(logging.INFO)
    run_dir, changes = tmp_path / "run", SHORT | {"tokenizer.subword_regularization": 0.2, "data.test": ""}
    words = [*arguments(corpus, run_dir, changes), "resume=auto"]
    for n_steps in (3, 5):
        assert train_here(*words, f"trainer.max_steps={n_steps}").returncode == 0
        content = checkpoint(run_dir)
        assert (content["global_step"], content["config"]["resume"]) == (n_steps, "")
    assert "trainer.max_steps: 5 from here on, 3 before" in caplog.text
    assert "error: model.dropout cannot change when a run is resumed" in refusal(*words, "model.dropout=0.5")
    assert "error: resume= names no run; " in refusal("resume=")
    assert "a resumed run stays in its directory; resume a copy" in refusal(f"resume={run_dir}", "run_dir=elsewhere")
    # An unquoted YAML 1.1 reader takes 10:00:00:00 for a number in base 60.
    done = command(f"resume={run_dir}", "trainer.max_steps=14", "trainer.max_time=10:00:00:00")
    assert done.returncode == 0, done.stderr
    content = checkpoint(run_dir)
    assert (content["global_step"], content["config"]["trainer"]["max_time"]) == (14, "10:00:00:00")
    train_with(tiny_config(corpus, tmp_path / "whole", changes | {"data.test": None, "trainer.max_steps": 14}))
    assert plain(content["state_dict"], "") == plain(checkpoint(tmp_path / "whole")["state_dict"], "")
    assert metrics(run_dir) == metrics(tmp_path / "whole")
