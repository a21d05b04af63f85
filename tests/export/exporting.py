"""A model to export, and the command that does it."""

import platform
from pathlib import Path

import pytest

from seq2seq import cli
from tests.translation.engines.models import random_model

MODEL = random_model(seed=3, end_bonus=2.0)


def main(arguments: list[str]) -> None:
    """Run `python -m seq2seq export` in this process."""
    cli.main(["export", *arguments])


def needs_ctranslate2() -> None:
    """Skip the test without CTranslate2."""
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")


def needs_exact_int8() -> None:
    """On x86 without VNNI sums of 8-bit products overflow, and random weights make the most of that."""
    cpu_info = Path("/proc/cpuinfo")
    if platform.machine() == "x86_64" and cpu_info.is_file() and "_vnni" not in cpu_info.read_text():
        pytest.skip("8-bit products overflow on this processor")


def refused(capsys: pytest.CaptureFixture[str], status: int, *args: object) -> str:
    """What `main` says on stderr when it ends with this status."""
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    assert stopped.value.code == status
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    return message
