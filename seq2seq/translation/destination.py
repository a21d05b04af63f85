"""Whether a command may write to a path, found out before any work."""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.model_directory import MODEL_FILES, is_model_directory
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.translation.streams import open_descriptor


def check_file(output: Path, inputs: Sequence[tuple[str, Path]], option: str = "--output") -> None:
    """Do as `check_destination` does, for a file that is replaced as a whole. Missing folders will be made.

    Raises:
        TranslationError: see there; or it is a stream, or has the ending of a compressed file.
    """
    if open_descriptor(output) is not None or (output.exists() and not output.is_file() and not output.is_dir()):
        raise TranslationError(f"{option} {output}: is no regular file, and would be replaced by one; name a file")
    if output.suffix in COMPRESSIONS:
        raise TranslationError(f"{option} {output}: would not be compressed; leave out {output.suffix}")
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
    descriptor = 1 if output is None else open_descriptor(output)
    if descriptor is not None:
        _check_descriptor(descriptor, output, inputs, option)
        return
    assert output is not None
    refused = f"{option} {output}"
    if Path("/proc") in output.absolute().parents:
        raise TranslationError(f"{refused}: belongs to the system or to another process; name a file")
    status = _status(output, refused)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise TranslationError(f"{refused}: is a directory; name a file in it")
    if status is not None and not stat.S_ISREG(status.st_mode):
        _check_device(status, refused)
        return
    target = output.resolve()
    if not target.parent.is_dir():
        through = "" if target == output.absolute() else f" (it leads to {target})"
        raise TranslationError(f"{refused}: no directory {target.parent}{through}; create it first")
    for name, path in inputs:
        if path.is_file() and path.resolve() == target:
            raise TranslationError(f"{refused} would overwrite {name}; choose another name")
    if (owner := _owner(target)) is not None:
        raise TranslationError(f"{refused}: is a file of the model in {owner}; choose another name")
    _check_replaceable(target, status, refused)


def _status(output: Path, refused: str) -> os.stat_result | None:
    try:
        return output.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise TranslationError(f"{refused}: is a symbolic link that leads to itself; remove it") from error


def _check_device(status: os.stat_result, refused: str) -> None:
    if stat.S_ISBLK(status.st_mode):
        raise TranslationError(f"{refused}: is a disk, whose content would be destroyed; name a file")
    if stat.S_ISSOCK(status.st_mode):
        raise TranslationError(f"{refused}: is a socket, which cannot be opened; write to stdout, and pipe it there")


def _check_descriptor(number: int, output: Path | None, inputs: Sequence[tuple[str, Path]], option: str) -> None:
    name = "stdout" if number == 1 else f"{option} {output}"
    try:
        if number == 1 and sys.stdout is None:
            raise OSError(errno.EBADF, "")
        status = os.fstat(sys.stdout.fileno() if number == 1 else number)
    except (ValueError, AttributeError):  # stdout is a stream in memory, as when a program calls this one
        return
    except OSError as error:
        if number == 1:
            raise TranslationError("stdout is closed; open it or give --output FILE") from error
        raise TranslationError(f"{name}: is not open; open it with {number}>FILE") from error
    if sys.platform != "win32" and number != 1:
        import fcntl

        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise TranslationError(f"{name}: is open for reading only; open it with {number}>FILE")
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


def _check_replaceable(target: Path, status: os.stat_result | None, refused: str) -> None:
    """Check that a file beside `target` can take its place."""
    try:
        # As long as the longest name beside it, of the unfinished file or of the parts that are joined.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"):
            pass
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        raise TranslationError(
            f"{refused}: no file can be made in {target.parent} ({error.strerror}), and a translation is written "
            "beside its final name; choose another folder, or write to stdout: --output -"
        ) from error
    if status is None:
        return
    try:
        if not os.access(target, os.W_OK):  # to rename another file would replace it all the same
            raise PermissionError
        with target.open("r+b"):  # notices what modes do not say, such as an append-only file
            pass
    except OSError as error:
        raise TranslationError(f"{refused}: is write-protected; choose another name") from error
    folder = target.parent.stat()
    if (
        folder.st_mode & stat.S_ISVTX
        and hasattr(os, "geteuid")
        and os.geteuid() not in (0, status.st_uid, folder.st_uid)
    ):
        raise TranslationError(f"{refused}: belongs to another user, and only that one may replace it in this folder")
    if _mount(target) != _mount(target.parent):
        raise TranslationError(
            f"{refused}: is mounted by itself (as by docker -v FILE:FILE), so no other file can take its place; mount "
            f"its folder, or write to stdout: --output - > {target}"
        )


def _mount(path: Path) -> bytes:
    """The number of the mount that `path` is on; empty where the system does not say."""
    if not hasattr(os, "O_PATH"):
        return b""
    descriptor = os.open(path, os.O_PATH)
    try:
        lines = Path(f"/proc/self/fdinfo/{descriptor}").read_bytes().splitlines()
        return next((line for line in lines if line.startswith(b"mnt_id:")), b"")
    except OSError:
        return b""
    finally:
        os.close(descriptor)
