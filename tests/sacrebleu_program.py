"""sacreBLEU's own program, which everybody compares with, in this process."""

import os
import sys
import tempfile
from types import SimpleNamespace

import pytest
from sacrebleu.sacrebleu import main


def printed_by_sacrebleu(*words: object, stdin: str = "") -> str:
    """What it prints; it opens its streams anew by their descriptors."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(stdin.encode())
        given.seek(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["sacrebleu", *map(str, words)])
            patch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: os.dup(given.fileno())))
            patch.setattr(sys, "stdout", SimpleNamespace(fileno=lambda: os.dup(printed.fileno())))
            main()
            sys.stdin.close()
            sys.stdout.close()
        printed.seek(0)
        return printed.read().decode()
