"""A translation in parts: whole or not there, and the same command goes on with what an earlier one left."""

import io
import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq import files
from seq2seq.corpus.compression import open_binary
from seq2seq.errors import TranslationError
from seq2seq.exit_status import exit_status
from seq2seq.translation.blocks import Block, cut
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import Parts, folder_of, join, open_parts
from tests.places import ROOT

SUFFIXES = ["", ".gz", ".xz", ".bz2", ".zst"]
LINES = [f"Zeile {i}é" for i in range(11)]
SETTINGS = {"model": "0123abc", "beam_size": 4, "alpha": 0.6, "lengths": (1, 2)}
_SIZE = 18  # characters of a block: two lines


def record(line: str) -> str:
    """Some lines become several, as in n-best lists, and some become nothing."""
    return f"{line.upper()}\n" * (len(line) % 3)


WHOLE = "".join(map(record, LINES)).encode()


def blocks(lines: Sequence[str], beside: Sequence[str] | None = None) -> Iterator[Block | None]:
    return cut(map(Piece.of_line, lines, itertools.count(1), beside or [""] * len(lines)), _SIZE)


def translate(
    path: Path,
    lines: Sequence[str] = LINES,
    *,
    changes: dict[str, Any] | None = None,
    beside: Sequence[str] | None = None,
    shard: tuple[int, int] | None = None,
    stop_at: int | None = None,
    stop: Callable[[], object] | None = None,
) -> int | None:
    """Translate in parts, and join them; the number of blocks that were made.

    Args:
        stop_at: the number of the block, among those that are made, at which `stop` is called; without `stop` it is
            interrupted there.
    Returns:
        None if the output was complete.
    """
    n_made = 0
    with open_parts(path, SETTINGS | (changes or {}), shard) as parts:
        if parts.is_done(blocks(lines, beside)):
            return None
        for block in parts.unmade(blocks(lines, beside)):
            assert block is not None
            if n_made == stop_at:
                if stop is None:
                    raise KeyboardInterrupt
                stop()
            put(parts, block)
            n_made += 1
        if shard is None:
            assert not parts.are_free()
            total = parts.join()
            assert total is not None and (total["lines"], total["flagged"]) == (len(lines), len(parts.names))
    return n_made


def put(parts: Parts, block: Block) -> None:
    counts = Counter({"lines": len(block.pieces), "flagged": 1})
    parts.put(block, "".join(record(piece.source) for piece in block.pieces), counts)


