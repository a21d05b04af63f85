"""Whether a command may write to a path, found out before any work."""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from seq2seq.artifacts.model_directory import MODEL_FILES, is_model_directory
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.corpus.sources import compression_of
from seq2seq.errors import TranslationError
from seq2seq.translation.streams import is_stream, open_descriptor

_MOUNTS = Path("/proc/self/mountinfo")


def check_file(
    output: Path, inputs: Sequence[tuple[str, Path]], option: str = "--output", endings: Sequence[str] = ()
) -> None:
    """Do as `check_destination` does, for a file that is replaced as a whole. Missing folders will be made.

    Args:
        endings: one of which its name has, such as `png`; none for any.
    Raises:
        TranslationError: see there; or it is a stream, has the ending of a compressed file, or none of `endings`.
    """
    if is_stream(output) and not output.is_dir():
        raise TranslationError(f"{option} {output}: is no regular file, and would be replaced by one; name a file")
    if compression_of(output):
        raise TranslationError(f"{option} {output}: would not be compressed; leave out {output.suffix}")
    if endings and output.suffix.lower().removeprefix(".") not in endings:
        raise TranslationError(f"{option} {output}: its ending must be one of {', '.join(endings)}")
    while not output.absolute().parent.exists():
        output = output.absolute().parent  # the first that will be made
    check_destination(output, inputs, option)


def check_destination(output: Path | None, inputs: Sequence[tuple[str, Path]], option: str = "--output") -> None:
    """Check that results can be written to `output`, and that they replace nothing that is needed.

    Args:
        output: None for stdout.
        inputs: the option and the path of each file that is read.
        option: the one that names `output`.
    Raises:
        TranslationError: it cannot be written, or it is one of `inputs` or a file of a model.
        OSError: the system does not take such a name.
    """
    if (descriptor := 1 if output is None else open_descriptor(output)) is not None:
        _check_descriptor(descriptor, "stdout" if descriptor == 1 else f"{option} {output}", inputs)
        return
    assert output is not None
    refused = f"{option} {output}"
    try:
        mode = output.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = stat.S_IFREG
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return
    if not stat.S_ISREG(mode):
        raise TranslationError(f"{refused}: is a directory, a disk or a socket; name a file")
    target = output.resolve()
    if not target.parent.is_dir():
        through = "" if target == output.absolute() else f" (it leads to {target})"
        raise TranslationError(f"{refused}: no directory {target.parent}{through}; create it first")
    for name, path in inputs:
        if path.resolve() == target or _is_one_file(path, target):
            raise TranslationError(f"{refused} would overwrite {name}; choose another name")
    if (owner := _owner(target)) is not None:
        raise TranslationError(f"{refused}: is a file of the model in {owner}; choose another name")
    _check_replaceable(target, refused)


def _is_one_file(path: Path, target: Path) -> bool:
    """Whether these are one file: a disk may take two spellings for a name, and a folder may be mounted twice."""
    with suppress(OSError):
        return path.samefile(target) and target.stat().st_nlink == 1  # another hard link keeps the text
    return False


def _check_descriptor(number: int, name: str, inputs: Sequence[tuple[str, Path]]) -> None:
    try:
        if number == 1 and sys.stdout is None:
            raise OSError(errno.EBADF, "")
        status = os.fstat(sys.stdout.fileno() if number == 1 else number)
    except (ValueError, AttributeError):  # stdout is a stream in memory, as when a program calls this one
        return
    except OSError as error:
        raise TranslationError(f"{name} is closed; open it or give --output FILE") from error
    for read, path in inputs:
        if stat.S_ISREG(status.st_mode) and path.is_file() and os.path.samestat(status, path.stat()):
            raise TranslationError(f"{name} is the file of {read}, so they would overwrite it; choose another file")


def _owner(target: Path) -> Path | None:
    """The run or model directory that has `target` among its own files."""
    for folder in target.parents:
        name = target.relative_to(folder).parts[0]
        if name in MODEL_FILES and is_model_directory(folder):
            return folder
        run = RunDirectory(folder)
        if run.owns(target) and run.has_checkpoints:
            return folder
    return None


def _check_replaceable(target: Path, refused: str) -> None:
    """Check that a file beside `target` can take its place."""
    try:
        # As long as the longest name beside it, of the unfinished file or of the parts that are joined.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"):
            pass
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        raise TranslationError(
            f"{refused}: no file can be made in {target.parent} ({error.strerror}), and the result is written beside "
            "its final name; choose another folder, or write to stdout: --output -"
        ) from error
    if not target.exists():
        return
    try:
        if not os.access(target, os.W_OK):  # to rename another file would replace it all the same
            raise PermissionError
        with target.open("r+b"):  # notices what modes do not say, such as an append-only file
            pass
    except OSError as error:
        raise TranslationError(f"{refused}: is write-protected; choose another name") from error
    owners = (0, target.stat().st_uid, target.parent.stat().st_uid)
    if target.parent.stat().st_mode & stat.S_ISVTX and os.geteuid() not in owners:
        raise TranslationError(f"{refused}: belongs to another user, and only that one may replace it in this folder")
    name = os.fsencode(target).replace(b"\\", rb"\134").replace(b" ", rb"\040")  # as the list of mounts has it
    if _MOUNTS.exists() and any(line.split(b" ")[4] == name for line in _MOUNTS.read_bytes().splitlines()):
        raise TranslationError(
            f"{refused}: is mounted by itself (as by docker -v FILE:FILE), so no other file can take its place; mount "
            f"its folder, or write to stdout: --output - > {target}"
        )
