"""What a fresh process has imported when it ends: times differ between machines, imports do not."""

import json
import os
import subprocess
import sys

from tests.places import ROOT

COMMAND_LINE = "from seq2seq.cli import main; main()"
_LIST_MODULES = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
"""


def imported_by(*words: object, code: str = COMMAND_LINE, stdin: str = "", status: int = 0) -> set[str]:
    """The modules that `code` imports with these words as its arguments.

    Raises:
        AssertionError: it ends with another status, or does not write a line for each line of stdin.
    """
    done = subprocess.run(
        [sys.executable, "-c", _LIST_MODULES + code, *map(str, words)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    assert not stdin or done.stdout.count("\n") == stdin.count("\n"), done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))
