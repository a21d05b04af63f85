"""Streams that translations are written to: stdout, a device, a pipe, an open descriptor."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from seq2seq.errors import TranslationError
from seq2seq.translation.descriptors import open_descriptor


@contextmanager
def open_stream(path: Path | None) -> Iterator[BinaryIO]:
    """What is written to goes to its reader when it is flushed, and at the end of the block; nothing is compressed.

    Args:
        path: None for stdout.
    Raises:
        TranslationError: it cannot be opened. Use `reporting` around what is written.
    """
    descriptor = 1 if path is None else open_descriptor(path)
    if path is None or descriptor == 1:
        yield sys.stdout.buffer
        with reporting(path):
            sys.stdout.buffer.flush()
        return
    with reporting(path):  # a copy of the descriptor keeps its place in the file
        stream = path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")
    try:
        yield stream
        with reporting(path):
            stream.flush()
    finally:
        with suppress(OSError):  # from a second attempt to flush
            stream.close()


@contextmanager
def reporting(path: Path | None) -> Iterator[None]:
    """Turn an OSError into a TranslationError, except of a closed pipe, whose reader may stop at any time."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TranslationError(f"cannot write {path or 'stdout'}: {error.strerror or error}") from error
