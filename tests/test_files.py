"""Files and folders that are whole or not there at all."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from seq2seq.errors import ConfigError
from seq2seq.files import (
    append_text,
    atomic_directory,
    atomic_file,
    cache_directory,
    is_sealed,
    sealed,
    write_json,
    write_text,
)
from tests.nightly import IS_NIGHTLY, drawn
from tests.places import ROOT
from tests.processes import until


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_appended_whole_is_not_appended(tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    append_text(tmp_path / "rows", "first\n")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9, before[1]))
        with pytest.raises(OSError, match="too large"):
            append_text(tmp_path / "rows", "second\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "rows").read_text() == "first\n"
    append_text(tmp_path / "rows", "second\n")
    assert (tmp_path / "rows").read_text() == "first\nsecond\n"


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written to disk, and when names change. A power cut cannot be provoked, but this order survives one."""
    found: list[str] = []
    replace = Path.replace

    def fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        found.append("folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes")

    def rename(self: Path, target: Path) -> Path:
        found.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    monkeypatch.setattr(Path, "rename", rename)
    return found


def test_a_file_is_on_disk_before_it_gets_its_name_and_the_name_before_the_write_is_over(
    tmp_path: Path, calls: list[str]
) -> None:
    write_text(tmp_path / "file", "new")
    assert calls == ["3 bytes", "rename", "folder"]


@pytest.mark.parametrize(("number", "is_told"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_file_system_that_writes_no_folders_to_disk_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_told: bool
) -> None:
    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, "the disk says no")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no") if is_told else nullcontext():
        write_text(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


def test_the_files_of_a_folder_are_on_disk_before_it_gets_its_name(tmp_path: Path, calls: list[str]) -> None:
    with atomic_directory(tmp_path / "folder") as folder:
        (folder / "inner").mkdir()
        (folder / "inner/file").write_bytes(b"new")
        assert not (tmp_path / "folder").exists()
    assert calls == ["3 bytes", "rename", "folder"]


def test_a_sealed_object_is_known_by_its_checksum_after_json_changed_its_types() -> None:
    content = {"a": (1, 2.5), "b": {3: None, "é": "\udc80"}, "sha256": "of something else"}
    read = json.loads(json.dumps(sealed(content)))
    assert is_sealed(read)
    for name, value in (("a", [1, 2.6]), ("b", {}), ("c", 0), ("sha256", "0" * 64), ("sha256", None)):
        assert not is_sealed(read | {name: value})
    assert not is_sealed({name: value for name, value in read.items() if name != "sha256"})
    assert not is_sealed({})


def test_a_name_that_is_not_utf_8_can_be_noted(tmp_path: Path) -> None:
    write_json(tmp_path / "notes.json", {"été": "caf\udce9"})
    assert json.loads((tmp_path / "notes.json").read_text(encoding="utf-8")) == {"été": "caf\udce9"}


def test_without_a_home_somebody_must_name_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("SEQ2SEQ_CACHE", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # this user has no account
    with pytest.raises(ConfigError, match=r"there is no home directory; name another folder .*, by SEQ2SEQ_CACHE or"):
        cache_directory()
    assert cache_directory(str(tmp_path)) == tmp_path


def test_files_get_the_permissions_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "file") as file:
            file.write(b"x")
        with atomic_directory(tmp_path / "folder") as building:
            (building / "private").touch(0o600)  # as some libraries write
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "folder", "folder/private")]
    assert modes == [0o640, 0o750, 0o640]


def test_the_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "b.json", {"é": [1]})
    assert (tmp_path / "a" / "b.json").read_text(encoding="utf-8").endswith("}\n")
    assert json.loads((tmp_path / "a" / "b.json").read_text(encoding="utf-8")) == {"é": [1]}


def fill(path: Path, text: str, replace: bool, fails: bool = False) -> None:
    with atomic_directory(path, replace=replace) as building:
        (building / "file").write_text(text)
        if fails:
            raise KeyboardInterrupt


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_that_failed_leaves_nothing_and_spoils_nothing(tmp_path: Path, replace: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "folder", "half", replace, fails=True)
    assert list(tmp_path.iterdir()) == []
    fill(tmp_path / "folder", "old", replace)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "folder", "half", replace, fails=True)
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["old"]


