"""Where a run comes from: its text, and the code, the packages, the machine and the command of each of its starts.

It is noted in `provenance.json` of the run directory, in every checkpoint, and by W&B:

    starts          one entry for each start of the run, the first one first
        time        UTC
        command     the words of the command, as one types it, or `seq2seq.train` and its words; secrets are masked
        code        in a checkout: its commit, and whether files differ from it
        python, packages, machine
        ended       after which step and why; missing while it trains, and if it was killed
    corpus          SHA-256 of each file, by split
    tokenizer       SHA-256
    data_report     counts of the text

No variable of the environment is noted, and neither the name of the machine nor that of a user. Paths that the command
or the configuration names are noted as they are.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from seq2seq.cores import n_cores
from seq2seq.masking import masked_words

_GIT_TIMEOUT_S = 2.0  # a checkout on a slow network must not hold a run up


def provenance(before: Mapping[str, Any], start: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted of a run at its start.

    Args:
        before: what was noted until now; empty for a new run.
        start: see `this_start`.
        report: the data report.
    """
    return {
        "starts": [*before.get("starts", []), start],
        "corpus": {split: list(found["files"].values()) for split, found in report["splits"].items()},
        "tokenizer": report["tokenizer"]["fingerprint"],
        "data_report": report,
    }


def this_start(command: Sequence[str], gpus: Sequence[str]) -> dict[str, Any]:
    """The start of a run, now and here.

    Args:
        command: the program of this process, without its folder, or `seq2seq.train`; and its words.
        gpus: the names of those that the run uses.
    """
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": masked_words(_as_typed(*command)),
        "code": code_version(Path(__file__).resolve().parents[2]),
        "python": platform.python_version(),
        "packages": _packages(),
        "machine": {
            "system": platform.platform(),
            "cpu": cpu_model(),
            "cores": n_cores(),
            "memory_bytes": _memory(),
            "gpus": list(gpus),
        },
    }


def _as_typed(program: str, *words: str) -> list[str]:
    """A command with what Python leaves out of `sys.argv`, and the word `train`, which Hydra has not been given."""
    package = sys.modules["__main__"].__package__
    if program == "__main__.py" and package:
        start = ["python", "-m", package]
    else:
        start = ["python", program] if program.endswith(".py") else [program]
    return [*start, *(["train"] if start[-1] == "seq2seq" else []), *words]


def code_version(checkout: Path) -> dict[str, Any]:
    """The commit of the code and whether files differ from it; nothing if it lies in no git checkout of its own.

    Args:
        checkout: the folder that the package lies in.
    """
    found: dict[str, Any] = {}
    if not (checkout / ".git").exists():  # not one around it: that would be somebody's own repository
        return found
    if commit := _git(checkout, "rev-parse", "HEAD"):
        found["commit"] = commit
        if (changes := _git(checkout, "status", "--porcelain", "--", "seq2seq", "conf")) is not None:
            found["is_dirty"] = bool(changes)
    return found


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None if it cannot say."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            # A checkout of another user, too: this is its code.
            ["git", "-c", "safe.directory=*", "--no-optional-locks", "-C", str(folder), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache  # to read them takes a tenth of a second, and this process goes on with those that it has imported
def _packages() -> dict[str, str]:
    """All that are installed: name and version."""
    found = {}
    for package in distributions():
        metadata = package.metadata  # which is parsed anew each time
        name = metadata["Name"]  # None if its files are damaged
        if name:
            found[str(name)] = str(metadata["Version"])
    return dict(sorted(found.items()))


def cpu_model(cpu_info: Path = Path("/proc/cpuinfo")) -> str:
    """As Linux names it; elsewhere what Python knows."""
    try:
        for line in cpu_info.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, model = line.partition(":")
            if name.strip() == "model name":
                return model.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    """Bytes of the machine; None where nobody says."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
