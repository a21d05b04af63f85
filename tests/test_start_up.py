"""What each way into the package imports: start-up time is mostly imports, and `benchmarks/start_up.py` measures it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.cli import command_names
from tests.export.test_export import needs_ctranslate2
from tests.places import ROOT
from tests.translating import TEXT, model_content, trained_content, write_run

pytestmark = pytest.mark.slow

HEAVY = {"torch", "pytorch_lightning", "lightning_utilities", "wandb", "hydra", "omegaconf", "sacrebleu", "matplotlib"}
COMMAND = "from seq2seq.cli import main; main()"


def imported(tmp_path: Path, code: str, *arguments: object, stdin: str = "", status: int = 0) -> set[str]:
    """The modules that a fresh process has imported when it ends."""
    modules = tmp_path / "modules"
    at_exit = f"pathlib.Path({str(modules)!r}).write_text(' '.join(sys.modules))"
    write_modules = f"import atexit, pathlib, sys; atexit.register(lambda: {at_exit})"
    done = subprocess.run(
        [sys.executable, "-c", f"{write_modules}\n{code}", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    assert not stdin or done.stdout.count("\n") == stdin.count("\n"), done.stderr
    return set(modules.read_text().split())


def test_the_package_alone_imports_nothing_but_itself(tmp_path: Path) -> None:
    modules = imported(tmp_path, "import seq2seq")
    assert not {name for name in modules if name.split(".")[0] in {*HEAVY, "numpy", "sentencepiece"}}
    assert {name for name in modules if name.startswith("seq2seq")} == {"seq2seq"}


@pytest.mark.parametrize("command", sorted({*command_names()} - {"train"}))
def test_help_and_mistyped_options_wait_for_nothing(tmp_path: Path, command: str) -> None:
    for option, status in (("--help", 0), ("--modle", 2)):
        modules = imported(tmp_path, COMMAND, command, option, status=status)
        assert not modules & {*HEAVY, "numpy", "sentencepiece"}


def test_help_of_train_waits_for_hydra_only(tmp_path: Path) -> None:
    modules = imported(tmp_path, COMMAND, "train", "--help")
    assert "hydra" in modules
    assert not modules & (HEAVY - {"hydra", "omegaconf"})


def test_translating_with_pytorch_imports_torch_only(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", model_content())
    modules = imported(tmp_path, COMMAND, "translate", "--model", run_dir, "--device", "cpu", stdin=TEXT)
    assert "torch" in modules
    assert not modules & (HEAVY - {"torch", "omegaconf"})
    assert not {"torch._dynamo", "sympy", "seq2seq.training"} & modules


def test_translating_with_ctranslate2_imports_no_torch(tmp_path: Path) -> None:
    needs_ctranslate2()
    run_dir = write_run(tmp_path / "run", trained_content())
    model, lines = tmp_path / "model", tmp_path / "lines"
    lines.write_text("ba bi.\nfo fu.\n")
    export: list[object] = [
        sys.executable,
        "-m",
        "seq2seq",
        "export",
        run_dir,
        "--format",
        "ctranslate2",
        "--output",
        model,
    ]
    subprocess.run(
        [str(word) for word in (*export, "--parity-input", lines)], cwd=ROOT, check=True, capture_output=True
    )
    modules = imported(tmp_path, COMMAND, "translate", "--model", model, "--device", "cpu", stdin="ba bi.\n")
    assert "ctranslate2" in modules
    assert not modules & (HEAVY - {"omegaconf"})
