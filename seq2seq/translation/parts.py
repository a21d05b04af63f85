"""A translation that is being made lies in parts, and the same command goes on with it.

    out.en.parts/
      settings.json             the model and the options that all parts are made with
      000003-5d41402abc4b2a76   what block 3 of the text became: a line of JSON about it, then what the output will hold
      text.json                 which blocks the text has; there when a process has read all of it
      lock                      a byte for each block, locked by the process that makes it

A part is named for the text that it is made of, so a block whose text has changed is made again. Several processes
share the work without talking: each makes the blocks that are neither there nor locked, and whoever finds that none is
missing joins them. The system opens the locks of a process that ends, however it ends, and its blocks are free again.
The locks are of POSIX (`lockf`): a forked worker does not inherit them, and NFS knows them between machines. Where
there are none, and on Windows, nobody is kept out: work may be done twice, and nothing is lost.
"""

import hashlib
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from seq2seq.corpus.compression import open_member
from seq2seq.corpus.hashes import file_sha256
from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note, raise_if_stopped, tell_at_end
from seq2seq.files import atomic_file, is_sealed, sealed, sync_directory, write_json
from seq2seq.translation.blocks import Block
from seq2seq.translation.streams import reporting
from seq2seq.translation.watch import Counts

if sys.platform != "win32":
    import fcntl

FOLDER = ".parts"
_ATTRIBUTE = "user.seq2seq.translation"  # of an output: what it is the translation of
_LOOK_EVERY_S, _LOOK_AT_LEAST_EVERY_S = 0.2, 5.0
_SAY_EVERY_S = 600.0
_FIRST_BLOCK = 8  # the byte of block 0 in the file of locks; those before it:
_AT_WORK, _CHANGING = range(2)  # the second is held by whoever writes or removes what is of the whole text


