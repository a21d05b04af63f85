"""Work that is commands of ours, one after the other, each in a process of its own.

What a step makes is whole or not there. So the same command goes on where it was stopped.
"""

import json
import logging
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from seq2seq.corpus.reader import read_lines
from seq2seq.corpus.sources import form_of
from seq2seq.errors import ConfigError, command
from seq2seq.exit_status import note
from seq2seq.files import write_json
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.translation.request import launched

log = logging.getLogger(__name__)


def translate(*words: object, n_processes: int, launcher: str) -> None:
    """Translate a text by the processes that a launcher starts, or else by some of this machine.

    Args:
        n_processes: 0: one for each GPU, or one if there is none.
    Raises:
        SystemExit: it failed, and has said why.
    """
    do("translate", *words, launcher=launcher, n_processes=1 if launcher else n_processes or _n_gpus() or 1)


def do(name: str, *words: object, launcher: str = "", n_processes: int = 1) -> int | None:
    """Give a command, and wait for its end.

    Args:
        launcher: a command that starts it several times.
        n_processes: of `translate`, which share the text.
    Returns:
        Bytes of memory that it had at its peak, as `JobProcess` knows them; of several processes, the first one.
    Raises:
        SystemExit: it failed, and has said why.
    """
    several = f"  # in {n_processes} processes" if n_processes > 1 else ""
    log.info("\n%s", f"{launcher} {command(name, *words)}{several}".lstrip())
    started_by = (*shlex.split(launcher), sys.executable, "-m", "seq2seq", name)
    jobs: list[JobProcess] = []
    try:
        for number in range(n_processes):
            place = {"WORLD_SIZE": str(n_processes), "LOCAL_WORLD_SIZE": str(n_processes), "LOCAL_RANK": str(number)}
            variables = place if n_processes > 1 else None
            jobs.append(JobProcess([*map(str, words)], started_by, is_launched=bool(launcher), variables=variables))
        status = max(job.wait() for job in jobs)  # what a killed one has left, the others have done
    except BaseException:  # `wait` has told one of them
        for job in jobs:
            job.stop()
        for job in jobs:
            job.wait()
        raise
    if status:
        if status < 0:  # it could say nothing itself
            note(f"{name} {why_it_failed(status)}; the same command goes on")
        sys.exit(status if status > 0 else 128 - status)
    return jobs[0].peak_memory


def clean(pairs: Sequence[Path], languages: Sequence[str], output: Path, *options: object) -> list[Path]:
    """`OUTPUT.LANG` for both languages: what `corpus clean` leaves of two aligned files."""
    files = [output.with_name(f"{output.name}.{language}") for language in languages]
    if not all(file.exists() for file in files):
        output.parent.mkdir(exist_ok=True)
        for file in files:
            file.unlink(missing_ok=True)  # the one is there without the other if the command was killed in between
        do("corpus", "clean", *pairs, "--languages", *languages, "--output", output, *options)
    return files


def claim(output: Path, name: str, of_what: Mapping[str, object]) -> None:
    """Make the folder of all that the steps make, unless it is there for the same work.

    Raises:
        ConfigError: it belongs to something else.
    """
    file = output / f"{name}.json"
    if file.exists():
        there = json.loads(file.read_text(encoding="utf-8"))
        if changed := [key for key in {**there, **of_what} if there.get(key) != of_what.get(key)]:
            raise ConfigError(f"{file} is about another {name} ({', '.join(changed)}); choose another --output")
    elif output.exists() and any(output.iterdir()):
        raise ConfigError(f"--output {output} holds something else; choose a new directory")
    else:
        write_json(file, dict(of_what))


def check_launch(name: str, n_processes: int, launcher: str) -> None:
    """
    Raises:
        ConfigError: torchrun or srun has started this command several times, or cannot start its steps.
    """
    if launched():
        raise ConfigError(f"{name} is given once; leave torchrun or srun out, or name it by --launcher")
    if not launcher:
        return
    if n_processes:
        raise ConfigError("--launcher says how many processes there are; leave out --processes")
    try:
        program = shlex.split(launcher)[0]
    except (ValueError, IndexError):
        program = launcher
    if shutil.which(program) is None:
        raise ConfigError(f"--launcher {launcher!r} does not begin with a program of this machine")
    if Path(program).name == "torchrun" and "--no-python" not in launcher.replace("_", "-"):
        raise ConfigError("--launcher: torchrun takes what it starts for a Python file; add --no-python at its end")


def check_monolingual(files: Sequence[Path]) -> None:
    """
    Raises:
        ConfigError: one of them is not there, is blank, or has another form than a sentence a line.
        CorpusError: one cannot be read.
    """
    for file in files:
        if not file.is_file():
            raise ConfigError(f"--mono {file}: no such file")
        if (form := form_of(file)) is not None:
            raise ConfigError(f"--mono {file}: is of the form {form}; give a file with a sentence on each line")
        if not any(map(str.strip, read_lines(file))):
            raise ConfigError(f"--mono {file}: has no text")


def _n_gpus() -> int:
    """The GPUs of this machine."""
    import torch

    return torch.cuda.device_count()
