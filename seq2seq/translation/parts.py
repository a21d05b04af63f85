"""A translation that is being made lies in parts, and the same command goes on with it.

    out.en.parts/
      settings.json             the model and the options that all parts are made with; when a shard has read all of
                                the text, also which parts it has
      000003-5d41402abc4b2a76   what block 3 of the text became: the SHA-256 of the rest, what was counted in it, and
                                what the output will hold
      lock                      a byte for each block, locked by the process that makes it

A part is named for the text that it is made of, so a block whose text has changed is made again. Several processes
share the work without talking: each makes the blocks that are neither there nor locked, and whoever finds that none is
missing joins them. The system opens the locks of a process that ends, however it ends, and its blocks are free again.
The locks are of POSIX (`lockf`): a forked worker does not inherit them, and NFS knows them between machines. Where
there are none, nobody is kept out: work may be done twice, and nothing is lost.
"""

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from seq2seq.corpus.compression import open_member
from seq2seq.corpus.hashes import file_sha256
from seq2seq.corpus.sources import compression_of
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note, raise_if_stopped, tell_at_end
from seq2seq.files import atomic_file, is_sealed, sealed, write_json
from seq2seq.translation.blocks import Block
from seq2seq.translation.streams import reporting

FOLDER = ".parts"
_ATTRIBUTE = "user.seq2seq.translation"  # of an output: what it is the translation of
_LONGEST_WAIT_S = 5.0  # between two looks at what others make
_LOOKS = 10  # without a word, which is some 5 s at first
# What a folder of parts holds, by name. Hidden files are unfinished ones, or of the system.
_OURS = re.compile(r"lock|settings\.json|\d{6,}-[0-9a-f]{16}|\..*")
# Bytes of the file of locks. The first is shared by all who are at work; who has it alone knows that nobody else is.
# The second is held by whoever changes what is of the whole text.
_AT_WORK, _CHANGING, _FIRST_BLOCK = 0, 1, 8