class Parts:
    """The parts of one output, as one process sees them; use `open_parts`.

    Attributes:
        names: of the parts of the text, as far as it was read.
        n_passed: lines of blocks that were passed over, since they are made or others make them.
        lock: the open file of locks.
        is_joined: whether the output is there, whoever joined it.
    """

    def __init__(self, output: Path, settings: Mapping[str, Any], shard: tuple[int, int] | None, lock: int) -> None:
        self.folder = folder_of(output)
        self.output = output
        self.settings = settings
        self.n_passed = 0
        self.is_joined = False
        self._shard = shard
        self.lock = lock
        self.names: list[str] = []
        self._suffix = output.suffix if output.suffix in COMPRESSIONS else ""

    def unmade(self, blocks: Iterable[Block | None]) -> Iterator[Block | None]:
        """The blocks that this process is to make; each is locked until it is `put`."""
        self.names.clear()
        self.n_passed = 0
        for block in blocks:
            if block is None:
                yield None
                continue
            self.names.append(_name(block))
            if self._is_mine(block.number) and self._takes(block.number):
                yield block
            else:
                self.n_passed += len(block.pieces)
        with self._changing():
            if not self._is_gone():
                self._write_text()

    def put(self, block: Block, text: str, counts: Counts) -> None:
        """Keep what a block became, so that no interruption can lose it. That costs two fsyncs."""
        if self._is_gone():  # nobody who makes the same translation joins it without this block
            raise self._of_another_text()
        path = self.folder / _name(block)
        data = text.encode()
        with reporting(path), atomic_file(path) as file:
            about = {"lines": len(block.pieces), "counts": vars(counts)}
            if self._suffix:
                data = _compressed(data, self._suffix)
            about["sha256"] = hashlib.sha256(data).hexdigest()
            file.write(json.dumps(about).encode() + b"\n" + data)
        self._let_go(_FIRST_BLOCK + block.number)

    def missing(self) -> list[int]:
        """The blocks of the text that are not there."""
        return [number for number, name in enumerate(self.names) if not (self.folder / name).exists()]

    def are_free(self) -> bool:
        """Wait while others make parts. False: all are whole; True: one is free, since its process has ended."""
        began_s = said_s = time.monotonic()
        while not self._is_gone() and (missing := self.missing()):
            for number in missing:
                if self._takes(number):
                    self._let_go(_FIRST_BLOCK + number)
                    return True
            if time.monotonic() - said_s > _SAY_EVERY_S:
                said_s = time.monotonic()
                note(f"waiting for {len(missing)} parts that other processes make in {self.folder}")
            raise_if_stopped()
            time.sleep(min(_LOOK_EVERY_S + (time.monotonic() - began_s) / 10, _LOOK_AT_LEAST_EVERY_S))
        return False

    def join(self) -> Counts | None:
        """Make the output of parts that are all there, and remove them. What was counted in all of them.

        None: another process has joined them.

        Raises:
            TranslationError: it has joined those of another text; or see `join_parts`.
        """
        with self._changing():
            if not self._is_gone():
                counts = join_parts(self.output, self.names, self._record)
                self.is_joined = True
                return counts
        record = _record_of(self.output)
        if record is not None and record["text"] != _digest(self.names):
            raise self._of_another_text()
        return None

    def is_done(self, blocks: Iterable[Block | None]) -> bool:
        """Whether the output is there, and is the translation of these blocks with these settings."""
        record = _record_of(self.output)
        if record is None or record["settings"] != _digest(self.settings):
            return False
        self.names = [_name(block) for block in blocks if block is not None]
        self.is_joined = record == self._record(file_sha256(self.output))
        return self.is_joined

    def _record(self, sha256: str) -> dict[str, str]:
        return {"settings": _digest(self.settings), "text": _digest(self.names), "sha256": sha256}

    def _of_another_text(self) -> TranslationError:
        return TranslationError(
            f"{self.output}: another process has made it of another text, or somebody has removed {self.folder}; give "
            "each text its own output"
        )

    def _is_mine(self, number: int) -> bool:
        return self._shard is None or number % self._shard[1] == self._shard[0] - 1

    def _takes(self, number: int) -> bool:
        """Lock a block, if it is neither made nor locked. Nothing is left to do when the parts are joined."""
        self.is_joined = self.is_joined or self._is_gone()
        path = self.folder / self.names[number]
        if self.is_joined or path.exists() or not self._locked(_FIRST_BLOCK + number):
            return False
        if path.exists() or self._is_gone():  # another process has just made it
            self._let_go(_FIRST_BLOCK + number)
            return False
        return True

    def _is_gone(self) -> bool:
        """Whether the folder is no longer there, which others have joined then."""
        try:
            return not os.path.samestat(os.fstat(self.lock), (self.folder / "lock").stat())
        except FileNotFoundError:
            return True

    def _write_text(self) -> None:
        """Write which blocks the text has, for `join`."""
        content = {"blocks": self.names, "n_shards": 0 if self._shard is None else self._shard[1]}
        with reporting(self.folder):
            write_json(self.folder / "text.json", sealed(content))

    def _locked(self, byte: int) -> bool:
        return _try_lock(self.lock, byte)

    def _let_go(self, byte: int) -> None:
        if sys.platform != "win32":
            with suppress(OSError):
                fcntl.lockf(self.lock, fcntl.LOCK_UN, 1, byte)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep others from writing or removing what is of the whole text."""
        while not self._locked(_CHANGING):
            raise_if_stopped()
            time.sleep(_LOOK_EVERY_S)
        try:
            yield
        finally:
            self._let_go(_CHANGING)

    def begin(self) -> bool:
        """Write the settings, or see that those that are there are the same. False: others have removed the folder.

        Raises:
            TranslationError: parts were made with other settings.
        """
        path = self.folder / "settings.json"
        settings = json.loads(json.dumps(self.settings))  # tuples are lists there
        with self._changing():
            if self._is_gone():
                return False
            there = _settings_in(self.folder)
            if there is None or (there != settings and not self.has_any and self.is_alone()):
                with reporting(path):
                    write_json(path, sealed({"settings": settings}))
                _enter(self.lock)
                return True
        if there == settings:
            return True
        changes = "; ".join(
            f"{key} was {json.dumps(there.get(key))} and is now {json.dumps(settings.get(key))}"
            for key in sorted(there.keys() | settings.keys())
            if there.get(key) != settings.get(key)
        )
        raise TranslationError(
            f"{self.folder} was begun with other settings: {changes}. Give the same, or remove it to start anew"
        )

    @property
    def has_any(self) -> bool:
        """Whether a block is made."""
        return any(True for _ in self.folder.glob("[0-9]*-*"))

    @property
    def n_lines_kept(self) -> int:
        return sum(about["lines"] for path in self.folder.glob("[0-9]*-*") if (about := _about(path)))

    def clear(self) -> None:
        """Remove the folder, unless something in it is needed or another process is at work there."""
        shutil.rmtree(_joined(self.folder), ignore_errors=True)
        if not self._is_gone() and (self.is_joined or not self.has_any) and self.is_alone():
            shutil.rmtree(self.folder, ignore_errors=True)

    def is_alone(self) -> bool:
        """Whether no other process is at work in the folder; none begins there then."""
        return _try_lock(self.lock, _AT_WORK)


def folder_of(output: Path) -> Path:
    """Where the parts of an output lie; beside the file that a link leads to."""
    target = output.resolve()
    return target.with_name(target.name + FOLDER)


def _joined(folder: Path) -> Path:
    """What a folder of parts is called from when they are joined until it is removed."""
    return folder.with_name(f".{folder.name}.joined")


@contextmanager
def open_parts(output: Path, settings: Mapping[str, Any], shard: tuple[int, int] | None = None) -> Iterator[Parts]:
    """The parts of an output, which stay where an error or a signal ends the block, and `exit_status` says so.

    Args:
        settings: all that decides how a text is translated (the model, the options), as JSON values.
        shard: number, from 1, and how many: this process makes only this share of the blocks.
    Raises:
        TranslationError: the folder cannot be made, or its parts were made with other settings.
    """
    folder = folder_of(output)
    with reporting(folder):
        lock = _entered(folder)
    parts = Parts(output, settings, shard, lock)
    try:
        while not parts.begin():
            os.close(lock)
            with reporting(folder):
                lock = parts.lock = _entered(folder)
        try:
            yield parts
        except BaseException as error:
            with suppress(OSError):
                if n_lines := parts.n_lines_kept:
                    tell_at_end(error, f"{n_lines} translated lines are kept in {folder}; the same command goes on")
            raise
    finally:
        with suppress(OSError):
            parts.clear()
        with suppress(OSError):  # it is closed already if the folder cannot be made again
            os.close(lock)


def _entered(folder: Path) -> int:
    """The open file of locks of a folder, which is made if need be, with a sign that somebody is at work there."""
    while True:
        folder.mkdir(exist_ok=True)
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # another process has just removed the folder
            continue
        _enter(lock)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), (folder / "lock").stat()):
                return lock
        os.close(lock)


def _enter(lock: int) -> None:
    """Show others that this process is at work, and let them come in if it has seen that it is alone."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.lockf(lock, fcntl.LOCK_SH, 1, _AT_WORK)


