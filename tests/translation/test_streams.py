"""Streams that translations are written to."""

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from seq2seq.translation.streams import open_stream, reporting


def write(path: Path | None, *texts: bytes) -> None:
    with open_stream(path) as stream:
        for text in texts:
            with reporting(path):
                stream.write(text)


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
