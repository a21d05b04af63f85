"""Whatever comes in, as many lines go out; an output that fails ends the work in order."""

import errno
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.cli import front_door
from seq2seq.corpus.reader import read_lines
from tests.devices import device, needs_devices
from tests.end_to_end.learned_text import REFERENCES, SOURCES
from tests.translating import SENTENCES, TEXT, Cli, start

pytestmark = pytest.mark.slow

FEW_TOKENS = ("--beam-size", 1, "--max-length", 0, 2)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


# --- lines out equal lines in ---


def n_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


@settings(max_examples=30)
@given(text=any_text)
@example(text="a\u2028b\x0bc\x0cd\x85e\x1cf\x00g\nh\ri")
@example(text="\n\n")
@example(text="\ufeff\n\ufeff")
def test_as_many_lines_come_out_as_line_feeds_say(cli: Cli, text: str) -> None:
    lines = cli.lines(text, *FEW_TOKENS)
    assert len(lines) == n_lines(text.encode())
    assert all(len(line.splitlines()) <= 1 for line in lines)


@settings(max_examples=15)
@given(data=st.binary(max_size=20))
@example(data=b"\xff\n\xfe\xff\n\xe2\x80")
def test_as_many_lines_come_out_whatever_the_bytes(cli: Cli, data: bytes) -> None:
    lines = cli.lines(data, *FEW_TOKENS, "--errors", "replace")
    assert len(lines) == n_lines(data)


@settings(max_examples=10)
@given(texts=st.lists(any_text.map(lambda text: text.replace("\n", "")), max_size=5))
def test_json_gives_each_line_back(cli: Cli, texts: list[str]) -> None:
    lines = cli.lines("".join(f"{text}\n" for text in texts), *FEW_TOKENS, "--json")
    expected = [text.removesuffix("\r") for text in texts]
    if expected:
        expected[0] = texts[0].removeprefix("\ufeff").removesuffix("\r")
    assert [json.loads(line)["source"] for line in lines] == expected


STRANGE = {
    "empty": b"",
    "one line feed": b"\n",
    "blank lines": b"\n\n\n",
    "only spaces": " \n\t \n\u3000\u00a0\n".encode(),
    "crlf": TEXT.replace("\n", "\r\n").encode(),
    "cr alone": b"Un chat.\rOui !\r",
    "nul": b"Un\x00chat\n\x00\nOui !\n",
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "byte order mark alone": b"\xef\xbb\xbf",
    "line separators": "Un\u2028chat\nUn\u0085chat\nUn\x0bchat\nUn\x0cchat\nUn\x1cchat\x1d\x1e\nUn\u2029\n".encode(),
    "no last line end": TEXT.removesuffix("\n").encode(),
    "scripts": "ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ།\nتحية\n漢字かな交じり文。\nᚠᛇᚻ\nკარტული\n\U00012000\U00013000\n".encode(),
    "emoji": "😀👩‍👩‍👧‍👦🏳️‍🌈\n👍🏿 Oui ! 🇫🇷\n".encode(),
    "marks": ("e" + "\u0301" * 300 + "\n\u202eabc\n\ufffe\uffff\n").encode(),
    "special ids": b"<s> </s> <pad> <unk>\n<0x0A>\n\xe2\x96\x81\n",
    "invisible": "\u200b\n\x01\n\ufeff\nUn\u00adchat\n".encode(),
    "tabs": b"Un\tchat\t\n\t\n",
    "10,000 words": b"mot " * 10_000 + b"\nOui !\n",
    "10,000 sentences": b"Un chat dort. " * 10_000 + b"\n",
    "a word of 20,000 letters": b"x" * 20_000 + b"\nOui !\n",
}


@pytest.mark.parametrize("name", STRANGE)
def test_lines_out_equal_lines_in(cli: Cli, tmp_path: Path, name: str) -> None:
    data = STRANGE[name]
    (tmp_path / "in").write_bytes(data)
    expected = cli.lines(data, "--beam-size", 1, "--max-length", 0, 1)
    assert len(expected) == n_lines(data)
    assert all(len(line.splitlines()) <= 1 for line in expected)
    sources = list(read_lines(tmp_path / "in"))
    assert [not line for line in expected if not line.strip()] == [True] * sum(not line.strip() for line in expected)
    assert all(not line for source, line in zip(sources, expected, strict=True) if not source.strip())
    options = ("--beam-size", 1, "--max-length", 0, 1, "--json")
    status, out, err = cli("--input", tmp_path / "in", "--output", tmp_path / "out", *options)
    assert (status, out) == (0, ""), err
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [record["source"] for record in records] == sources
    assert [record["translation"] for record in records] == expected


def test_a_line_of_a_megabyte_is_one_line(cli: Cli) -> None:
    line = "Le chien court. " * (1 << 16)
    (only, oui) = cli.lines(f"{line}\nOui !\n", "--beam-size", 1, "--max-length", 0, 1)
    assert only
    assert [oui] == cli.lines("Oui !", "--beam-size", 1, "--max-length", 0, 1)


def test_blank_lines_crlf_and_marks_change_no_other_line(trained: Cli) -> None:
    plain = trained.lines("".join(f"{line}\n" for line in SOURCES[:3]))
    text = f"\ufeff{SOURCES[0]}\r\n\r\n \t\n{SOURCES[1]}\n\n{SOURCES[2]}"
    assert trained.lines(text) == [plain[0], "", "", plain[1], "", plain[2]]


