"""Which packages train.py imports, in processes of its own: times differ between machines, imports do not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.imported import imported_by
from tests.training.tiny_runs import arguments, command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "status"),
    [(["train", "--help"], 0), (["train", "--cfg", "job"], 0), (["train", "optim.learning_rate=1"], 2)],
)
def test_hydra_alone_answers_what_needs_no_run(words: list[str], status: int) -> None:
    found = imported_by(*words, status=status)
    assert "hydra" in found
    unused = {"torch", "pytorch_lightning", "numpy", "sentencepiece", "wandb", "matplotlib", "rich", "sacrebleu"}
    assert not found & unused
    stages = {name.split(".")[1] for name in found if name.startswith("seq2seq.")}
    assert stages == {"cli", "commands", "config", "errors", "exit_status", "files", "training"}


@pytest.mark.slow
def test_a_run_imports_what_it_uses(corpus: Path, tmp_path: Path) -> None:
    changes = {"trainer.max_steps": 1, "data.test": "valid"}
    found = imported_by("train", *arguments(corpus, tmp_path / "run", changes))
    assert {"torch", "pytorch_lightning", "seq2seq.training.run"} <= found
    unused = {"wandb", "tensorboard", "ctranslate2", "optuna", "pandas", "scipy", "sklearn", "IPython"}
    assert not found & unused
    assert not {name for name in found if name.startswith(("seq2seq.translation", "seq2seq.export"))}


def test_quick_imports_leave_nothing_switched_off() -> None:
    code = """
import gc
from seq2seq.training.start_up import quick_imports
with quick_imports():
    import pytorch_lightning
    assert not gc.isenabled()
assert gc.isenabled()
with quick_imports():  # of a second run in the same process
    assert gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_missing_is_named_before_any_work(corpus: Path, tmp_path: Path) -> None:
    script = tmp_path / "without_tensorboard.py"
    script.write_text(
        'import sys\nsys.modules["tensorboard"] = None\nfrom seq2seq.cli import main\nmain(["train", *sys.argv[1:]])\n'
    )
    changes = {"logger.tensorboard": True, "data.cache_dir": tmp_path / "cache"}
    done = command(*arguments(corpus, tmp_path / "run", changes), script=script)
    assert done.returncode == 2
    assert done.stderr == (
        "error: logger.tensorboard=true needs the package tensorboard; run, in a clone of seq2seq: "
        "pip install -e '.[tensorboard]'\n"
    )
    assert not (tmp_path / "run").exists() and not (tmp_path / "cache").exists()