def interrupted(path: Path, stop_at: int, lines: Sequence[str] = LINES, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        translate(path, lines, stop_at=stop_at, **options)


def text(path: Path) -> bytes:
    with open_binary(path) as file:
        return file.read()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def made(path: Path) -> list[Path]:
    return sorted(folder_of(path).glob("[0-9]*-*"))


N_BLOCKS = len(list(blocks(LINES)))

# --- whole ---


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_nothing_translated_is_an_empty_file_that_can_be_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    translate(path, [])
    assert text(path) == b""
    assert bool(path.read_bytes()) == bool(suffix)  # gunzip and its like refuse a file without a member
    assert names(tmp_path) == [path.name]


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("old.en", "new.en"):  # the second does not exist yet
        target, link = tmp_path / "elsewhere" / name, tmp_path / name
        link.symlink_to(target)
        if name == "old.en":
            target.write_text("old")
        interrupted(link, 2)
        translate(link)
        assert link.is_symlink()
        assert target.read_bytes() == WHOLE
    assert names(tmp_path) == ["elsewhere", "new.en", "old.en"]
    assert names(tmp_path / "elsewhere") == ["new.en", "old.en"]


def test_modes_are_those_of_the_umask_or_of_the_file_replaced(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        translate(tmp_path / "new.en")
        (tmp_path / "old.en").touch()
        (tmp_path / "old.en").chmod(0o606)
        translate(tmp_path / "old.en")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.en", "old.en")] == [0o640, 0o606]


# --- complete ---

needs_attributes = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs attributes of files")


@needs_attributes
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_is_complete_is_not_made_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    interrupted(path, 2)
    translate(path)
    before = path.stat()
    assert translate(path) is None
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    path.rename(tmp_path / f"final.en{suffix}")
    assert translate(tmp_path / f"final.en{suffix}") is None
    assert names(tmp_path) == [f"final.en{suffix}"]


@pytest.mark.parametrize(
    "other",
    [
        {"lines": ["another", *LINES[1:]]},
        {"lines": LINES[:10]},
        {"lines": [*LINES, ""]},
        {"lines": []},
        {"changes": {"beam_size": 5}},
        {"beside": [*[""] * 10, "Ende"]},
    ],
)
def test_another_text_or_other_settings_are_made_anew(tmp_path: Path, other: dict[str, Any]) -> None:
    path = tmp_path / "out.en"
    translate(path)
    assert translate(path, **other) is not None
    assert path.read_text() == "".join(map(record, other.get("lines", LINES)))


@needs_attributes
@pytest.mark.parametrize("edit", [lambda data: data + b"\n", lambda data: b"z" + data[1:], lambda data: b""])
def test_a_file_that_was_edited_is_made_anew(tmp_path: Path, edit: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "out.en"
    translate(path)
    status = path.stat()
    path.write_bytes(edit(path.read_bytes()))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # not the time gives it away
    assert translate(path) == N_BLOCKS
    assert path.read_bytes() == WHOLE


@needs_attributes
@pytest.mark.parametrize("record", [b"", b"\xff", b"a b"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "out.en"
    translate(path)
    with suppress(OSError):  # no room
        os.setxattr(path, "user.seq2seq.translation", record)
        assert translate(path) == N_BLOCKS


# --- interruptions ---


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_was_put_stays_and_the_same_again_goes_on(tmp_path: Path, stop: type[BaseException]) -> None:
    def raises() -> None:
        raise stop

    path = tmp_path / "out.en"
    with pytest.raises(stop) as caught:
        translate(path, stop_at=2, stop=raises)
    assert names(tmp_path) == ["out.en.parts"] and len(made(path)) == 2
    assert told(caught.value) == [f"2 finished blocks are kept in {path}.parts; the same command goes on"]
    assert translate(path) == N_BLOCKS - 2
    assert names(tmp_path) == ["out.en"]


def told(error: BaseException) -> list[str]:
    """What the user is told at the end, beside the error."""
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, suppress(BaseException):
        patch.setattr(sys, "stderr", errors)

        def fail() -> None:
            raise error

        exit_status(fail)
    return [line for line in errors.getvalue().splitlines() if "kept" in line]


def test_an_interruption_before_anything_is_put_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 0)
    assert names(tmp_path) == []
    (tmp_path / "out.en").write_text("older")
    interrupted(tmp_path / "out.en", 0)
    assert (tmp_path / "out.en").read_text() == "older"
    assert names(tmp_path) == ["out.en"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "chapter1.md",
            "out.en.parts holds chapter1.md, which is no part of a translation; move it, or choose another",
        ),
        ("01-chapter.md", "out.en.parts holds 01-chapter.md, which is no part"),
        ("settings.json", "settings.json is damaged; remove .*out.en.parts to start anew"),
    ],
)
def test_a_folder_with_something_else_in_it_is_refused_and_stays(tmp_path: Path, name: str, message: str) -> None:
    folder = tmp_path / "out.en.parts"
    folder.mkdir()
    (folder / name).write_text("mine")
    with pytest.raises(TranslationError, match=message):
        translate(tmp_path / "out.en")
    assert names(tmp_path) == ["out.en.parts"] and names(folder) == [name]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of open files")
def test_no_file_is_open_in_the_folder_when_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS keeps a file that is open under another name, and with it the folder."""
    remove, n_removed = shutil.rmtree, 0

    def watched(folder: Path, **options: Any) -> None:
        nonlocal n_removed
        n_removed += folder.exists()
        assert not [file for file in Path("/proc/self/fd").iterdir() if folder in file.resolve().parents]
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", watched)
    translate(tmp_path / "out.en")
    assert n_removed == 1 and names(tmp_path) == ["out.en"]


def test_only_what_has_changed_in_the_text_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    interrupted(path, N_BLOCKS - 1)
    others = [*LINES[:5], "Zeile Xé", *LINES[6:]]
    assert 1 < translate(path, others) < N_BLOCKS  # type: ignore[operator]
    assert path.read_text() == "".join(map(record, others))
    assert names(tmp_path) == ["out.en"]


def test_other_settings_are_refused_while_there_are_parts(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    interrupted(path, 2)
    message = rf"^{path}.parts was begun with other settings: beam_size was 4 and is now 5. Give the same, or remove it"
    with pytest.raises(TranslationError, match=message) as caught:
        translate(path, changes={"beam_size": 5})
    assert told(caught.value) == []  # that the same command goes on
    assert translate(path) == N_BLOCKS - 2


@settings(max_examples=20)
@given(suffix=st.sampled_from(SUFFIXES), stops=st.lists(st.integers(0, N_BLOCKS - 1), max_size=5))
@example(suffix=".gz", stops=[2, 1])
@example(suffix=".zst", stops=[])
def test_any_interruptions_give_the_text_of_an_unbroken_run(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, stops: list[int]
) -> None:
    path = tmp_path_factory.mktemp("runs") / f"out.en{suffix}"
    n_made = 0
    for stop in stops:
        if n_made + stop < N_BLOCKS:  # else nothing is left to interrupt
            interrupted(path, stop)
            n_made += stop
    assert translate(path) == N_BLOCKS - n_made
    assert text(path) == WHOLE
    assert names(path.parent) == [path.name]


CALLS = [(os, "fsync"), *((Path, name) for name in ("replace", "unlink", "rename", "mkdir"))]
CALLS += [(os, "open"), (shutil, "rmtree")]


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
                raise KeyboardInterrupt
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)  # no machine fails here, and a disk takes its time
        for owner, name in CALLS:
            patch.setattr(owner, name, failing(getattr(owner, name)))
        yield lambda: n_calls


@pytest.mark.slow
@pytest.mark.parametrize("afterwards", [False, True])
def test_an_interruption_at_any_change_of_the_file_system_loses_nothing(tmp_path: Path, afterwards: bool) -> None:
    with failing_at(-1, afterwards=False) as count:
        translate(tmp_path / "unbroken")
    assert count() > 20
    for n_th in range(count() + 1):
        path = tmp_path / str(n_th) / "out.en"
        path.parent.mkdir()
        path.write_text("older")
        with failing_at(n_th, afterwards=afterwards), suppress(KeyboardInterrupt):
            translate(path)
        assert path.read_bytes() in (b"older", WHOLE), n_th
        translate(path)
        assert path.read_bytes() == WHOLE, n_th
        assert names(path.parent) == ["out.en"], n_th


# --- disks ---


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def noise(n_lines: int, n_bytes: int) -> list[str]:
    """Lines that compression makes only half as long."""
    drawn = random.Random(1)
    return [drawn.randbytes(n_bytes).hex() for _ in range(n_lines)]


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_a_full_disk_keeps_what_was_put(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.en{suffix}"
    lines = [*noise(5, 301), *noise(1, 9_001), *noise(5, 301)]
    with files_of_at_most(9_000), pytest.raises(TranslationError) as caught:
        translate(path, lines)
    assert str(caught.value).endswith(": File too large") and "cannot write" in str(caught.value)
    assert len(made(path)) == 5
    assert translate(path, lines) == 6
    assert text(path) == "".join(map(record, lines)).encode()
    assert names(tmp_path) == [path.name]


def test_a_disk_that_is_full_when_the_parts_are_joined_keeps_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    lines = noise(20, 502)
    with files_of_at_most(5_000), pytest.raises(TranslationError, match=rf"^cannot write {path}: File too large$"):
        translate(path, lines)
    assert names(tmp_path) == ["out.en.parts"]
    assert translate(path, lines) == 0
    assert text(path) == "".join(map(record, lines)).encode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(TranslationError, match=r"cannot write .*out.en: Permission denied"):
        translate(tmp_path / "out.en")


# --- several ---


def test_who_makes_a_block_keeps_others_from_it_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.en"
    code = f"""
import time
from pathlib import Path
from tests.translation.test_parts import translate
def wait():
    print("waits", flush=True)
    time.sleep(600)
translate(Path({str(path)!r}), stop_at=2, stop=wait, shard=(1, 1))
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "waits\n"
            with open_parts(path, SETTINGS, (1, 1)) as parts:
                todo = [block.number for block in put_all(parts)]
                assert todo == [number for number in range(N_BLOCKS) if number > 2]
                assert parts.missing() == [2]
                with pytest.raises(TranslationError, match=f"{path} is being translated by another process; wait"):
                    join(path)
                slept: list[float] = []

                def sleep(seconds: float) -> None:
                    slept.append(seconds)
                    if sum(slept) > 6:
                        other.kill()
                        other.wait()

                monkeypatch.setattr(time, "sleep", sleep)
                assert parts.are_free()
                assert capsys.readouterr().err == f"waiting for 1 parts that other processes make in {path}.parts\n"
                assert [block.number for block in put_all(parts)] == [2]
                assert not parts.are_free()
                parts.join()
        finally:
            other.kill()
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]


def put_all(parts: Parts, lines: Sequence[str] = LINES) -> Iterator[Block]:
    for block in parts.unmade(blocks(lines)):
        assert block is not None
        put(parts, block)
        yield block


def test_what_others_have_joined_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    with open_parts(path, SETTINGS) as parts:
        for number, _ in enumerate(put_all(parts)):
            if number == 1:  # another process makes all the rest and joins it
                code = "import sys, pathlib, tests.translation.test_parts as t; t.translate(pathlib.Path(sys.argv[1]))"
                subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, check=True)
        assert number == 1
        assert not parts.are_free() and parts.join() is None
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]