def test_an_error_names_the_line(cli: Cli, tmp_path: Path) -> None:
    data = TEXT.encode() * 100 + b"Un caf\xe9.\n" + TEXT.encode()
    status, out, message = cli(*FEW_TOKENS, "--quiet", stdin=data)
    assert (status, out.count("\n")) == (2, 400)  # what came before it is translated
    assert message.startswith("error: stdin:401: byte 7 of the line (0xe9) is not UTF-8; convert the text")
    (tmp_path / "in").write_bytes(b"\xff\xfe" + "Oui\n".encode("utf-16-le"))
    assert "iconv -f UTF-16" in cli.refusal("--input", tmp_path / "in")


# --- outputs that fail ---


def test_the_reader_of_stdout_may_leave(trained: Cli) -> None:
    """As `| head -1` does: the process ends quietly, and does not finish the search that nobody reads."""
    process = start(*trained.defaults, "--quiet", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("".join(f"{line}\n" for line in SOURCES[:12]).encode())
    process.stdin.flush()
    first = process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate("".join(f"{line}\n" for line in SOURCES[12:] * 9).encode())
    assert first.decode() == trained.lines(SOURCES[0])[0] + "\n"
    assert (process.returncode, err) == (141, b"")


class Failing:
    """What stdout is to a program whose reader is gone, or whose disk is full, after so many lines."""

    def __init__(self, n_lines: int, error: OSError) -> None:
        self.buffer = self
        self.n_lines = n_lines
        self.error = error

    def write(self, data: bytes) -> int:
        self.n_lines -= 1
        if self.n_lines < 0:
            raise self.error
        return len(data)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


@pytest.mark.usefixtures("confirmed_at_once")
@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: cannot write stdout: No space left on device\n"),
    ],
)
def test_an_output_that_fails_ends_the_search(
    run_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: OSError,
    status: int,
    message: str,
) -> None:
    from seq2seq.translation.engines.pytorch import PyTorchEngine

    searched: list[int] = []
    decode = PyTorchEngine.decode

    def slow(self: PyTorchEngine, sentences: Any, config: Any, **options: Any) -> Any:
        searched.extend(sentence.number for sentence in sentences)
        time.sleep(0.2)
        return decode(self, sentences, config, **options)

    monkeypatch.setattr(PyTorchEngine, "decode", slow)
    monkeypatch.setattr(sys, "stdout", Failing(1, error))
    source = tmp_path / "in"
    source.write_text(TEXT * 9)
    n_threads = threading.active_count()
    with pytest.raises(SystemExit) as stopped:
        front_door(
            "translate",
            [*map(str, Cli(run_dir).defaults), "--quiet", "--max-batch-tokens", "1", "--input", str(source)],
        )
    assert stopped.value.code == status
    assert capsys.readouterr().err == message
    assert threading.active_count() == n_threads
    assert len(searched) < 8  # of 36


@needs_devices
def test_a_full_disk_is_an_error_with_its_name(cli: Cli, tmp_path: Path) -> None:
    full = device(tmp_path, "full")
    status, out, err = cli("--output", full, *FEW_TOKENS, stdin=TEXT)
    assert (status, out) == (2, "")
    assert err.endswith(f"error: cannot write {full}: No space left on device\n")
    assert full.is_char_device()


def test_a_disk_that_fills_up_keeps_what_was_confirmed(
    trained: Cli, tmp_path: Path, confirmed_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seq2seq.translation.resumable import ResumableFile

    text = "".join(f"{line}\n" for line in SOURCES)
    write, calls = ResumableFile.write, itertools.count()

    def fills_up(self: ResumableFile, source: str, record: bytes) -> None:
        if next(calls) == 8:
            self._file.close()
            self._file = Path("/dev/full").open("r+b", buffering=0)  # noqa: SIM115
        write(self, source, record)

    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with monkeypatch.context() as patch:
        patch.setattr(ResumableFile, "write", fills_up)
        status, _, err = trained("--output", tmp_path / "out", stdin=text)
    assert status == 2
    assert "No space left on device\n8 translated lines are kept in" in err
    assert trained("--output", tmp_path / "out", "--resume", stdin=text)[0] == 0
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(text)


def test_a_pipe_as_output_gets_all_and_its_scores(trained: Cli, tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    reference = tmp_path / "ref"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES))
    text = "".join(f"{line}\n" for line in SOURCES)
    status, _, err = trained("--output", tmp_path / "pipe", "--reference", reference, stdin=text)
    reader.join(10)
    assert status == 0, err
    assert "\nbleu  " in err
    assert got[0].decode().split("\n")[:-1] == trained.lines(text)


# --- as a process among others ---


def test_a_person_at_a_terminal_gets_each_line_at_once(cli: Cli) -> None:
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    process = start(*cli.defaults, "--beam-size", 1, stdin=terminal, stdout=subprocess.PIPE)
    os.close(terminal)
    assert process.stdout is not None
    for sentence in SENTENCES[:2]:
        os.write(keyboard, f"{sentence}\n".encode())
        assert process.stdout.readline().decode() == cli.lines(sentence, "--beam-size", 1)[0] + "\n"  # before the end
    os.write(keyboard, b"\n\x04")
    out, err = process.communicate()
    os.close(keyboard)
    assert (process.returncode, out) == (0, b"\n"), err
    assert b"translated 3 lines" in err