def _try_lock(lock: int, byte: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):  # systems differ in how they say that it is taken
        return False
    except OSError:  # no locks here
        return True
    return True


def join_parts(output: Path, names: list[str], record: Any) -> Counts:
    """Write `output` of these parts, which are all there, and remove the folder.

    Args:
        record: from the SHA-256 of the output to what is kept with it.
    Raises:
        TranslationError: a part was changed after it was made, or the output cannot be written.
    """
    folder, target = folder_of(output), output.resolve()
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
    counts, whole = Counts(), hashlib.sha256()
    with reporting(output):
        with atomic_file(target) as file:
            for name in names:
                counts = counts + _copy(folder / name, file, whole)
            if hasattr(os, "setxattr"):  # only Linux has it
                with suppress(OSError):
                    os.setxattr(file.fileno(), _ATTRIBUTE, json.dumps(record(whole.hexdigest())).encode())
            if mode is not None:
                Path(file.name).chmod(mode)
        shutil.rmtree(_joined(folder), ignore_errors=True)
        folder.rename(_joined(folder))  # at once: other processes see all of the parts, or none
        sync_directory(target.parent)
    return counts


def _copy(path: Path, file: BinaryIO, whole: Any) -> Counts:
    """Add a part to the output."""
    about = _about(path)
    digest = hashlib.sha256()
    with path.open("rb") as part:
        part.readline()
        while data := part.read(1 << 20):
            file.write(data)
            digest.update(data)
            whole.update(data)
    if about is None or about["sha256"] != digest.hexdigest():
        path.unlink()
        raise TranslationError(f"{path} was changed after it was translated; give the same command again to remake it")
    return Counts.of(about["counts"])


