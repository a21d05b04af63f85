"""What each way into the package imports: start-up time is mostly imports, and `benchmarks/start_up.py` measures it."""

from pathlib import Path

import pytest

from seq2seq.cli import READ_BY_HYDRA, command_names
from tests.imported import imported_by
from tests.translating import TEXT

pytestmark = pytest.mark.slow

HEAVY = {"torch", "pytorch_lightning", "lightning_utilities", "wandb", "hydra", "omegaconf", "matplotlib"}
HEAVY |= {"sacrebleu", "sacremoses"}


def test_the_package_alone_imports_its_configuration_and_no_package_of_others() -> None:
    modules = imported_by(code="import seq2seq")
    assert not {name for name in modules if name.split(".")[0] in {*HEAVY, "numpy", "sentencepiece"}}
    own = {name.removeprefix("seq2seq.").partition(".")[0] for name in modules if name.startswith("seq2seq")}
    assert own == {"seq2seq", "config", "errors", "masking", "plugins"}


def test_help_and_mistyped_options_wait_for_nothing() -> None:
    """All commands in one process: what one of them imports stays, so the first that has too much is the culprit."""
    commands = sorted({*command_names()} - {*READ_BY_HYDRA})
    code = f"""
import sys
from seq2seq.cli import main
for command in {commands}:
    for option, status in (("--help", 0), ("--modle", 2)):
        try:
            main([command, option])
        except SystemExit as end:
            assert end.code == status, (command, end.code)
        heavy = {HEAVY | {"numpy", "sentencepiece"}} & set(sys.modules)
        assert not heavy, f"{{command}} {{option}} imports {{heavy}}"
"""
    imported_by(code=code)


def test_translating_with_pytorch_imports_torch_only(random_run: Path) -> None:
    modules = imported_by("translate", "--model", random_run, "--device", "cpu", stdin=TEXT)
    assert "torch" in modules
    assert not modules & (HEAVY - {"torch", "omegaconf"})
    assert not {"torch._dynamo", "sympy", "seq2seq.training"} & modules


def test_a_model_that_is_not_there_is_told_without_torch() -> None:
    modules = imported_by("translate", "--model", "nowhere", status=2)
    assert not modules & HEAVY - {"omegaconf"}