def test_a_folder_is_replaced_only_if_asked_for(tmp_path: Path) -> None:
    fill(tmp_path / "folder", "old", replace=False)
    with pytest.raises(OSError, match="not empty"):
        fill(tmp_path / "folder", "new", replace=False)
    assert (tmp_path / "folder" / "file").read_text() == "old"
    fill(tmp_path / "folder", "new", replace=True)
    assert (tmp_path / "folder" / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


# --- links ---


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "folder").symlink_to("disk/real")
    (tmp_path / "file").symlink_to("disk/text")
    if exists:
        fill(tmp_path / "disk" / "real", "old", replace=False)
        write_text(tmp_path / "disk" / "text", "old")
    fill(tmp_path / "folder", "new", replace=True)
    write_text(tmp_path / "file", "new")
    assert (tmp_path / "folder").readlink() == Path("disk/real")
    assert (tmp_path / "file").readlink() == Path("disk/text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "file", "folder"]
    disk = tmp_path / "disk"
    found = {str(path.relative_to(disk)): path.read_text() for path in disk.rglob("*") if path.is_file()}
    assert found == {"text": "new", "real/file": "new"}


def test_a_signal_in_the_middle_of_a_removal_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `os.close`, before rmtree has noted it: rmtree closes again, and the signal comes out as an OSError."""
    close = os.close
    building: list[Path] = []
    interrupted: list[int] = []

    def interrupted_close(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        close(descriptor)
        if is_folder and building and not building[0].exists() and not interrupted:
            interrupted.append(descriptor)
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted_close)
    with suppress(KeyboardInterrupt), atomic_directory(tmp_path / "folder") as made:
        building.append(made)
        (made / "a").write_text("whole")
    assert interrupted
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


# --- processes that end in the middle ---

WRITER = """
import os, signal, sys, time
from pathlib import Path
from seq2seq.exit_status import exit_status, raise_if_stopped
from seq2seq.files import atomic_directory, atomic_file

def rest(pause):
    if pause == "until told":
        sys.stdin.readline()
    else:
        time.sleep(float(pause))

def write(folder, pause):
    with atomic_directory(folder / "folder", replace=True) as building:
        (building / "a").write_text("whole")
        (building / "sub").mkdir()
        (building / "sub" / "b").write_text("whole")
        rest(pause)
    with atomic_file(folder / "file") as file:
        file.write(b"whole")
        rest(pause)

def work():
    print("ready", flush=True)
    while True:
        raise_if_stopped()  # Python loses an exception now and then, such as one that is raised in a destructor
        write(Path(sys.argv[1]), sys.argv[2])

sys.exit(exit_status(work))
"""


def start_writer(folder: Path, pause: float | str) -> subprocess.Popen[str]:
    """A process that writes a folder and a file in `folder` again and again, and pauses in the middle of each.

    Args:
        pause: in seconds; or "until told", which is by a line on its stdin.
    """
    command = [sys.executable, "-c", WRITER, str(folder), str(pause)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": "."},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def assert_whole(folder: Path) -> None:
    """Nothing in `folder` but whole results."""
    assert {path.name for path in folder.iterdir()} <= {"folder", "file"}
    if (folder / "folder").exists():
        found = {str(path.relative_to(folder)) for path in (folder / "folder").rglob("*")}
        assert found == {"folder/a", "folder/sub", "folder/sub/b"}
    assert all(path.read_text() == "whole" for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_leaves_nothing_unfinished(tmp_path: Path, number: signal.Signals) -> None:
    folders = [tmp_path / str(n) for n in range(40 if IS_NIGHTLY else 2)]
    moments = drawn(number)
    writers = [start_writer(folder, 0.0005) for folder in folders]
    try:
        for writer in writers:
            time.sleep(moments.uniform(0.0, 0.02))
            writer.send_signal(number)
        for writer, folder in zip(writers, folders, strict=True):
            _, errors = writer.communicate(timeout=120)
            assert writer.returncode == 128 + number, errors
            assert_whole(folder)
    finally:
        for writer in writers:  # one that missed its signal would write for ever
            writer.kill()


def left_by_a_killed_writer(folder: Path, before: set[Path]) -> set[Path]:
    """What is unfinished after a writer was killed in the middle of a folder, which is not one of those before."""
    writer = start_writer(folder, "until told")
    until(lambda: set(folder.glob(".folder.*.tmp/new/sub/b")) - before)
    writer.kill()
    writer.communicate()
    return set(folder.glob(".folder.*.tmp/new/sub/b"))


def test_what_a_killed_process_left_goes_with_the_next_write_of_the_same_name(tmp_path: Path) -> None:
    left = left_by_a_killed_writer(tmp_path, set())
    left_by_a_killed_writer(tmp_path, left)
    (leftover,) = tmp_path.glob(".*.tmp")  # the second writer removed what the first one left
    others = [tmp_path / name for name in (".folder.notes.tmp", ".folder.more.0123abcd.tmp", ".file.tmp")]
    for other in others:
        other.write_text("somebody else's")
    write_text(tmp_path / "file", "x")
    assert leftover.exists()
    fill(tmp_path / "folder", "x", replace=False)
    assert not leftover.exists()
    assert all(other.exists() for other in others)


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    writer = start_writer(tmp_path, "until told")
    until(lambda: list(tmp_path.glob(".folder.*.tmp/new/sub/b")))
    fill(tmp_path / "folder", "mine", replace=True)
    assert (tmp_path / "folder" / "file").read_text() == "mine"
    assert writer.stdin is not None
    writer.stdin.write("\n\n")
    writer.stdin.flush()
    until(lambda: (tmp_path / "file").exists() or writer.poll() is not None)
    writer.terminate()
    _, errors = writer.communicate(timeout=120)
    assert writer.returncode == 128 + signal.SIGTERM, errors
    assert_whole(tmp_path)


def test_an_old_folder_comes_back_if_the_new_one_did_not_take_its_place(tmp_path: Path) -> None:
    fill(tmp_path / "folder", "old", replace=False)
    unfinished = tmp_path / ".folder.0123abcd.tmp"  # of a process that was killed between two renames
    (unfinished / "new").mkdir(parents=True)
    (tmp_path / "folder").rename(unfinished / "old")
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "folder", "half", replace=True, fails=True)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (tmp_path / "folder" / "file").read_text() == "old"


def test_many_processes_may_write_the_same_names(tmp_path: Path) -> None:
    """The moment between making a name and locking it is short, but others look for leftovers just then."""
    code = """
import sys
from pathlib import Path
from seq2seq.files import write_text
for _ in range(100):
    write_text(Path(sys.argv[1]) / "file", "whole")
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    writers = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    assert_whole(tmp_path)