def test_shards_make_each_block_once_and_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    n_made = [translate(path, shard=(number, 3)) for number in (3, 1)]
    message = r"out.en cannot be joined: 2 of its 6 parts are missing; give the commands of all shards again,"
    with pytest.raises(TranslationError, match=message):
        join(path)
    n_made.append(translate(path, shard=(2, 3)))
    assert sum(n_made) == N_BLOCKS == 6  # type: ignore[arg-type]
    assert join(path)[:2] == (N_BLOCKS, 11)
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]


def test_a_block_that_was_made_meanwhile_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.en"
    with open_parts(path, SETTINGS) as parts, open_parts(path, SETTINGS) as others:
        list(put_all(others))
        exists, looked = Path.exists, []

        def not_at_first_sight(self: Path) -> bool:
            looked.append(self)
            return exists(self) and looked.count(self) > 1

        monkeypatch.setattr(Path, "exists", not_at_first_sight)
        assert list(put_all(parts)) == []


def test_a_command_for_another_text_does_not_take_the_output_for_its_own(tmp_path: Path) -> None:
    output = tmp_path / "out.en"
    with open_parts(output, {}) as late:
        with open_parts(output, {}) as first:
            list(put_all(late))
            list(put_all(first, ["another"]))
            first.join()
        with pytest.raises(TranslationError, match="of another text"):
            late.join()
    assert output.read_text() == record("another") != ""
    assert list(tmp_path.iterdir()) == [output]