class Parts:
    """The parts of one output, as one process sees them; use `open_parts`.

    Attributes:
        names: of the parts of the text, as far as it was read.
        n_passed: texts of blocks that were passed over, since they are made or others make them.
        is_joined: whether the output is there.
    """

    def __init__(self, output: Path, settings: Mapping[str, Any], shard: tuple[int, int] | None = None) -> None:
        self.output = output
        self.folder = folder_of(output)
        self.settings = settings
        self.names: list[str] = []
        self.n_passed = 0
        self.is_joined = False
        self._shard = shard
        with reporting(self.folder):
            self._enter()
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        _unlock(self._file, _CHANGING)

    def unmade(self, blocks: Iterable[Block | None]) -> Iterator[Block | None]:
        """The blocks that this process is to make; each is locked until it is `put`."""
        self.names, self.n_passed = [], 0
        for block in blocks:
            if block is None:
                yield None
                continue
            self.names.append(_name(block))
            is_mine = self._shard is None or block.number % self._shard[1] == self._shard[0] - 1
            if is_mine and self._takes(block.number):
                yield block
            else:
                self.n_passed += sum(len(piece.texts) for piece in block.pieces)
        if self._shard is not None:
            with self._changing():
                if not self._is_gone():
                    self._write_settings(self.names)

    def put(self, block: Block, text: str, counts: Counter[str]) -> None:
        """Keep what a block became, so that no interruption can lose it. That costs two fsyncs."""
        if self._is_gone():  # nobody who makes the same translation joins it without this block
            raise self._of_another_text()
        path = self.folder / _name(block)
        with reporting(path), atomic_file(path, sweeps=False) as file:  # the folder itself goes in the end
            content = json.dumps(counts).encode() + b"\n" + _compressed(text.encode(), compression_of(self.output))
            file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        _unlock(self._file, _FIRST_BLOCK + block.number)

    def missing(self) -> list[int]:
        """The blocks of the text that are not there."""
        return [number for number, name in enumerate(self.names) if not (self.folder / name).exists()]

    def are_free(self) -> bool:
        """Wait while others make parts. False: all are whole; True: one is free, since its process has ended."""
        n_looks, missing = 0, self.missing()
        while not self._is_gone() and missing:
            for number in missing:
                if self._takes(number):
                    _unlock(self._file, _FIRST_BLOCK + number)
                    return True
            n_looks += 1
            if n_looks % _LOOKS == 0:
                note(f"waiting for {len(missing)} parts that other processes make in {self.folder}")
            raise_if_stopped()
            time.sleep(min(0.1 * n_looks, _LONGEST_WAIT_S))
            missing = [number for number in missing if not (self.folder / self.names[number]).exists()]
        return False

    def join(self) -> Counter[str] | None:
        """Make the output of the parts, which are all there, and remove them. What was counted in all of them.

        None: another process has joined them.

        Raises:
            TranslationError: it has joined those of another text; a part was changed after it was made; or the output
                cannot be written.
        """
        with self._changing():
            if not self._is_gone():
                counts = self._write_output()
                self.is_joined = True
                self._remove()
                return counts
        of_text, _ = _record_of(self.output)
        if of_text not in ("", self._digest()):
            raise self._of_another_text()
        return None

    def is_done(self, blocks: Iterable[Block | None]) -> bool:
        """Whether the output is there, and is the translation of these blocks with these settings."""
        of_text, sha256 = _record_of(self.output)
        if of_text:
            self.names = [_name(block) for block in blocks if block is not None]
            self.is_joined = of_text == self._digest() and sha256 == file_sha256(self.output)
        return self.is_joined

    def is_alone(self) -> bool:
        """Whether no other process is at work in the folder; none begins there then."""
        return _lock(self._file, _AT_WORK)

    def made(self) -> list[Path]:
        """The parts in the folder."""
        return list(self.folder.glob("[0-9]*-*"))

    def close(self) -> None:
        """Remove the folder, unless something in it is needed or another process is at work there."""
        with self._changing():
            if not self._is_gone() and (self.is_joined or not self.made()) and self.is_alone():
                self._remove()
        os.close(self._file)  # first: NFS keeps an open file under another name, and with it the folder
        shutil.rmtree(_joined(self.folder), ignore_errors=True)

    def _enter(self) -> None:
        """Open the file of locks of the folder, which is made if need be, and lock what is of the whole text."""
        while True:
            self.folder.mkdir(exist_ok=True)
            try:
                self._check_ours()
                self._file = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # another process has just removed the folder
                continue
            _lock(self._file, _AT_WORK, is_shared=True, waits=True)
            _lock(self._file, _CHANGING, waits=True)
            if not self._is_gone():
                return
            os.close(self._file)

    def _check_ours(self) -> None:
        """Check that all in the folder is of a translation: in the end, the folder is removed."""
        if others := [path.name for path in self.folder.iterdir() if not _OURS.fullmatch(path.name)]:
            raise TranslationError(
                f"{self.folder} holds {min(others)}, which is no part of a translation; move it, or choose another "
                "--output"
            )
        _settings_in(self.folder)  # damaged ones are another's, or need a look

    def _begin(self) -> None:
        """Write the settings, or see that those that are there are the same."""
        settings = json.loads(json.dumps(self.settings))  # tuples are lists there
        there = _settings_in(self.folder).get("settings")
        if there is None or (there != settings and not self.made() and self.is_alone()):
            self._write_settings([])
            _lock(self._file, _AT_WORK, is_shared=True)  # and no longer alone
        elif there != settings:
            changes = "; ".join(
                f"{key} was {json.dumps(there.get(key))} and is now {json.dumps(settings.get(key))}"
                for key in sorted(there.keys() | settings.keys())
                if there.get(key) != settings.get(key)
            )
            raise TranslationError(
                f"{self.folder} was begun with other settings: {changes}. Give the same, or remove it to start anew"
            )

    def _write_settings(self, names: list[str]) -> None:
        with reporting(self.folder):
            write_json(self.folder / "settings.json", sealed({"settings": self.settings, "parts": names}))

    def _takes(self, number: int) -> bool:
        """Lock a block, if it is neither made nor locked. Nothing is left to do when the parts are joined."""
        path = self.folder / self.names[number]
        if path.exists() or not _lock(self._file, _FIRST_BLOCK + number):
            return False
        if path.exists() or self._is_gone():  # another process has just made it
            _unlock(self._file, _FIRST_BLOCK + number)
            return False
        return True

    def _is_gone(self) -> bool:
        """Whether the folder of the file of locks is no longer there, since others have joined or removed it."""
        try:
            return not os.path.samestat(os.fstat(self._file), (self.folder / "lock").stat())
        except FileNotFoundError:
            return True

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep others from writing or removing what is of the whole text."""
        _lock(self._file, _CHANGING, waits=True)
        try:
            yield
        finally:
            _unlock(self._file, _CHANGING)

    def _remove(self) -> None:
        """Remove the folder at once: other processes see all of the parts, or none. `close` does the rest."""
        shutil.rmtree(_joined(self.folder), ignore_errors=True)
        self.folder.rename(_joined(self.folder))

    def _write_output(self) -> Counter[str]:
        target = self.output.resolve()
        counts, sha256 = Counter[str](), hashlib.sha256()
        with reporting(self.output), atomic_file(target) as file:
            for name in self.names:
                of_part, data = _read_part(self.folder / name)
                counts.update(of_part)
                file.write(data)
                sha256.update(data)
            if hasattr(os, "setxattr"):  # only Linux has it
                with suppress(OSError):
                    os.setxattr(file.fileno(), _ATTRIBUTE, f"{self._digest()} {sha256.hexdigest()}".encode())
            if target.exists():
                Path(file.name).chmod(target.stat().st_mode & 0o7777)
        return counts

    def _digest(self) -> str:
        """Of what the output is the translation of."""
        return hashlib.sha256(json.dumps([self.settings, self.names], sort_keys=True).encode()).hexdigest()

    def _of_another_text(self) -> TranslationError:
        return TranslationError(
            f"{self.output}: another process has made it of another text, or somebody has removed {self.folder}; give "
            "each text its own output"
        )


@contextmanager
def open_parts(output: Path, settings: Mapping[str, Any], shard: tuple[int, int] | None = None) -> Iterator[Parts]:
    """The parts of an output, which stay where an error or a signal ends the block, and `exit_status` says so.

    Args:
        settings: all that decides how a text is translated (the model, the options), as JSON values.
        shard: number, from 1, and how many: this process makes only this share of the blocks.
    Raises:
        TranslationError: the folder cannot be made, or its parts were made with other settings.
    """
    parts = Parts(output, settings, shard)
    try:
        yield parts
    except BaseException as error:
        with suppress(OSError):
            if made := parts.made():
                tell_at_end(error, f"{len(made)} finished blocks are kept in {parts.folder}; the same command goes on")
        raise
    finally:
        with suppress(OSError):
            parts.close()


def join(output: Path, *, is_to_score: bool = False) -> tuple[int, int, dict[str, Any]]:
    """Make `output` of the parts that shards have made. The file appears whole or not at all.

    Args:
        is_to_score: it must have a translation for each line.
    Returns:
        How many parts and lines it has, and the settings that they were made with.
    Raises:
        TranslationError: there are no parts, one is missing or damaged, or a process is at work on them; or it has no
            such lines.
    """
    there = _settings_in(folder_of(output))
    if not there.get("parts"):
        done = "; it is there, so there is nothing to join" if output.exists() else ""
        raise TranslationError(f"{output}: no shard is done in {folder_of(output)}{done}")
    settings = there["settings"]
    if is_to_score and (settings["score"] or settings["input_form"] != "lines"):
        what = "scores" if settings["score"] else f"a text of the form {settings['input_form']}"
        raise TranslationError(f"{output} is {what}, and --reference scores lines of translations; leave it out")
    with open_parts(output, settings) as parts:
        parts.names = there["parts"]
        if not parts.is_alone():
            raise TranslationError(f"{output} is being translated by another process; wait for it")
        if missing := parts.missing():
            raise TranslationError(
                f"{output} cannot be joined: {len(missing)} of its {len(parts.names)} parts are missing; give the "
                "commands of all shards again, which make them, or the command without --shard, which also joins"
            )
        counts = parts.join()
        assert counts is not None  # nobody else is at work
    return len(parts.names), counts["lines"], settings


def folder_of(output: Path) -> Path:
    """Where the parts of an output lie; beside the file that a link leads to."""
    target = output.resolve()
    return target.with_name(target.name + FOLDER)


def _joined(folder: Path) -> Path:
    """What a folder of parts is called from when they are joined until it is removed."""
    return folder.with_name(f".{folder.name}.joined")


def _name(block: Block) -> str:
    return f"{block.number:06d}-{block.digest[:16]}"


def _lock(file: int, byte: int, *, is_shared: bool = False, waits: bool = False) -> bool:
    """Lock a byte of a file, unless somebody else has; True also where there are no locks."""
    try:
        how = (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB)
        fcntl.lockf(file, how, 1, byte)
    except (BlockingIOError, PermissionError):  # systems differ in how they say that it is taken
        return False
    except OSError:
        pass
    return True


def _unlock(file: int, byte: int) -> None:
    with suppress(OSError):
        fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


def _read_part(path: Path) -> tuple[dict[str, int], bytes]:
    """What was counted in a part, and what the output holds of it."""
    sha256, _, content = path.read_bytes().partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != sha256:
        path.unlink()
        raise TranslationError(f"{path} was changed after it was translated; the command that made it makes it again")
    counts, _, data = content.partition(b"\n")
    return json.loads(counts), data


def _settings_in(folder: Path) -> dict[str, Any]:
    """What is noted of a folder; nothing if there is no note.

    Raises:
        TranslationError: it is damaged.
    """
    path = folder / "settings.json"
    with suppress(ValueError, RecursionError):
        if not path.exists():
            return {}
        content = json.loads(path.read_bytes())
        if isinstance(content, dict) and is_sealed(content):
            return content
    raise TranslationError(f"{path} is damaged; remove {folder} to start anew")


def _record_of(output: Path) -> tuple[str, str]:
    """The digest of what a file is the translation of, and its own; blank if nothing says so."""
    with suppress(OSError, AttributeError):
        of_text, _, sha256 = os.getxattr(output.resolve(), _ATTRIBUTE).decode(errors="replace").partition(" ")
        return of_text, sha256
    return "", ""


def _compressed(data: bytes, suffix: str) -> bytes:
    """The data as they are in a file with this ending: members of a compressed file may follow each other."""
    if not suffix:
        return data
    file = io.BytesIO()
    with open_member(file, suffix) as member:
        member.write(data)
    return file.getvalue()
