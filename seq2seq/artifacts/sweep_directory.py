"""A sweep's directory: which runs it has, and what became of each. No other module knows the names of its files."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq.artifacts.identity import SweepPlace
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config.command import path_word
from seq2seq.errors import RunError
from seq2seq.files import write_json, write_text

_SWEEP, _SEARCH = "sweep.json", "search.json"
_LONGEST_NAME = 80  # characters of what differs; paths have a limit on some systems, and people read them
_DROPPED = re.compile(r"[\[\]{}()'\"]+")  # what only holds values together
_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")  # all else that a file system or a shell may not like in a name


@dataclass(frozen=True)
class Job:
    """One run of a sweep."""

    name: str  # of its run directory in that of the sweep
    words: Sequence[str]  # of `train.py`, without run_dir


@dataclass(frozen=True)
class SweepDirectory:
    """The directory of a sweep or of a search.

    SWEEP_DIR/
        sweep.json        of a sweep: its jobs, written before the first one starts
        search.json       of a search: its space and the words that all trials share
        study.db          of a search: Optuna's record of its trials (SQLite); study.lock guards the choice of the next
        sweep.lock        which process does the jobs of a sweep
        workers/N.lock    which process does trial N of a search
        errors/NAME.txt   why a job failed, in a sentence
        logs/NAME.log     of a search: what a trial printed
        NAME/             the run directory of a job; NAME is its number and what differs: 003_optim.lr=0.001_seed=2
    """

    path: Path

    @classmethod
    def of_run(cls, run_dir: Path) -> "SweepDirectory | None":
        """The sweep or search that a run belongs to, if it lies in the directory of one."""
        sweep = cls(run_dir.absolute().parent)
        return sweep if sweep.is_sweep or sweep.is_search else None

    @property
    def is_sweep(self) -> bool:
        return (self.path / _SWEEP).is_file()

    @property
    def is_search(self) -> bool:
        return (self.path / _SEARCH).is_file()

    @property
    def is_run(self) -> bool:
        """Whether there is a run in place of a sweep."""
        return RunDirectory(self.path).has_checkpoints

    @property
    def group(self) -> str:
        """What W&B calls its runs together."""
        return self.path.absolute().name

    @property
    def lease_file(self) -> Path:
        return self.path / "sweep.lock"

    @property
    def study_file(self) -> Path:
        return self.path / "study.db"

    @property
    def study_lock(self) -> Path:
        return self.path / "study.lock"

    def worker_lease_file(self, number: int) -> Path:
        return self._in("workers", f"{number}.lock")

    def log_file(self, name: str) -> Path:
        return self._in("logs", f"{name}.log")

    def run(self, name: str) -> RunDirectory:
        return RunDirectory(self.path / name)

    def place(self, name: str) -> SweepPlace:
        return SweepPlace(self.group, int(re.match(r"\d*", name)[0] or 0))  # type: ignore[index]  # it always matches

    def words(self, job: Job) -> list[str]:
        """The words of `train.py` that begin a job, or that go on with it."""
        run = self.run(job.name)
        if run.has_checkpoints:
            return [path_word("resume", run.path)]
        return [*job.words, path_word("run_dir", run.path)]

    # --- jobs of a sweep ---

    def write_jobs(self, jobs: Sequence[Job]) -> None:
        write_json(self.path / _SWEEP, {"jobs": [asdict(job) for job in jobs]})

    def jobs(self) -> list[Job]:
        """
        Raises:
            RunError: the file is damaged.
        """
        content = self._json(_SWEEP)
        try:
            return [Job(str(job["name"]), [str(word) for word in job["words"]]) for job in content["jobs"]]
        except (KeyError, TypeError) as error:
            raise RunError(f"{self.path / _SWEEP}: has no jobs, so it is damaged; restore it") from error

    # --- what a search is ---

    def write_search(self, content: Any) -> None:
        write_json(self.path / _SEARCH, content)

    def search(self) -> Any:
        return self._json(_SEARCH)

    # --- what went wrong ---

    def write_error(self, name: str, sentence: str) -> None:
        write_text(self._in("errors", f"{name}.txt"), " ".join(sentence.split()) + "\n")

    def forget_error(self, name: str) -> None:
        self._in("errors", f"{name}.txt").unlink(missing_ok=True)

    def error(self, name: str) -> str:
        """Why a job failed the last time; empty if it did not."""
        file = self._in("errors", f"{name}.txt")
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    def _in(self, folder: str, name: str) -> Path:
        return self.path / folder / name

    def _json(self, name: str) -> Any:
        file = self.path / name
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{file}: is not JSON, so it is damaged; restore it") from error


def job_name(number: int, differing: Sequence[str], n_jobs: int = 0) -> str:
    """The name of a job's directory: safe for file systems and shells, in the order of the numbers.

    Args:
        differing: the words in which it differs from other jobs.
        n_jobs: how many there are, for numbers of equal length; at least three digits.
    """
    words = "_".join(_UNSAFE.sub("-", _DROPPED.sub("", word)).strip("-") for word in differing)
    digits = f"{number:0{max(3, len(str(n_jobs - 1)))}d}"
    return "_".join(filter(None, [digits, words[:_LONGEST_NAME].rstrip("._-=")]))


def job_names(jobs: Sequence[Sequence[str]]) -> list[str]:
    """A name for each of the jobs that these words make."""
    shared = set(jobs[0]).intersection(*jobs)
    return [
        job_name(number, [word for word in words if word not in shared], len(jobs)) for number, words in enumerate(jobs)
    ]
