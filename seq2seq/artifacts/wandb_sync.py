"""Upload what W&B recorded offline: each part of a run after the one before it, into one W&B run.

A part is what one start or resume of a run recorded. W&B's own command uploads it, `wandb sync`, which leaves a file
`run-ID.wandb.synced` beside the record. It ends with status 0 also if it failed, so that file is the only sign.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.lease import is_leased
from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.artifacts.wandb_access import check_access, end_with_children, environment
from seq2seq.errors import RunError, command
from seq2seq.exit_status import note

PART_TIMEOUT_S = 600.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def sync(folders: Sequence[Path], timeout_s: float = PART_TIMEOUT_S) -> None:
    """Upload all that these runs and sweeps recorded offline, but what was uploaded before.

    Args:
        timeout_s: for one part.
    Raises:
        RunError: a folder has nothing to upload, there are no credentials, or something was not uploaded, as of a run
            that is at work. What could be is uploaded then.
    """
    found = {run.path: run.offline_wandb_parts() for folder in folders for run in runs_in(folder)}
    if empty := [folder for folder in folders if not any(path.is_relative_to(folder) for path in found if found[path])]:
        raise RunError(f"{', '.join(map(str, empty))}: holds nothing that W&B recorded offline; name a run or a sweep")
    n_parts = sum(len(parts) for parts in found.values())
    waiting = [(path, part) for path, parts in found.items() for part in parts if not is_synced(part)]
    if n_known := n_parts - len(waiting):
        note(f"synced before: {n_known} of {n_parts} parts")
    if not waiting:
        return
    check_access("wandb sync")
    problems: dict[Path, str] = {}  # by run: a later part must not come before an earlier one
    for number, (path, part) in enumerate(waiting, start=1):
        if path in problems:
            continue
        is_at_work = is_leased(RunDirectory(path).lease_file)  # and W&B would take what is there for all of it
        reason = "its run is still at work" if is_at_work else _sync_part(part, timeout_s)
        if reason:
            problems[path] = f"{part}: {reason}"
        note(f"{number}/{len(waiting)} {'not synced' if reason else 'synced'}: {part}")
    if problems:
        n_failed = sum(path in problems and not is_synced(part) for path, part in waiting)
        raise RunError(
            "\n".join(problems.values())
            + f"\n{n_failed} of {n_parts} parts are not synced, later parts of these runs included; repair the cause "
            "and give the same command again"
        )


def sync_notice(folders: Sequence[Path], state: str) -> str:
    """How to upload what is not uploaded yet; empty if there is nothing.

    Args:
        state: begins the sentence.
    """
    parts = [part for folder in folders for run in runs_in(folder) for part in run.offline_wandb_parts()]
    if not (waiting := [part for part in parts if not is_synced(part)]):
        return ""
    names = ", ".join(part.name for part in waiting)
    return f"{state}; upload {names} later with: {command('wandb sync', *folders)}"


def is_synced(part: Path) -> bool:
    return any(part.glob("run-*.wandb.synced"))


def _sync_part(part: Path, timeout_s: float) -> str:
    """Upload a part. Returns why it failed; empty if it did not."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wandb", "sync", str(part)],
        # For a log, which would be in the current folder.
        env=environment() | {"WANDB_SILENT": "false", "WANDB_DIR": str(part.parents[1].absolute())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout_s:.0f} seconds; a larger --timeout allows more"
    finally:
        end_with_children(process)
    if is_synced(part):
        return ""
    lines = [
        _COLOURS.sub("", line).removeprefix("wandb: ").strip() for line in output.decode(errors="replace").split("\n")
    ]
    errors = [line for line in lines if re.match(r"(ERROR|Error|WARNING)\b", line)] or [line for line in lines if line]
    return " ".join(errors[-1:]) or f"wandb sync ended with status {process.returncode}"
