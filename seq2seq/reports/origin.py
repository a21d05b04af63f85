"""Where a run comes from, for its page: machine, code and command, and what its text is."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.corpus.report import render
from seq2seq.errors import RunError


def origin(run: RunDirectory) -> list[tuple[str, str]]:
    """Names and values of its latest start; nothing where nothing says so.

    Raises:
        RunError: the file is damaged.
    """
    with _telling_damage(run):
        starts = run.provenance().get("starts", [])
        if not starts:
            return []
        start = starts[-1]
        machine, code = start["machine"], start["code"]
        memory = machine["memory_bytes"]
        known = {
            "processor": f"{machine['cpu']}, {machine['cores']} cores",
            "memory of the machine": memory and f"{memory / 1e9:.0f} GB",
            "GPUs": ", ".join(machine["gpus"]),
            "system": machine["system"],
            "Python, torch": f"{start['python']}, {start['packages'].get('torch')}",
            "commit": code and f"{code['commit']}{', with changes' if code.get('is_dirty') else ''}",
            "command": shlex.join(start["command"]),
            "started": f"{start['time']}{f', the last of {len(starts)} starts' if len(starts) > 1 else ''}",
            "ended": start.get("ended"),
        }
        return [(name, str(value)) for name, value in known.items() if value]


def data_report(run: RunDirectory) -> str:
    """What its text is; empty where nothing says so.

    Raises:
        RunError: the file is damaged.
    """
    with _telling_damage(run):
        report = run.provenance().get("data_report")
        return render(report) if report else ""


@contextmanager
def _telling_damage(run: RunDirectory) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        file = run.path / "provenance.json"
        raise RunError(
            f"{file}: does not say where the run comes from, so it is damaged; restore or delete it"
        ) from error
