"""Streams that translations are written to."""

import io
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from seq2seq.errors import TranslationError
from seq2seq.translation.streams import open_stream, reporting
from tests.devices import device, needs_devices


def write(path: Path | None, *texts: bytes) -> None:
    with open_stream(path) as stream:
        for text in texts:
            with reporting(path):
                stream.write(text)


@needs_devices
def test_devices_are_written_to_directly(tmp_path: Path) -> None:
    null, full = (device(tmp_path, name) for name in ("null", "full"))
    write(null, b"A\n")
    assert null.is_char_device()
    with pytest.raises(TranslationError, match=rf"cannot write {full}: No space left on device$"):
        write(full, b"A\n")
    assert full.is_char_device()


def test_a_pipe_gets_the_text_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    write(path, b"A\n", b"B\n")
    reader.join()
    assert received == [b"A\nB\n"]
    assert path.is_fifo() and [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_pipe_whose_reader_left_is_no_error_of_the_output(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open_stream(path) as stream:
        os.close(reader)
        with pytest.raises(BrokenPipeError), reporting(path):
            os.write(stream.fileno(), b"A\n")


def test_stdout_gets_what_is_written_when_it_is_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(raw)))
    with open_stream(None) as stream:
        stream.write(b"A\n")
        assert raw.getvalue() == b""
        stream.flush()
        assert raw.getvalue() == b"A\n"
        stream.write(b"B\n")
    assert raw.getvalue() == b"A\nB\n"


@needs_devices
def test_a_full_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = open("/dev/full", "w")  # noqa: SIM115, PTH123
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(TranslationError, match="cannot write stdout: No space left on device"):
        write(None, b"A\n")
    with suppress(OSError):
        stream.close()
