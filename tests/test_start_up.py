"""What each way into the package imports: start-up time is mostly imports, and `benchmarks/start_up.py` measures it."""

from pathlib import Path

import pytest

from seq2seq.cli import READ_BY_HYDRA, command_names, front_door
from tests.imported import imported_by
from tests.translating import TEXT, model_content, trained_content, write_run

pytestmark = pytest.mark.slow

HEAVY = {"torch", "pytorch_lightning", "lightning_utilities", "wandb", "hydra", "omegaconf", "sacrebleu", "matplotlib"}


def test_the_package_alone_imports_nothing_but_itself() -> None:
    modules = imported_by(code="import seq2seq")
    assert not {name for name in modules if name.split(".")[0] in {*HEAVY, "numpy", "sentencepiece"}}
    assert {name for name in modules if name.startswith("seq2seq")} == {"seq2seq"}


@pytest.mark.parametrize("command", sorted({*command_names()} - {*READ_BY_HYDRA}))
def test_help_and_mistyped_options_wait_for_nothing(command: str) -> None:
    for option, status in (("--help", 0), ("--modle", 2)):
        modules = imported_by(command, option, status=status)
        assert not modules & {*HEAVY, "numpy", "sentencepiece"}


def test_translating_with_pytorch_imports_torch_only(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", model_content())
    modules = imported_by("translate", "--model", run_dir, "--device", "cpu", stdin=TEXT)
    assert "torch" in modules
    assert not modules & (HEAVY - {"torch", "omegaconf"})
    assert not {"torch._dynamo", "sympy", "seq2seq.training"} & modules


def test_translating_with_ctranslate2_imports_no_torch(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
    run_dir = write_run(tmp_path / "run", trained_content())
    model, lines = tmp_path / "model", tmp_path / "lines"
    lines.write_text("ba bi.\nfo fu.\n")
    options = ["--format", "ctranslate2", "--output", str(model), "--parity-input", str(lines)]
    front_door("export", [str(run_dir), *options])
    modules = imported_by("translate", "--model", model, "--device", "cpu", stdin="ba bi.\n")
    assert "ctranslate2" in modules
    assert not modules & (HEAVY - {"omegaconf"})
