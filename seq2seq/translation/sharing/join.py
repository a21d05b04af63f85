"""The parts of a shared translation become one file, if all of them are there and whole."""

import hashlib
import re
import shutil
from pathlib import Path

from seq2seq.errors import TranslationError
from seq2seq.files import atomic_file
from seq2seq.translation.finished import read_record, write_record
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.output import locked
from seq2seq.translation.request import TranslationRequest
from seq2seq.translation.resumable import Progress, reporting
from seq2seq.translation.score_report import print_scores
from seq2seq.translation.sharing.plan import Folder, Plan

_MOST_SHOWN = 10  # faults in a message
_SHARD = re.compile(r"(--shard[ =])\S+")


def join(output: Path) -> Plan:
    """Make `output` of its parts, and remove these. The file appears whole or not at all.

    Returns:
        The plan of the parts.
    Raises:
        TranslationError: there are no parts, one is not whole, or a process is at work on them.
    """
    folder = Folder(output)
    plan = folder.read_plan()
    if plan is None:
        done = "; it is there, so there is nothing to join" if output.exists() else ""
        raise TranslationError(f"{output}: no parts of it in {folder.path}{done}")
    with locked(output):
        check_whole(folder, plan)
        write_joined(folder, plan)
        shutil.rmtree(folder.path, ignore_errors=True)
    return plan


def print_scores_of(output: Path, plan: Plan, references: tuple[Path, ...]) -> None:
    """Print the scores of a joined output, as the command that made it would."""
    made = plan.fingerprint
    options = TranslationOptions(alignment=made["alignment"], typography=made["typography"])
    request = TranslationRequest(models=(), output=output, form=made["form"], options=options, references=references)
    print_scores(request, None)


def check_whole(folder: Folder, plan: Plan) -> None:
    """Refuse a translation of which something is missing.

    Raises:
        TranslationError: names the parts that are not whole, and the commands that make them.
    """
    faults = folder.faults(plan)
    if not faults:
        return
    shown = [f"  {folder.part(index)} {fault}" for index, fault in list(faults.items())[:_MOST_SHOWN]]
    if len(faults) > _MOST_SHOWN:
        shown.append(f"  and {len(faults) - _MOST_SHOWN} more")
    raise TranslationError(
        f"{folder.output} cannot be joined: {len(faults)} of {len(plan.parts)} parts are not whole\n"
        + "\n".join(shown)
        + "\ntranslate them with\n"
        + "\n".join(f"  {command}" for command in _commands(plan, list(faults)))
    )


def write_joined(folder: Folder, plan: Plan) -> None:
    """Write the output of parts that are whole.

    Raises:
        TranslationError: a part was changed after it was translated; or the output cannot be written.
    """
    target = folder.output.resolve()
    whole = hashlib.sha256()
    n_bytes = 0
    with reporting(folder.output), atomic_file(target) as file:
        for index in range(len(plan.parts)):
            path, part = folder.part(index), hashlib.sha256()
            with path.open("rb") as opened:
                while block := opened.read(1 << 20):
                    file.write(block)
                    part.update(block)
                    whole.update(block)
                    n_bytes += len(block)
            if part.hexdigest() != Progress(**read_record(path, is_beside=True)).sha256:
                commands = "\n".join(f"  {command}" for command in _commands(plan, [index]))
                raise TranslationError(
                    f"{path} was changed after it was translated; remove it, and translate it again with\n{commands}"
                )
        record = Progress(
            fingerprint=plan.fingerprint,
            n_lines=plan.whole.n_units,
            n_bytes=n_bytes,
            source_sha256=plan.whole.source_sha256,
            parallel_sha256=plan.whole.parallel_sha256,
            sha256=whole.hexdigest(),
        )
        write_record(Path(file.name), target, vars(record))
        if target.exists():
            Path(file.name).chmod(target.stat().st_mode & 0o7777)


def _commands(plan: Plan, missing: list[int]) -> list[str]:
    """What makes these parts."""
    if not plan.n_shards:
        return [plan.command]
    shards = sorted({index % plan.n_shards + 1 for index in missing})
    return [_SHARD.sub(rf"\g<1>{shard}/{plan.n_shards}", plan.command) for shard in shards]