def test_a_block_of_another_text_is_not_kept_when_the_output_is_joined(tmp_path: Path) -> None:
    output = tmp_path / "out.en"
    with open_parts(output, {}) as late:
        block = next(late.unmade(blocks(LINES)))
        assert block is not None
        with open_parts(output, {}) as first:
            list(put_all(first, ["another"]))
            first.join()
        with pytest.raises(TranslationError, match="of another text"):
            put(late, block)
    assert list(tmp_path.iterdir()) == [output]


def test_a_command_that_reads_on_while_the_output_is_joined_leaves_no_folder(tmp_path: Path) -> None:
    output = tmp_path / "out.en"

    def read(first: Parts) -> Iterator[Block | None]:
        yield from blocks(LINES)
        first.join()

    with open_parts(output, {}) as late:
        with open_parts(output, {}) as first:
            list(put_all(first))
            assert list(late.unmade(read(first))) == []
        assert late.join() is None
    assert list(tmp_path.iterdir()) == [output]


def test_a_block_is_kept_without_a_look_at_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the time of each would grow with their number."""
    with open_parts(tmp_path / "out", {}) as parts:
        monkeypatch.setattr(files, "_remove_leftovers", None)
        for block in filter(None, parts.unmade(blocks(LINES))):
            put(parts, block)
        assert not parts.missing()
