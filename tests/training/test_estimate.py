"""`train.py --estimate` against the runs that it speaks of."""

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from seq2seq.config import RunConfig
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.memory import limited_memory
from seq2seq.model.transformer import Transformer
from seq2seq.training import estimate as estimates
from seq2seq.training import fitting
from seq2seq.training.data import TranslationData
from seq2seq.training.estimate import Estimate, estimate
from seq2seq.training.module import TranslationModule
from tests.places import ROOT, made_once
from tests.training.short_of_memory import needs_limits
from tests.training.tiny_runs import arguments, checkpoint, tiny_config, train_here, train_with

# Its tensors are larger than the rest of a checkpoint.
WIDE = {
    "model.d_ff": 8_000,
    "batch.accumulate": 2,
    "trainer.ema_decay": 0.9,
    "trainer.max_epochs": 2,
    "trainer.val_every_n_steps": 4,
    "trainer.keep_every_n_steps": 5,
    "trainer.max_rollbacks": 0,
    "trainer.valid_sentences": 2,
    "batch.max_tokens": 320,
    "decoding.beam_size": 1,
    "decoding.max_length_b": 2,
}


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "cache" not in path.parts}


@pytest.fixture(scope="module")
def wide(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Estimate, RunConfig]:
    """What is said of a run, and the configuration of that run, which is over."""

    def train(run_dir: Path) -> None:
        train_with(tiny_config(corpus, run_dir, WIDE))

    run_dir = made_once(tmp_path_factory, "wide_run", train)
    config = tiny_config(corpus, run_dir, WIDE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "MOST_STEPS", 3)
        return estimate(tiny_config(corpus, run_dir, WIDE)), config


