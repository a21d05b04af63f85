"""States that somebody changed: a run goes on from one, or says in one sentence that it cannot."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.checkpoint import write_checkpoint
from seq2seq.errors import UserError
from seq2seq.training import run
from tests.training.tiny_runs import checkpoint, tiny_config, train_with

pytestmark = pytest.mark.slow
CHANGES = {"trainer.max_steps": 2, "trainer.ema_decay": 0.9, "data.test": None, "decoding.beam_size": 1}
WRONG: list[Any] = [None, "x", -1, 10**30, 1.5, [], {}, [1], {"a": torch.zeros(3)}]
SMALL = torch.zeros(3)


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


@pytest.mark.nightly
def test_any_field_may_be_missing_or_something_else(corpus: Path, stopped: Path, tmp_path: Path) -> None:
    for number, place in enumerate(places(checkpoint(stopped))):
        for kind, value in enumerate(["gone", *WRONG]):
            content = checkpoint(stopped)
            holder: Any = content
            for name in place[:-1]:
                holder = holder[name]
            if value == "gone":
                del holder[place[-1]]
            else:
                holder[place[-1]] = value
            with suppress(UserError):
                resumed(corpus, stopped, tmp_path / f"{number}-{kind}", content)


def no_moments(content: dict[str, Any]) -> None:
    content["optimizer_states"] = [{}]


def small_moments(content: dict[str, Any]) -> None:
    content["optimizer_states"][0]["state"][0]["exp_avg"] = SMALL


def small_average(content: dict[str, Any]) -> None:
    weights = content["callbacks"]["ExponentialAverage"]["weights"]
    weights[next(iter(weights))] = SMALL


def missing_average(content: dict[str, Any]) -> None:
    weights = content["callbacks"]["ExponentialAverage"]["weights"]
    del weights[next(iter(weights))]


def replanned(content: dict[str, Any]) -> None:
    content["replanned"] = [1]


def rollbacks(content: dict[str, Any]) -> None:
    content["rollbacks"] = -(10**12)


def words_for_tokens(content: dict[str, Any]) -> None:
    content["callbacks"]["Counters"]["tgt_tokens"] = "many"


def no_watch(content: dict[str, Any]) -> None:
    content["callbacks"]["Divergence"]["watch"] = {}


def no_callbacks(content: dict[str, Any]) -> None:
    content["callbacks"] = []


def no_world(content: dict[str, Any]) -> None:
    content["position"] = {}


def other_epochs(content: dict[str, Any]) -> None:
    content["position"]["steps_per_epoch"] = 10**9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *((change, r"last\.ckpt: holds no state of this run") for change in (no_moments, small_moments, small_average)),
        *((change, r"last\.ckpt: holds no state of this run") for change in (missing_average, replanned, rollbacks)),
        *((change, r"last\.ckpt: holds no state of this run") for change in (words_for_tokens, no_watch, no_callbacks)),
        (no_world, "position is not one in batches"),
        (other_epochs, "an epoch of this run had 1,000,000,000 steps, and has "),
    ],
)
def test_a_wrong_state_is_one_sentence(corpus: Path, stopped: Path, tmp_path: Path, change: Any, told: str) -> None:
    content = checkpoint(stopped)
    change(content)
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
