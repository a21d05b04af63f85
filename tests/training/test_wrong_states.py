"""States that somebody changed: a run goes on from one, or says in one sentence that it cannot."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from seq2seq.artifacts.checkpoint import write_checkpoint
from seq2seq.errors import UserError
from seq2seq.training import run
from tests.training.tiny_runs import checkpoint, tiny_config, train_with

pytestmark = pytest.mark.slow
CHANGES = {"trainer.max_steps": 2, "trainer.ema_decay": 0.9, "data.test": None, "decoding.beam_size": 1}
WRONG: list[Any] = [None, "x", -1, 10**30, 1.5, [], {}, [1], {"a": torch.zeros(3)}]
SMALL = torch.zeros(3)
GONE = object()
AVERAGES = ("callbacks", "ExponentialAverage", "weights")
NO_STATE = r"last\.ckpt: holds no state of this run"


@pytest.fixture(scope="module")
def stopped(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps that goes on to the third."""
    run_dir = tmp_path_factory.mktemp("stopped") / "run"
    train_with(tiny_config(corpus, run_dir, CHANGES))
    return run_dir


def resumed(corpus: Path, stopped: Path, run_dir: Path, content: dict[str, Any], **more: Any) -> None:
    shutil.copytree(stopped, run_dir)
    for other in ("previous.ckpt", "best.ckpt"):
        (run_dir / "checkpoints" / other).unlink(missing_ok=True)
    write_checkpoint(content, run_dir / "checkpoints/last.ckpt")
    train_with(tiny_config(corpus, run_dir, CHANGES | more | {"trainer.max_steps": 3}), resume=True)


def places(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """The fields of a state, those of its callbacks, and those inside these."""
    callbacks = content["callbacks"]
    return [
        *((name,) for name in content),
        *(("position", name) for name in content["position"]),
        *(("callbacks", name, field) for name in callbacks for field in callbacks[name]),
    ]


def put(holder: Any, place: tuple[Any, ...], value: object) -> None:
    """Put a value, or nothing, in one place of a state."""
    for name in place[:-1]:
        holder = holder[name]
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value


@pytest.mark.nightly
def test_any_field_may_be_missing_or_something_else(corpus: Path, stopped: Path, tmp_path: Path) -> None:
    for number, place in enumerate(places(checkpoint(stopped))):
        for kind, value in enumerate([GONE, *WRONG]):
            content = checkpoint(stopped)
            put(content, place, value)
            with suppress(UserError):
                resumed(corpus, stopped, tmp_path / f"{number}-{kind}", content)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("optimizer_states",), [{}], NO_STATE),
        (("optimizer_states", 0, "state", 0, "exp_avg"), SMALL, NO_STATE),
        ((*AVERAGES, "embeddings.tables.shared"), SMALL, NO_STATE),
        ((*AVERAGES, "embeddings.tables.shared"), GONE, NO_STATE),
        (("replanned",), [1], NO_STATE),
        (("rollbacks",), -(10**12), NO_STATE),
        (("callbacks", "Counters", "tgt_tokens"), "many", NO_STATE),
        (("callbacks", "Divergence", "watch"), {}, NO_STATE),
        (("callbacks",), [], NO_STATE),
        (("position",), {}, "position is not one in batches"),
        (("position", "steps_per_epoch"), 10**9, "an epoch of this run had 1,000,000,000 steps, and has "),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_wrong_state_is_one_sentence(
    corpus: Path, stopped: Path, tmp_path: Path, place: tuple[Any, ...], value: object, told: str
) -> None:
    content = checkpoint(stopped)
    put(content, place, value)
    with pytest.raises(UserError, match=told) as caught:
        resumed(corpus, stopped, tmp_path / "run", content)
    assert len(str(caught.value).splitlines()) <= 2  # the run, and the file


def test_an_error_after_the_training_is_none_of_the_state(
    corpus: Path, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(run, "finish_run", fail)
    shutil.copytree(stopped, tmp_path / "run")
    with pytest.raises(ValueError, match=r"^a bug$"):
        train_with(tiny_config(corpus, tmp_path / "run", CHANGES), resume=True)  # nothing is left to train


class Failing(pl.Callback):
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        raise KeyError("a bug")


def test_an_error_in_a_callback_of_the_user_is_none_of_the_state(corpus: Path, stopped: Path, tmp_path: Path) -> None:
    shutil.copytree(stopped, tmp_path / "run")
    config = tiny_config(corpus, tmp_path / "run", CHANGES | {"trainer.max_steps": 3})
    with pytest.raises(KeyError, match=r"^'a bug'$"):
        train_with(config, Failing(), resume=True)


def test_a_run_goes_on_from_a_state_of_older_draws_only_if_nothing_is_drawn(
    corpus: Path, stopped: Path, tmp_path: Path
) -> None:
    content = checkpoint(stopped)
    del content["position"]["version"]
    resumed(corpus, stopped, tmp_path / "plain", content)
    joins = {"data.augment.join": 0.3}
    train_with(tiny_config(corpus, tmp_path / "joined", CHANGES | joins))
    content = checkpoint(tmp_path / "joined")
    del content["position"]["version"]
    with pytest.raises(UserError, match="this run began with another version, which draws other batches"):
        resumed(corpus, tmp_path / "joined", tmp_path / "again", content, **joins)
