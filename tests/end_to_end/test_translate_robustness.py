"""Lines of other systems, a reader that leaves, and a person at a terminal."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.learned_text import SOURCES
from tests.faults.programs import Program
from tests.places import ROOT
from tests.processes import Warm
from tests.translating import SENTENCES, Cli


def test_blank_lines_crlf_and_marks_change_no_other_line(trained: Cli) -> None:
    plain = trained.lines("".join(f"{line}\n" for line in SOURCES[:3]))
    text = f"\ufeff{SOURCES[0]}\r\n\r\n \t\n{SOURCES[1]}\n\n{SOURCES[2]}"
    assert trained.lines(text) == [plain[0], "", "", plain[1], "", plain[2]]


def test_the_reader_of_stdout_may_leave(trained: Cli) -> None:
    """As `| head -1` does: the process ends quietly, and does not finish the search that nobody reads."""
    with Program(*trained.defaults, "--quiet") as program:
        program.give("".join(f"{line}\n" for line in SOURCES[:12]))
        first = program.line()
        program.stdout.close()
        with suppress(BrokenPipeError):
            program.give("".join(f"{line}\n" for line in SOURCES[12:] * 9))
        program.stdin.close()
        assert (program.status(), program.told) == (141, "")
    assert [first] == trained.lines(SOURCES[0])


def test_a_person_at_a_terminal_gets_each_line_at_once(cli: Cli, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    words = [str(ROOT / "translate.py"), *map(str, cli.defaults), "--beam-size", "1"]
    (stdout, to_it), told = os.pipe(), tmp_path / "stderr"
    with told.open("wb") as stderr:
        process = Warm(words, env=os.environ, stdin=terminal, stdout=to_it, stderr=stderr)
    for descriptor in (terminal, to_it):
        os.close(descriptor)
    with os.fdopen(stdout, "rb", buffering=0) as lines:
        for sentence in SENTENCES[:2]:
            os.write(keyboard, f"{sentence}\n".encode())
            # before the end
            assert lines.readline().decode() == cli.lines(sentence, "--beam-size", 1)[0] + "\n"
        os.write(keyboard, b"\n\x04")
        assert lines.read() == b"\n"
    assert process.wait(60) == 0, told.read_text()
    os.close(keyboard)
    assert "translated 3 lines" in told.read_text()
