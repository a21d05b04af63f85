"""What a finished file is the translation of, kept where nobody has to look at it.

A record belongs to a file. It is an extended attribute of it, which a rename keeps and a copy mostly loses. Where the
file system has no attributes, or no room in them, the record is a file of its own in the user's state directory
($XDG_STATE_HOME/seq2seq/outputs, or ~/.local/state/seq2seq/outputs), under the hash of the path.
A part of a shared translation has its record beside it, since other machines read it.
docs/decisions/0012-a-finished-output-has-a-record.md says why.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from seq2seq.files import write_json

_ATTRIBUTE = "user.seq2seq.translation"


def write_record(file: Path, target: Path, record: Mapping[str, Any], *, is_beside: bool = False) -> None:
    """Attach a record to `file`, which is about to be renamed to `target`.

    If there is no place for it, nothing is written: the translation is whole without it, and `read_record` says so.

    Args:
        is_beside: write it to a file beside `target`.
    Raises:
        OSError: the file beside `target` cannot be written.
    """
    if is_beside:
        write_json(_file_beside(target), record)
        return
    entry = json.dumps(record).encode()
    with suppress(OSError):
        if hasattr(os, "setxattr"):  # only Linux has it
            os.setxattr(file, _ATTRIBUTE, entry)
            return
    with suppress(OSError, RuntimeError):  # RuntimeError: this user has no home
        write_json(_index_file(target), {"path": str(target), "record": record})


def read_record(target: Path, *, is_beside: bool = False) -> Any:
    """The record of a file, as JSON values; None if there is none that can be read."""
    if is_beside:
        with suppress(OSError, ValueError, RecursionError):
            return json.loads(_file_beside(target).read_bytes())
        return None
    with suppress(OSError, ValueError, RecursionError):
        if hasattr(os, "getxattr"):
            return json.loads(os.getxattr(target, _ATTRIBUTE))
    with suppress(OSError, ValueError, RuntimeError, KeyError, TypeError):
        return json.loads(_index_file(target).read_bytes())["record"]
    return None


def _file_beside(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def _index_file(target: Path) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The standard tells programs to ignore a relative path.
    folder = state if state.is_absolute() else Path.home() / ".local" / "state"
    name = hashlib.sha256(os.fsencode(target)).hexdigest()[:32]
    return folder / "seq2seq" / "outputs" / f"{name}.json"
