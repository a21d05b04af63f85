"""Lines that come slowly, programs that wait for their translations, and a stream that breaks in the middle."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.programs import LIMIT_S, Program, until
from tests.places import ROOT
from tests.translating import sentences

pytestmark = pytest.mark.slow

SHORT = [(source, target) for source, target in sentences(9000) if len(source.split()) < 6]


def test_a_program_may_wait_for_the_translation_of_each_line(trained_run: Path) -> None:
    """It writes a line, and reads its translation before it writes the next one; and it may pause."""
    waits_s = []
    with Program("--model", trained_run) as program:
        for number, (source, target) in enumerate(SHORT[:10]):
            begin_s = time.monotonic()
            program.give(f"{source}\n")
            assert program.line() == target
            waits_s.append(time.monotonic() - begin_s)
            if number == 5:
                time.sleep(1.5)
        assert program.end("Ba be") == (0, "Bas Bes.\n")  # a last line that nothing ends
    assert max(waits_s[1:]) < 1, waits_s
    assert program.told.startswith("translated 11 lines in")


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
    out, _ = process.communicate(b"\n", timeout=30)
    assert (process.returncode, out.decode()) == (0, f"{SHORT[1][1]}\n")


def test_lines_that_come_slowly_into_a_file_are_kept_within_seconds(trained_run: Path, tmp_path: Path) -> None:
    """Some come together, and then none for a while: those that are there do not wait for others to fill a batch."""
    with Program("--model", trained_run, "--output", tmp_path / "out") as program:
        program.give("".join(f"{source}\n" for source, _ in SHORT[:7]))
        partial = tmp_path / "out.partial.json"
        until(lambda: partial.exists() and '"n_lines": 7' in partial.read_text())
        os.kill(program.id, 9)  # nothing can be said or saved any more
        assert program.status() == -9
    with Program("--model", trained_run, "--output", tmp_path / "out", "--resume") as program:
        assert program.end("".join(f"{source}\n" for source, _ in SHORT[:11])) == (0, "")
        assert "after 7 of an earlier run" in program.told
    assert (tmp_path / "out").read_text() == "".join(f"{target}\n" for _, target in SHORT[:11])


@pytest.mark.parametrize("is_file", [False, True], ids=["to a pipe", "to a file"])
def test_all_lines_before_one_that_is_not_utf_8_are_written(trained_run: Path, tmp_path: Path, is_file: bool) -> None:
    n_lines = 1_999 if is_file else 4_999
    text = "".join(f"{source}\n" for source, _ in SHORT[:n_lines]).encode()
    options = ("--output", tmp_path / "out") if is_file else ()
    written = tmp_path / ("out.partial" if is_file else "stdout")
    with (tmp_path / "stdout").open("wb") as out, Program("--model", trained_run, *options, stdout=out) as program:
        program.give(text + b"Un caf\xe9.\n" + text)
        assert program.status() == 2
    assert f"error: stdin:{n_lines + 1}: byte 7 of the line (0xe9) is not UTF-8" in program.told
    kept = f"{n_lines} translated lines are kept in {tmp_path}/out.partial; continue with --resume\n"
    assert (kept in program.told) == is_file, program.told
    assert written.read_bytes().count(b"\n") == n_lines
