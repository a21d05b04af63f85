"""Files, streams and devices that translations are written to."""

import io
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from seq2seq.errors import TranslationError
from seq2seq.exit_status import exit_status
from seq2seq.translation.output import open_output
from tests.devices import device, needs_devices
from tests.places import ROOT
from tests.translation.eleven_lines import SETTINGS, SUFFIXES, WHOLE, interrupted, names, record, text, translate

# --- files that are whole ---


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_whole_translation_is_a_file_alone(tmp_path: Path, suffix: str, resume: bool) -> None:
    path = tmp_path / f"out.en{suffix}"
    assert translate(path, resume=resume) == 0
    assert text(path) == WHOLE
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_translated_is_an_empty_file_that_can_be_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    translate(path, lines=[])
    assert text(path) == b""
    assert bool(path.read_bytes()) == bool(suffix)  # gunzip and its like refuse a file without a member
    assert names(tmp_path) == [path.name]


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    path.write_text("older")
    with open_output(path, SETTINGS) as output:
        output.write("a", b"A\n")
        output.checkpoint()
        assert path.read_text() == "older"
        assert (tmp_path / "out.en.partial").read_text() == "A\n"
        assert output.n_lines_done == 1
    assert path.read_text() == "A\n"


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("old.en", "new.en"):  # the second does not exist yet
        target, link = tmp_path / "elsewhere" / name, tmp_path / name
        link.symlink_to(target)
        if name == "old.en":
            target.write_text("old")
        interrupted(link, 7)
        translate(link, resume=True)
        assert link.is_symlink()
        assert target.read_bytes() == WHOLE
    assert names(tmp_path) == ["elsewhere", "new.en", "old.en"]
    assert names(tmp_path / "elsewhere") == ["new.en", "old.en"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_modes_are_those_of_the_umask_or_of_the_file_replaced(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        translate(tmp_path / "new.en")
        (tmp_path / "old.en").touch()
        (tmp_path / "old.en").chmod(0o606)
        interrupted(tmp_path / "old.en", 4)
        assert (tmp_path / "old.en.partial").stat().st_mode & 0o777 == 0o606  # as private as what it will be
        translate(tmp_path / "old.en", resume=True)
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.en", "old.en")] == [0o640, 0o606]


# --- disks, devices and other processes ---


def test_two_translations_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    message = r"out.en is being written by another process; wait for it, or choose"
    with open_output(path, SETTINGS) as output:
        for resume in (False, True):
            with pytest.raises(TranslationError, match=message):
                translate(path, resume=resume)
        code = f"""
from pathlib import Path
from tests.translation.eleven_lines import translate
translate(Path({str(path)!r}))
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
        assert b"is being written by another process" in done.stderr
        output.write("a", b"A\n")
    assert path.read_text() == "A\n"
    assert names(tmp_path) == ["out.en"]


def noise(n_lines: int, n_bytes: int) -> list[str]:
    """Lines that compression makes only half as long."""
    drawn = random.Random(1)
    return [drawn.randbytes(n_bytes).hex() for _ in range(n_lines)]


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_keeps_what_was_confirmed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    lines = noise(40, 301)
    with files_of_at_most(9000), pytest.raises(TranslationError) as caught:
        translate(path, lines=lines)
    n_lines = json.loads((tmp_path / f"{path.name}.partial.json").read_text())["n_lines"]
    assert 0 < n_lines < 40
    assert str(caught.value) == f"cannot write {path}: File too large"
    assert translate(path, lines=lines, resume=True) == n_lines
    assert text(path) == b"".join(map(record, lines))
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_last_checkpoint_may_fail_and_all_before_it_is_kept(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up() -> None:
        n_bytes = (tmp_path / f"{path.name}.partial").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes + 100, before[1]))

    lines = noise(4, 1201)
    try:
        with pytest.raises(TranslationError, match=rf"^cannot write {path}: File too large$") as caught:
            translate(path, lines=lines, stop_after=3, stop=fill_up)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert told(caught.value) == [f"3 translated lines are kept in {path}.partial; continue with --resume"]
    assert translate(path, lines=lines, resume=True) == 3
    assert text(path) == b"".join(map(record, lines))
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_disk_that_is_full_at_the_last_checkpoint_keeps_all_before_it(small_disk: Path, suffix: str) -> None:
    path, filler = small_disk / f"out.en{suffix}", small_disk / "filler"

    def fill_up() -> None:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(512)):
                pass

    with pytest.raises(TranslationError, match=rf"^cannot write {path}: No space left on device$") as caught:
        translate(path, stop_after=10, stop=fill_up)
    assert told(caught.value) == [f"9 translated lines are kept in {path}.partial; continue with --resume"]
    filler.unlink()
    assert translate(path, resume=True) == 9
    assert text(path) == WHOLE
    assert names(small_disk) == [path.name]


def told(error: BaseException) -> list[str]:
    """What the user is told at the end, beside the error."""
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, suppress(BaseException):
        patch.setattr(sys, "stderr", errors)

        def fail() -> None:
            raise error

        exit_status(fail)
    return errors.getvalue().splitlines()[1:]


def test_a_disk_that_was_full_from_the_start_leaves_nothing(tmp_path: Path) -> None:
    with files_of_at_most(0), pytest.raises(TranslationError, match=r"cannot write .*out.en: File too large$"):
        translate(tmp_path / "out.en")
    assert names(tmp_path) == []


def test_a_missing_directory_and_a_name_that_is_too_long_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TranslationError, match=r"no directory .*missing; create it first"):
        translate(tmp_path / "missing" / "out.en")
    with pytest.raises(TranslationError, match="File name too long"):
        translate(tmp_path / ("x" * 250))  # only with its ending
    with pytest.raises(TranslationError, match=r"cannot write .*: Is a directory"):
        translate(tmp_path)
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(TranslationError, match=r"cannot write .*out.en: Permission denied"):
        translate(tmp_path / "out.en")


@needs_devices
def test_devices_are_written_to_directly_and_cannot_be_resumed(tmp_path: Path) -> None:
    null, full = (device(tmp_path, name) for name in ("null", "full"))
    translate(null)
    assert null.is_char_device()
    with pytest.raises(TranslationError, match=rf"cannot write {full}: No space left on device$"):
        translate(full)
    assert full.is_char_device()
    with pytest.raises(TranslationError, match=rf"{null} cannot be resumed; --resume needs a regular file"):
        translate(null, resume=True)


def test_a_pipe_gets_the_text_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    translate(path)
    reader.join()
    assert received == [WHOLE]
    assert path.is_fifo() and names(tmp_path) == ["pipe"]


def test_a_pipe_whose_reader_left_is_no_error_of_the_output(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def leave() -> None:
        os.close(reader)

    with pytest.raises(BrokenPipeError):
        translate(path, stop_after=5, stop=leave)


def test_stdout_takes_every_line_and_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(raw)))
    with open_output(None, SETTINGS) as output:
        assert (output.n_lines_done, output.kept) == (0, "")
        output.write("a", b"A\n")
        assert raw.getvalue() == b""
        output.checkpoint()
        assert raw.getvalue() == b"A\n"
        output.write("b", b"B\n")
    assert raw.getvalue() == b"A\nB\n"
    with pytest.raises(TranslationError, match="stdout cannot be resumed; --resume needs"):
        translate(None, resume=True)  # type: ignore[arg-type]


@needs_devices
def test_a_full_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = open("/dev/full", "w")  # noqa: SIM115, PTH123
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(TranslationError, match="cannot write stdout: No space left on device"):
        translate(None)  # type: ignore[arg-type]
    with suppress(OSError):
        stream.close()
