"""Files and streams that translations are written to, and what interruptions leave of them."""

import io
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seq2seq.corpus.compression import open_binary
from seq2seq.errors import TranslationError
from seq2seq.translation.output import AlreadyTranslated, ResumableFile, open_output
from tests.places import ROOT

SUFFIXES = ["", ".gz", ".xz", ".bz2", ".zst"]
LINES = [f"Zeile {i}é" for i in range(11)]
SETTINGS = {"model": "0123abc", "beam_size": 4, "alpha": 0.6, "lengths": (1, 2)}
needs_devices = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def record(line: str) -> bytes:
    """Some lines become several, as in n-best lists, and some are blank."""
    return f"{line.upper()}\n".encode() * (len(line) % 3)


def translate(
    path: Path,
    *,
    resume: bool = False,
    lines: Sequence[str] = LINES,
    fingerprint: dict[str, Any] = SETTINGS,
    every: int = 3,
    stop_after: int | None = None,
    stop: Callable[[], object] | None = None,
) -> int:
    """A translation with a checkpoint after `every` lines; how many lines an earlier one had done."""
    with open_output(path, fingerprint, resume=resume) as output:
        n_before = output.n_lines_done
        for number, line in enumerate(output.skip_done(lines), start=n_before + 1):
            if number - 1 == stop_after:
                if stop is None:
                    raise KeyboardInterrupt
                stop()
            output.write(line, record(line))
            if number % every == 0:
                output.checkpoint()
    return n_before


def interrupted(path: Path, stop_after: int, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        translate(path, stop_after=stop_after, **options)


def text(path: Path) -> bytes:
    with open_binary(path) as file:
        return file.read()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


WHOLE = b"".join(map(record, LINES))


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


# --- interruptions ---


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_was_confirmed_stays_and_is_continued(tmp_path: Path, suffix: str, stop: type[BaseException]) -> None:
    def raises() -> None:
        raise stop

    path = tmp_path / f"out.en{suffix}"
    with pytest.raises(stop):
        translate(path, stop_after=8, stop=raises)
    assert names(tmp_path) == [f"{path.name}.partial", f"{path.name}.partial.json"]
    assert json.loads((tmp_path / f"{path.name}.partial.json").read_text())["n_lines"] == 6
    assert translate(path, resume=True) == 6
    assert names(tmp_path) == [path.name]
    translate(tmp_path / f"unbroken{suffix}")
    assert path.read_bytes() == (tmp_path / f"unbroken{suffix}").read_bytes()


def test_an_interruption_before_anything_is_confirmed_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 2)
    assert names(tmp_path) == []
    (tmp_path / "out.en").write_text("older")
    interrupted(tmp_path / "out.en", 0)
    assert (tmp_path / "out.en").read_text() == "older"
    assert names(tmp_path) == ["out.en"]


def test_who_interrupts_can_be_told_what_is_kept(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), open_output(tmp_path / "out.en", SETTINGS) as output:
        assert output.kept == ""
        for line in output.skip_done(LINES[:2]):
            output.write(line, record(line))
        assert output.kept == ""
        output.checkpoint()
        raise KeyboardInterrupt
    assert output.kept == f"2 translated lines are kept in {tmp_path}/out.en.partial; continue with --resume"


def test_a_checkpoint_without_new_lines_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with open_output(tmp_path / "out.en.gz", SETTINGS) as output:
        output.write("a", b"A\n")
        output.checkpoint()
        monkeypatch.setattr(os, "fsync", synced.append)
        output.checkpoint()
        assert not synced
        output.write("b", b"B\n")
        output.checkpoint()
        assert len(synced) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(("suffix", "kill_after"), [*((suffix, 8) for suffix in SUFFIXES), ("", 1), (".gz", 11)])