def join(output: Path) -> tuple[int, int, dict[str, Any]]:
    """Make `output` of its parts, and remove these. The file appears whole or not at all.

    Returns:
        How many parts and lines it has, and the settings that they were made with.
    Raises:
        TranslationError: there are no parts, one is missing or damaged, or a process is at work on them.
    """
    folder = folder_of(output)
    settings = _settings_in(folder)
    text = _read(folder / "text.json", "remove it, and give the command again that translates")
    if settings is None or text is None:
        there = "; it is there, so there is nothing to join" if output.exists() else ""
        begun = " that is whole" if folder.is_dir() else ""
        raise TranslationError(f"{output}: no translation{begun} in {folder}{there}")
    with open_parts(output, settings) as parts:
        parts.names = list(text["blocks"])
        if not parts.is_alone():
            raise TranslationError(f"{output} is being translated by another process; wait for it")
        if missing := parts.missing():
            raise TranslationError(_incomplete(output, missing, text))
        counts = parts.join()
        assert counts is not None  # nobody else is at work
    return len(text["blocks"]), counts.n_written, settings


def _incomplete(output: Path, missing: list[int], text: dict[str, Any]) -> str:
    n_shards = text["n_shards"]
    which = "give its command again"
    if n_shards:
        shards = sorted({number % n_shards + 1 for number in missing})
        which = f"give the commands again that have --shard {', '.join(f'{shard}/{n_shards}' for shard in shards)}"
    return (
        f"{output} cannot be joined: {len(missing)} of its {len(text['blocks'])} parts are missing; {which}, or the "
        "command without --shard, which makes what is missing and joins it"
    )


def _name(block: Block) -> str:
    return f"{block.number:06d}-{block.digest[:16]}"


def _settings_in(folder: Path) -> Any:
    """What parts are made with; None if nothing says so."""
    content = _read(folder / "settings.json", f"remove {folder} to start anew")
    return content and content["settings"]


def _read(path: Path, remedy: str) -> Any:
    """The JSON object of a file of the folder; None if it is not there.

    Raises:
        TranslationError: it is damaged.
    """
    try:
        content = json.loads(path.read_bytes())
        if isinstance(content, dict) and is_sealed(content):
            return content
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        pass
    raise TranslationError(f"{path} is damaged; {remedy}")


def _about(path: Path) -> Any:
    """What a part says of itself; None if it is damaged."""
    try:
        with path.open("rb") as file:
            about = json.loads(file.readline())
        Counts.of(about["counts"])
        return about if isinstance(about["lines"], int) and isinstance(about["sha256"], str) else None
    except (OSError, ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _record_of(output: Path) -> dict[str, str] | None:
    """What a file is the translation of; None if that is not known."""
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        record = json.loads(os.getxattr(output.resolve(), _ATTRIBUTE))
        if isinstance(record, dict) and record.keys() == {"settings", "text", "sha256"}:
            return record
    return None


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _compressed(data: bytes, suffix: str) -> bytes:
    """The data as one member of a compressed file; members may follow each other."""
    file = io.BytesIO()
    with open_member(file, suffix) as member:
        member.write(data)
    return file.getvalue()
