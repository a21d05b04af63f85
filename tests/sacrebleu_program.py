"""sacreBLEU's own program, which everybody compares with, in this process."""

import os
import signal
import sys
import tempfile
from importlib import import_module
from types import SimpleNamespace

import pytest


def printed_by_sacrebleu(*words: object, stdin: str = "") -> str:
    """What it prints. It opens its streams anew by their descriptors, and lets a broken pipe end the process."""
    at_broken_pipe = signal.getsignal(signal.SIGPIPE)
    try:
        program = import_module("sacrebleu.sacrebleu")
    finally:
        signal.signal(signal.SIGPIPE, at_broken_pipe)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(stdin.encode())
        given.seek(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("SACREBLEU_FORMAT", raising=False)  # the user's
            patch.setattr(sys, "argv", ["sacrebleu", *map(str, words)])
            patch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: os.dup(given.fileno())))
            patch.setattr(sys, "stdout", SimpleNamespace(fileno=lambda: os.dup(printed.fileno())))
            program.main()
            sys.stdin.close()
            sys.stdout.close()
        printed.seek(0)
        return printed.read().decode()