def test_a_ctrl_c_is_one_for_a_program_too(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(estimates._Clock, "on_train_batch_start", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        estimate(tiny_config(corpus, tmp_path / "run", WIDE))
    assert signal.getsignal(signal.SIGINT) is before


def test_parameters_and_steps_are_those_of_the_run(wide: tuple[Estimate, RunConfig]) -> None:
    found, config = wide
    prepared = prepare(config)
    assert found.n_parameters == Transformer(config.model, prepared.tokenizer.vocab_size).n_parameters
    n_valid, *n_tests = (int(store.tgt_lengths.sum()) for store in (prepared.valid, *prepared.tests.values()))
    assert found.n_translated == 2 * n_valid + sum(n_tests)
    assert found.total_steps == checkpoint(config.run_dir)["global_step"]
    assert found.total_steps == 2 * found.steps_per_epoch


def test_the_space_on_the_disk_is_that_of_the_checkpoints(wide: tuple[Estimate, RunConfig]) -> None:
    found, config = wide
    files = {(f.stat().st_ino, f.stat().st_size) for f in Path(config.run_dir, "checkpoints").iterdir()}
    assert found.checkpoints == pytest.approx(sum(size for _, size in files), rel=0.08)
    stores = [f for f in (found.cache / "stores").rglob("*") if f.is_file() and f.suffix != ".lock"]
    assert 0 < found.prepared <= sum(f.stat().st_size for f in stores)


def test_the_second_time_that_each_step_is_done_is_what_counts(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step takes its number in seconds, on a clock that only its end moves."""
    ends = iter(range(1, 1000))
    begins = [0]

    def tick() -> float:
        return begins[-1]

    training_step = TranslationModule.training_step

    def timed_step(*args: Any) -> None:
        training_step(*args)
        begins.append(begins[-1] + next(ends))

    monkeypatch.setattr(estimates, "time", SimpleNamespace(perf_counter=tick))
    monkeypatch.setattr(TranslationModule, "training_step", timed_step)
    monkeypatch.setattr(estimates, "MOST_STEPS", 3)
    monkeypatch.setattr(estimates, "MOST_SECONDS", 1000.0)
    found = estimate(tiny_config(corpus, tmp_path))
    assert found.seconds_per_step == (4 + 6 + 8) / 3  # without the largest step, which is the first
    assert found.seconds == found.total_steps * 6
    assert found.tokens_per_s * 6 * 3 == pytest.approx(round(found.tokens_per_s * 6 * 3), abs=1e-6)


def test_memory_is_what_the_steps_take(wide: tuple[Estimate, RunConfig]) -> None:
    found, _ = wide
    assert found.state == pytest.approx(found.n_parameters * (4 + 4 + 8 + 4), rel=0.01)  # weights, gradients, Adam, EMA
    if Path("/proc/self/status").exists():
        assert found.memory is not None and found.state < found.memory < 20 << 30


def test_the_largest_step_and_the_first_ones_are_done_twice(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(corpus, tmp_path, {"batch.accumulate": 2, "batch.max_tokens": 66})
    data = TranslationData(config, prepare(config))
    monkeypatch.setattr(estimates, "MOST_STEPS", 3)
    found = [step.n_tgt_tokens for step in estimates._SomeSteps(data)]
    largest = data.loader.shapes(0).index(data.largest) // 2
    steps = (data.loader.read(0, data.loader.rows(0, number)) for number in (largest, 0, 1, 2))
    assert found == [step.n_tgt_tokens for step in steps for _ in range(2)]


def test_measuring_comes_to_an_end(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "MOST_SECONDS", 0.0)
    one_step = tiny_config(corpus, tmp_path, {"batch.max_tokens": 100_000})
    for config in (tiny_config(corpus, tmp_path), one_step):
        data = TranslationData(config, prepare(config))
        assert len(list(estimates._SomeSteps(data))) == 2 * (1 + estimates.LEAST_STEPS)
    assert data.steps_per_epoch == 1


def test_a_clock_that_ends_the_run_is_named(corpus: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(estimates, "MOST_STEPS", 1)
    limits = {"trainer.max_epochs": 0, "trainer.max_time": "00:03:00:00", "optim.schedule": "cosine"}
    found = estimate(tiny_config(corpus, tmp_path, limits))
    assert (found.total_steps, found.seconds) == (0, 3 * 3600)
    assert "\ntime        3:00:00 of training (" in found.render()
    assert (
        "\nsteps       1 an epoch, 4 in all\n"
        in replace(found, total_steps=10**6, steps_per_epoch=1, seconds_per_step=3600 * 0.75).render()
    )


def test_a_run_without_an_end_in_sight_has_an_estimate_too(wide: tuple[Estimate, RunConfig]) -> None:
    found = replace(wide[0], total_steps=10**18, seconds_per_step=1.0)
    assert "\ntime        115740740 days, 17:46:40 of training (1 s a step" in found.render()


def test_a_run_that_does_not_fit_has_the_same_error(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "fits", lambda *_: False)
    with pytest.raises(RunError, match=r"^batch.max_tokens=160 needs more memory than there is for a batch of "):
        estimate(tiny_config(corpus, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@needs_limits
@pytest.mark.parametrize("work", [estimate, train_with])
def test_a_model_that_does_not_fit_is_told_before_there_is_a_batch(
    corpus: Path, tmp_path: Path, work: Callable[[RunConfig], object]
) -> None:
    config = tiny_config(corpus, tmp_path / "run", {"model.d_model": 10**6})
    with limited_memory(1 << 28), pytest.raises(ConfigError, match=r"^the model itself needs more memory than there"):
        work(config)
    assert not (tmp_path / "run").exists()


def test_memory_that_runs_out_later_is_told(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(steps: object) -> None:
        raise MemoryError

    monkeypatch.setattr(estimates._SomeSteps, "__iter__", no_memory)
    with pytest.raises(ConfigError, match=r"^memory ran out in a step; lower batch.max_tokens, or end other programs$"):
        estimate(tiny_config(corpus, tmp_path))


@pytest.mark.usefixtures("own_signals")
def test_the_command_prints_it_and_writes_nothing(
    wide: tuple[Estimate, RunConfig], corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a fine-tuned run, which has the model and the subwords that it starts from."""
    monkeypatch.setattr(estimates, "MOST_STEPS", 1)
    found, config = wide
    words = [word for word in arguments(corpus, corpus) if not word.startswith(("model.", "tokenizer.", "run_dir"))]
    run_dir = Path(config.run_dir)  # a run that is there is no obstacle
    before = files_in(corpus) | files_in(run_dir) | set(ROOT.glob("runs/*/*"))
    done = train_here(*words, f"run_dir={run_dir}", f"finetune={run_dir}", "--estimate")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("default: fr to en, 32-true on cpu, threads: 1\n")
    assert re.findall(r"^(\w+)  ", done.stdout, re.M) == ["parameters", "memory", "disk", "steps", "time"]
    assert f"\nparameters  {found.n_parameters / 1e6:.1f} M\n" in done.stdout
    assert files_in(corpus) | files_in(run_dir) | set(ROOT.glob("runs/*/*")) == before


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("resume=runs/mine", "resume=runs/mine goes on with a run that is there; leave it out for a new one"),
        ("trainer.devices=2", "--estimate measures one process, and this run would have 2; add trainer.devices=1"),
    ],
)
@pytest.mark.usefixtures("own_signals")
def test_what_it_refuses(corpus: Path, tmp_path: Path, word: str, sentence: str) -> None:
    before = set(ROOT.iterdir())
    done = train_here(*arguments(corpus, tmp_path / "run"), word, "--estimate")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {sentence}" in done.stderr
    assert not (tmp_path / "run").exists()
    assert set(ROOT.iterdir()) == before


@pytest.mark.gpu
def test_on_a_gpu_the_memory_is_that_of_the_gpu(corpus: Path, tmp_path: Path) -> None:
    found = estimate(tiny_config(corpus, tmp_path, {"trainer.accelerator": "cuda"}))
    assert found.memory == torch.cuda.max_memory_allocated() > found.state
