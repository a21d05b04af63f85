"""Lines that come slowly, programs that wait for their translations, and a stream that breaks in the middle."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.programs import Program, n_kept
from tests.places import ROOT
from tests.processes import LIMIT_S
from tests.translating import sentences

SHORT = [(source, target) for source, target in sentences(600) if len(source.split()) < 6]


def test_a_program_may_wait_for_the_translation_of_each_line(trained_run: Path) -> None:
    """It writes a line, and reads its translation before it writes the next one."""
    with Program("--model", trained_run) as program:
        for source, target in SHORT[:4]:
            program.give(f"{source}\n")
            assert program.line() == target
        assert program.end("Ba be") == (0, "Bas Bes.\n")  # a last line that nothing ends
    assert program.told.startswith("translated 5 lines in")


@pytest.mark.nightly
def test_a_shell_gets_a_line_while_the_next_one_is_not_there(trained_run: Path) -> None:
    """As all the others, but with a shell, and a Python that imports everything anew."""
    (first, translation), (second, _) = SHORT[:2]
    producer = f"(echo '{first}'; read -r _; echo '{second}')"  # the second line comes when this test says so
    process = subprocess.Popen(
        ["sh", "-c", f"{producer} | {sys.executable} translate.py --model {trained_run} --quiet"],
        cwd=ROOT,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    assert select.select([process.stdout], [], [], LIMIT_S)[0], "no line came"
    assert process.stdout.readline().decode() == f"{translation}\n"
    out, _ = process.communicate(b"\n", timeout=LIMIT_S)
    assert (process.returncode, out.decode()) == (0, f"{SHORT[1][1]}\n")


def test_blocks_before_a_line_that_is_not_utf_8_are_kept(trained_run: Path, tmp_path: Path) -> None:
    text = "".join(f"{source}\n" for source, _ in SHORT[:199]).encode()
    with Program("--model", trained_run, "--max-batch-tokens", 40, "--output", tmp_path / "out") as program:
        program.give(text + b"Un caf\xe9.\n" + text)
        assert program.status() == 2
    assert "error: stdin:200: byte 7 of the line (0xe9) is not UTF-8" in program.told
    assert f"finished blocks are kept in {tmp_path}/out.parts; the same command goes on\n" in program.told
    assert 100 < n_kept(tmp_path / "out") < 200