def test_a_killed_process_is_continued_to_the_same_bytes(tmp_path: Path, suffix: str, kill_after: int) -> None:
    path = tmp_path / f"out.en{suffix}"
    code = f"""
import os, signal
from pathlib import Path
from tests.translation.test_output import LINES, translate
lines = LINES + ["never translated"]
translate(Path({str(path)!r}), lines=lines, stop_after={kill_after}, stop=lambda: os.kill(os.getpid(), signal.SIGKILL))
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == -signal.SIGKILL
    assert translate(path, resume=True) == kill_after // 3 * 3
    translate(tmp_path / f"unbroken{suffix}")
    assert path.read_bytes() == (tmp_path / f"unbroken{suffix}").read_bytes()
    assert names(tmp_path) == [path.name, f"unbroken{suffix}"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(SUFFIXES),
    runs=st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.integers(1, 5)), max_size=5),
)
@example(suffix=".gz", runs=[(7, 3), (7, 3), (6, 1)])
def test_any_interruptions_give_the_text_of_an_unbroken_run(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, runs: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("runs") / f"out.en{suffix}"
    n_done = 0
    for stop_after, every in runs:
        if stop_after < n_done:
            continue  # nothing would be left to interrupt at
        interrupted(path, stop_after, resume=True, every=every)
        n_done = max(n_done, stop_after // every * every)
    assert translate(path, resume=True) == n_done
    assert text(path) == WHOLE
    assert names(path.parent) == [path.name]


CALLS = [(os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "touch"), (Path, "open")]


@contextmanager
def failing_at(n_th: int, *, afterwards: bool) -> Iterator[Callable[[], int]]:
    """Interrupt at the n-th change of the file system, before or after it; gives the number of changes so far."""
    counter = itertools.count()
    n_calls = 0

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal n_calls
            n_calls = next(counter)
            if n_calls == n_th and not afterwards:
                raise KeyboardInterrupt
            result = function(*arguments, **options)
            if n_calls == n_th:
                if isinstance(result, io.IOBase):
                    result.close()
                raise KeyboardInterrupt
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in CALLS:
            patch.setattr(owner, name, failing(getattr(owner, name)))
        yield lambda: n_calls


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("afterwards", [False, True])
def test_no_moment_of_an_interruption_loses_or_doubles_a_line(
    tmp_path: Path, suffix: str, is_killed: bool, afterwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_killed:  # then nothing tidies up
        monkeypatch.setattr(ResumableFile, "abandon", lambda file: file._file.close())
    for n_th in itertools.count():
        path = tmp_path / str(n_th) / f"out.en{suffix}"
        path.parent.mkdir()
        with failing_at(n_th, afterwards=afterwards) as n_calls, suppress(KeyboardInterrupt):
            translate(path)
        if n_calls() < n_th:  # nothing was left to fail
            break
        if not is_killed and not path.exists():
            left = [name.removeprefix(path.name) for name in names(path.parent)]
            assert left in ([], [".partial", ".partial.json"])
        if path.exists():
            assert text(path) == WHOLE
            with suppress(AlreadyTranslated):
                translate(path, resume=True)
        else:
            translate(path, resume=True)
        assert text(path) == WHOLE
    assert n_th > 12


# --- what cannot be resumed ---


def test_a_partial_file_is_not_overwritten_by_a_forgotten_option(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    before = (tmp_path / "out.en.partial").read_bytes()
    message = (
        "out.en.partial holds 6 translated lines of an interrupted translation: continue it with --resume, or remove"
    )
    with pytest.raises(TranslationError, match=message):
        translate(tmp_path / "out.en")
    assert (tmp_path / "out.en.partial").read_bytes() == before
    (tmp_path / "out.en.partial").unlink()  # as the message says
    assert translate(tmp_path / "out.en") == 0
    assert names(tmp_path) == ["out.en"]


def test_a_complete_file_has_nothing_to_resume(tmp_path: Path) -> None:
    (tmp_path / "out.en").write_text("older")
    with pytest.raises(AlreadyTranslated, match=r"nothing to resume: .*out.en is complete; leave out --resume to tr"):
        translate(tmp_path / "out.en", resume=True)
    assert (tmp_path / "out.en").read_text() == "older"
    translate(tmp_path / "out.en")
    assert (tmp_path / "out.en").read_bytes() == WHOLE


def test_other_settings_are_named_with_both_values(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    changed = {"model": "0123abc", "beam_size": 5, "lengths": [1, 2], "n_best": 2}
    with pytest.raises(TranslationError) as caught:
        translate(tmp_path / "out.en", resume=True, fingerprint=changed)
    partial = f"{tmp_path}/out.en.partial"
    assert str(caught.value) == (
        f"{partial} was begun with other settings: alpha was 0.6 and is now null; beam_size was 4 and is now 5; "
        f"n_best was null and is now 2. Continue it with the same, or remove {partial} to start anew"
    )
    assert translate(tmp_path / "out.en", resume=True) == 6


def test_a_file_is_not_continued_in_another_compression(tmp_path: Path) -> None:
    (tmp_path / "link.gz").symlink_to(tmp_path / "out.en")
    interrupted(tmp_path / "link.gz", 8)
    with pytest.raises(TranslationError, match=r'compression was ".gz" and is now ""'):
        translate(tmp_path / "out.en", resume=True)


@pytest.mark.parametrize("n_th", [0, 5])
def test_another_source_is_refused(tmp_path: Path, n_th: int) -> None:
    interrupted(tmp_path / "out.en", 8)
    changed = [*LINES[:n_th], "another", *LINES[n_th + 1 :]]
    with pytest.raises(TranslationError, match=r"lines 1 to 6 of the input are not those .*; give the same input, or"):
        translate(tmp_path / "out.en", resume=True, lines=changed)
    with pytest.raises(TranslationError, match=r"the input has 5 lines, and .* translations of 6; give the same"):
        translate(tmp_path / "out.en", resume=True, lines=LINES[:5])
    joined = ["".join(LINES[:2]), "", *LINES[2:]]  # the same text, cut elsewhere
    with pytest.raises(TranslationError, match="lines 1 to 6"):
        translate(tmp_path / "out.en", resume=True, lines=joined)
    assert translate(tmp_path / "out.en", resume=True) == 6


def test_lines_that_were_not_translated_yet_may_change(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    assert translate(tmp_path / "out.en", resume=True, lines=LINES[:6]) == 6
    assert (tmp_path / "out.en").read_bytes() == b"".join(map(record, LINES[:6]))


def test_a_shorter_partial_file_is_refused_and_a_longer_one_cut(tmp_path: Path) -> None:
    path, partial = tmp_path / "out.en", tmp_path / "out.en.partial"
    interrupted(path, 8)
    data = partial.read_bytes()
    sidecar = json.loads((tmp_path / "out.en.partial.json").read_text())
    partial.write_bytes(data[: sidecar["n_bytes"] - 1])
    with pytest.raises(
        TranslationError, match=rf"has {sidecar['n_bytes'] - 1} bytes, but {sidecar['n_bytes']} were wr"
    ):
        translate(path, resume=True)
    partial.write_bytes(data[: sidecar["n_bytes"]] + b"half a li")
    translate(path, resume=True)
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": 1, "fingerprint": {}}', b"\xff", b"{"])
def test_a_damaged_sidecar_is_refused(tmp_path: Path, content: bytes) -> None:
    interrupted(tmp_path / "out.en", 8)
    (tmp_path / "out.en.partial.json").write_bytes(content)
    for resume in (False, True):
        with pytest.raises(TranslationError, match=r"out.en.partial.json is damaged; remove .*out.en.partial to start"):
            translate(tmp_path / "out.en", resume=resume)
    (tmp_path / "out.en.partial").unlink()
    assert translate(tmp_path / "out.en", resume=True) == 0


def test_a_sidecar_of_another_version_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    (tmp_path / "out.en.partial.json").write_text('{"format": 2, "unheard": "of"}')
    with pytest.raises(TranslationError, match="another version of this program; continue with that one, or remove"):
        translate(tmp_path / "out.en", resume=True)


def test_a_partial_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.en.partial").write_text("mine")
    for resume in (False, True):
        with pytest.raises(TranslationError, match=r"exists without out.en.partial.json, .*; move it away"):
            translate(tmp_path / "out.en", resume=resume)
    assert (tmp_path / "out.en.partial").read_text() == "mine"
    assert names(tmp_path) == ["out.en.partial"]


def test_writing_before_skipping_is_a_mistake_of_ours(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    with suppress(KeyboardInterrupt), open_output(tmp_path / "out.en", SETTINGS, resume=True) as output:
        for line in LINES:  # as many as there were before, and more
            with pytest.raises(AssertionError):
                output.write(line, record(line))
        raise KeyboardInterrupt
    with pytest.raises(AssertionError), open_output(tmp_path / "out.en", SETTINGS, resume=True):
        pass
    assert translate(tmp_path / "out.en", resume=True) == 6


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
from tests.translation.test_output import translate
translate(Path({str(path)!r}))
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
        assert b"is being written by another process" in done.stderr
        output.write("a", b"A\n")
    assert path.read_text() == "A\n"
    assert names(tmp_path) == ["out.en"]


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
    lines = [os.urandom(301).hex() for _ in range(40)]
    with files_of_at_most(9000), pytest.raises(TranslationError) as caught:
        translate(path, lines=lines)
    n_lines = json.loads((tmp_path / f"{path.name}.partial.json").read_text())["n_lines"]
    assert 0 < n_lines < 40
    kept = f"{n_lines} translated lines are kept in {path}.partial; continue with --resume"
    assert str(caught.value) == f"cannot write {path}: File too large; {kept}"
    assert translate(path, lines=lines, resume=True) == n_lines
    assert text(path) == b"".join(map(record, lines))
    assert names(tmp_path) == [path.name]


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


def device(folder: Path, name: str) -> Path:
    """/dev/null or /dev/full. Root could replace the real one, if what is tested were broken, so root gets a copy."""
    path = Path("/dev", name)
    if os.geteuid() != 0:
        return path
    try:
        os.mknod(folder / name, 0o666 | stat.S_IFCHR, path.stat().st_rdev)
        (folder / name).write_bytes(b"")
    except OSError:
        pytest.skip("no device can be made here")
    return folder / name


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
