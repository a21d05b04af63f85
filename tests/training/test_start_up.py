"""Which packages train.py imports, in processes of its own: times differ between machines, imports do not."""

import gc
import sys
from pathlib import Path

import pytest

from seq2seq.training.processes import quick_imports
from tests.imported import imported_by
from tests.training.tiny_runs import arguments, train_here


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status"),
    [(["train", "--cfg", "job"], 0), (["train", "optim.learning_rate=1"], 2)],
)
def test_hydra_alone_answers_what_needs_no_run(words: list[str], status: int) -> None:
    found = imported_by(*words, status=status)
    assert "hydra" in found
    unused = {"torch", "pytorch_lightning", "numpy", "sentencepiece", "wandb", "matplotlib", "sacrebleu"}
    assert not found & unused
    stages = {name.split(".")[1] for name in found if name.startswith("seq2seq.")}
    assert stages == {
        *["cli", "commands", "config", "errors", "exit_status", "files", "masking", "options", "plugins", "training"]
    }


@pytest.mark.nightly
def test_a_run_imports_what_it_uses(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_steps": 1, "data.test": "valid"}
    found = imported_by("train", *arguments(corpus, tmp_path / "run", changes))
    assert {"torch", "pytorch_lightning", "seq2seq.training.run"} <= found
    unused = {"wandb", "tensorboard", "ctranslate2", "optuna", "pandas", "scipy", "sklearn", "IPython"}
    assert not found & unused
    assert not {name for name in found if name.startswith(("seq2seq.translation", "seq2seq.export"))}


def test_quick_imports_leave_nothing_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.delitem(sys.modules, "pytorch_lightning", raising=False)
    with quick_imports():
        assert not gc.isenabled()
    assert gc.isenabled()
    monkeypatch.setitem(sys.modules, "pytorch_lightning", gc)
    with quick_imports():  # of a second run in the same process
        assert gc.isenabled()


@pytest.mark.usefixtures("own_signals")
def test_a_package_that_is_missing_is_named_before_any_work(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    changes = {"logger.tensorboard": True, "data.cache_dir": tmp_path / "cache"}
    done = train_here(*arguments(corpus, tmp_path / "run", changes))
    assert done.returncode == 2
    assert "logger.tensorboard=true needs the package tensorboard; run" in done.stderr and "pip install" in done.stderr
    assert not (tmp_path / "run").exists() and not (tmp_path / "cache").exists()
