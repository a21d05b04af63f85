"""Whatever comes in, as many lines go out; an output that fails ends the work in order."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from seq2seq.corpus.reader import read_lines
from tests.end_to_end.learned_text import SOURCES
from tests.faults.programs import Program
from tests.places import ROOT
from tests.processes import Warm
from tests.translating import SENTENCES, TEXT, Cli

# --- lines out equal lines in ---


def n_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


LINES = [
    " \n\t \n\u3000\u00a0\n\n\n",
    "Un chat.\r\nOui\u202f!\rNon.\n",
    "Un\x00chat\n\x00\nOui !\n",
    "Un\u2028chat\nUn\u0085chat\nUn\x0bchat\nUn\x0cchat\nUn\x1cchat\x1d\x1e\nUn\u2029\n",
    "ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ།\nتحية\n漢字かな交じり文。\nᚠᛇᚻ\nკარტული\n\U00012000\U00013000\n",
    "😀👩‍👩‍👧‍👦🏳️‍🌈\n👍🏿 Oui ! 🇫🇷\n",
    "e" + "\u0301" * 300 + "\n\u202eabc\n\ufffe\uffff\n",
    "<s> </s> <pad> <unk>\n<0x0A>\n\u2581\n",
    "\u200b\n\x01\n\ufeff\nUn\u00adchat\n",
    "Un\tchat\t\n\t\n",
    "mot " * 500 + "\nOui !\n",
    "Un chat dort. " * 300 + "\n",
    "x" * 2000 + "\nOui !\n",
]
STRANGE = {
    "empty": b"",
    "one line feed": b"\n",
    "strange lines": "".join(LINES).encode(),
    "cr alone": b"Un chat.\rOui !\r",
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "byte order mark alone": b"\xef\xbb\xbf",
    "no last line end": TEXT.removesuffix("\n").encode(),
}


@pytest.mark.parametrize("name", STRANGE)
def test_lines_out_equal_lines_in(cli: Cli, tmp_path: Path, name: str) -> None:
    data = STRANGE[name]
    (tmp_path / "in").write_bytes(data)
    expected = cli.lines(data, "--beam-size", 1, "--max-length", 0, 1)
    assert len(expected) == n_lines(data)
    assert all(len(line.splitlines()) <= 1 for line in expected)
    sources = list(read_lines(tmp_path / "in"))
    assert all(not line or line.strip() for line in expected)
    assert all(not line for source, line in zip(sources, expected, strict=True) if not source.strip())
    options = ("--beam-size", 1, "--max-length", 0, 1, "--json")
    status, out, err = cli("--input", tmp_path / "in", "--output", tmp_path / "out", *options)
    assert (status, out) == (0, ""), err
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [record["source"] for record in records] == sources
    assert [record["translation"] for record in records] == expected


def test_blank_lines_crlf_and_marks_change_no_other_line(trained: Cli) -> None:
    plain = trained.lines("".join(f"{line}\n" for line in SOURCES[:3]))
    text = f"\ufeff{SOURCES[0]}\r\n\r\n \t\n{SOURCES[1]}\n\n{SOURCES[2]}"
    assert trained.lines(text) == [plain[0], "", "", plain[1], "", plain[2]]


# --- outputs that fail ---


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


# --- as a process among others ---


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
