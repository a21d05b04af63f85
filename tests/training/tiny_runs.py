"""Runs of a few seconds: a model of a few thousand weights that learns to write sentences backwards."""

import os
import random
import signal
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf

from seq2seq.artifacts.checkpoint import resumable
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import front_door
from seq2seq.config import RunConfig, read_config
from seq2seq.training.processes import TrainingInterrupted
from seq2seq.training.run import train
from seq2seq.training.selection import Outcome
from tests import processes
from tests.places import ROOT
from tests.translating import sentences

WORDS = [consonant + vowel for consonant in "bdfgkl" for vowel in "aeio"] + ["ma"]

TINY = {
    "data.name": "reversing",
    "tokenizer.vocab_size": 300,
    "data.max_sentence_tokens": 64,
    "batch.max_tokens": 160,
    "model.d_model": 16,
    "model.n_heads": 2,
    "model.d_ff": 24,
    "model.n_encoder_layers": 1,
    "model.n_decoder_layers": 1,
    "optim.lr": 5e-3,
    "optim.warmup_steps": 5,
    "trainer.accelerator": "cpu",
    "trainer.precision": "32-true",
    "trainer.threads": 1,
    "trainer.max_epochs": 2,
    "trainer.average_last": 2,
    "trainer.log_every_n_steps": 1,
    "trainer.progress": False,
    "decoding.beam_size": 2,
    "logger.wandb": False,
}

# A run that can learn what `trained_run` knows, in some seconds.
STUDENT = TINY | {
    "tokenizer.vocab_size": 340,
    "model.d_model": 32,
    "model.n_heads": 4,
    "model.d_ff": 64,
    "model.dropout": 0.0,
    "batch.max_tokens": 400,
    "optim.schedule": "cosine",
    "optim.lr": 1e-2,
    "optim.warmup_steps": 20,
    "trainer.max_epochs": 30,
    "trainer.val_every_n_steps": 200,
    "trainer.average_last": 0,
}

# Metrics that a resumed run measures anew: by the clock, of this process, or since the last log.
TIMINGS = (
    "train/tgt_tokens_per_s",
    "train/padding_share",
    "train/process_memory_gb",
    "progress/hours",
    *(f"time/{what}_s" for what in ("loading", "validation", "saving", "tracking")),
)


def reversed_pairs(n: int, seed: int, longest: int = 8) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    sentences = (rng.choices(WORDS, k=rng.randint(3, longest)) for _ in range(n))
    return [(" ".join(words), " ".join(reversed(words))) for words in sentences]


def write_split(folder: Path, split: str, pairs: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for language, side in zip(("fr", "en"), zip(*pairs, strict=True), strict=True):
        (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in side))


def lines(path: Path | str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


def write_corpus(folder: Path, n_train: int = 300, n_valid: int = 9, n_test: int = 7) -> Path:
    for seed, (split, n) in enumerate({"train": n_train, "valid": n_valid, "test": n_test}.items()):
        write_split(folder, split, reversed_pairs(n, seed))
    return folder


def write_wrong_corpus(folder: Path) -> Path:
    """References of train are those of the next line: from them alone, no word of a translation can be learned."""
    for split, n, shift in (("train", 500, 1), ("valid", 20, 0), ("test", 30, 0)):
        src, tgt = zip(*sentences(n, seed=n), strict=True)
        write_split(folder, split, list(zip(src, [*tgt[shift:], *tgt[:shift]], strict=True)))
    return folder


def tiny_config(corpus: Path, run_dir: Path, changes: dict[str, Any] | None = None) -> RunConfig:
    """A valid configuration; `changes` maps dotted keys to values."""
    cfg = OmegaConf.create({"run_dir": str(run_dir)})
    keys = TINY | {"data.dir": str(corpus), "data.cache_dir": str(corpus / "cache")} | (changes or {})
    for key, value in keys.items():
        OmegaConf.update(cfg, key, value)
    return read_config(cfg)


class SignalAt(pl.Callback):
    """Sends this process, or all of its group, a signal when so many optimizer steps are done."""

    def __init__(self, step: int, signum: int = signal.SIGTERM, to_all: bool = False) -> None:
        self.step, self.signum, self.to_all = step, signum, to_all

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if pl_module.n_steps == self.step:
            self.step = -1
            os.kill(0 if self.to_all else os.getpid(), self.signum)
            time.sleep(0.5 if self.to_all else 0)  # for the others to die, if they do


def train_with(config: RunConfig, *callbacks: pl.Callback, resume: bool = False) -> Outcome:
    """`seq2seq.training.run.train`, with more callbacks."""
    resumed = resumable(RunDirectory(Path(config.run_dir))) if resume else None
    return train(config, resumed, callbacks=callbacks)


def train_in_parts(config: RunConfig, *stops: int) -> Outcome:
    """Train, stopped by SIGTERM after each of these steps and continued from what it saved."""
    for part, step in enumerate(stops):
        with pytest.raises(TrainingInterrupted, match="SIGTERM"):
            train_with(config, SignalAt(step), resume=part > 0)
    return train_with(config, resume=bool(stops))


def checkpoint(run_dir: Path | str, name: str = "last.ckpt") -> dict[str, Any]:
    content: dict[str, Any] = torch.load(Path(run_dir) / "checkpoints" / name, weights_only=True)
    return content


def values_of(run_dir: Path | str, name: str) -> dict[int, float]:
    """A metric of `metrics.csv`, by the number of optimizer steps that were done."""
    return {each.step: each.value for each in RunDirectory(Path(run_dir)).metrics() if each.name == name}


def callback_states(content: dict[str, Any]) -> dict[str, Any]:
    """Those in a checkpoint, without what a clock measured."""
    states = content["callbacks"]
    return states | {"Counters": states["Counters"]["tgt_tokens"]}


def arguments(corpus: Path, run_dir: Path, changes: dict[str, Any] | None = None) -> list[str]:
    """The command-line form of `tiny_config`."""
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "run_dir": run_dir} | (changes or {})
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


def command(
    *arguments: str,
    script: Path | str = "train.py",
    timeout: float = 120,
    env: dict[str, str] | None = None,
    limits: dict[str, int] | None = None,
    is_fresh: bool = not processes.CAN_FORK,
) -> subprocess.CompletedProcess[str]:
    """Run an entry point as a user would, but with nothing on stdin and in a session of its own.

    Args:
        arguments: of the script.
        script: a path; a relative one is in the repository.
        timeout: in seconds; after that the test fails.
        env: variables beside those of this process, of which those for W&B and for runs are left out.
        limits: for `resource.setrlimit`; {"RLIMIT_FSIZE": 1000} stands in for a full disk.
        is_fresh: whether the interpreter starts anew; else it has imported torch and Lightning before.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "SEQ2SEQ_"))}
    words = [str(ROOT / script), *arguments]
    whole_env = clean | {"OMP_NUM_THREADS": "1"} | (env or {})
    run = processes.run_fresh if is_fresh else processes.run_warm
    return run(words, env=whole_env, timeout=timeout, limits=limits)


def train_here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As `command`, in this process, which needs its signals back afterwards: the fixture `own_signals` does that."""
    status, out, err = 0, StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            front_door("train", arguments)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
