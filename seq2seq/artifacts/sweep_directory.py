"""A sweep's directory: which runs it has, and what became of each. No other module knows the names of its files."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError, RunError
from seq2seq.files import regular, write_json, write_text
from seq2seq.masking import masked, masked_words

_SWEEP, _SEARCH = "multirun.yaml", "search.json"
_LONGEST_NAME = 80  # characters of what differs; paths have a limit on some systems, and people read them
_JOB = re.compile(r"\d{3,}(_.*)?")  # the name of a job
_OWN = ("run_dir=", "resume=", "hydra.mode=", "hydra.job.config.override_dirname")  # each command adds them anew
_DROPPED = re.compile(r"[\[\]{}()'\"]+")  # what only holds values together
_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")  # all else that a file system or a shell may not like in a name


@dataclass(frozen=True)
class SweepDirectory:
    """The directory of a sweep or of a search.

    SWEEP_DIR/
        multirun.yaml     of a sweep: the words of its command, which Hydra notes
        search.json       of a search: its space and the words that all trials share
        study.journal     of a search: Optuna's record of its trials; study.lock guards the choice of the next
        workers/N.lock    locked while a worker does trial N of a search
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
    def study_file(self) -> Path:
        return self.path / "study.journal"

    @property
    def study_lock(self) -> Path:
        return self.path / "study.lock"

    def worker_lease_file(self, number: int) -> Path:
        return self.path / "workers" / f"{number}.lock"

    def log_file(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def run(self, name: str) -> RunDirectory:
        return RunDirectory(self.path / name)

    # --- what a sweep is ---

    def overrides(self) -> list[str]:
        """The words of its command, without the directory.

        Raises:
            RunError: the file is damaged.
        """
        file = self.path / _SWEEP
        try:
            hydra = OmegaConf.load(file).hydra
            sources = hydra.runtime.config_sources
            places = [f"--config-dir={each.path}" for each in sources if each.provider == "command-line"]
            words = (*as_given(hydra.overrides.hydra), *as_given(hydra.overrides.task))
            return [*places, *(word for word in words if not word.startswith(_OWN))]
        except (OSError, ValueError, AttributeError, TypeError, YAMLError, OmegaConfBaseException) as error:
            raise RunError(f"{file}: has no words of a sweep, so it is damaged; restore it") from error

    def jobs(self) -> list[str]:
        """The names of the jobs that have begun or failed."""
        names = {path.name for path in self.path.iterdir() if path.is_dir()}
        names |= {path.stem for path in (self.path / "errors").glob("*.txt")}
        return sorted(name for name in names if _JOB.fullmatch(name))

    # --- what a search is ---

    def write_search(self, content: Any) -> None:
        """
        Raises:
            ConfigError: a word has a secret.
        """
        refuse_secrets(content)
        write_json(self.path / _SEARCH, content)

    def search(self) -> Any:
        file = self.path / _SEARCH
        try:
            return json.loads(regular(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{file}: is not JSON, so it is damaged; restore it") from error

    # --- what went wrong ---

    def write_error(self, name: str, sentence: str) -> None:
        write_text(self._error_file(name), "; ".join(masked(sentence).splitlines()) + "\n")

    def forget_error(self, name: str) -> None:
        self._error_file(name).unlink(missing_ok=True)

    def error(self, name: str) -> str:
        """Why a job failed the last time; empty if it did not."""
        file = self._error_file(name)
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    def _error_file(self, name: str) -> Path:
        return self.path / "errors" / f"{name}.txt"


def job_name(number: int, differing: Sequence[str]) -> str:
    """The name of a job's directory: safe for file systems and shells, in the order of the numbers.

    Args:
        differing: the words in which it differs from other jobs.
    """
    words = "_".join(_UNSAFE.sub("-", _DROPPED.sub("", word)).strip("-") for word in differing)
    return "_".join(filter(None, [f"{number:03d}", words[:_LONGEST_NAME].rstrip("._-=")]))


def as_given(overrides: Any) -> list[str]:
    """The words of a command that Hydra has kept. Who iterates over its list gets the values of each `${...}`.

    Raises:
        ValueError: it is no list of Hydra.
    """
    return [str(word) for word in cast(list[Any], OmegaConf.to_container(overrides, resolve=False))]


def refuse_secrets(content: Any) -> None:
    """What is written down of jobs makes them what they are, so no secret in it can be left out.

    Raises:
        ConfigError: a word has a secret.
    """
    if isinstance(content, Mapping | list):
        for each in content.values() if isinstance(content, Mapping) else content:
            refuse_secrets(each)
    elif isinstance(content, str) and "${" not in content and masked_words([content], {}) != [content]:
        raise ConfigError(
            f"{content} would be written down with its secret, for all jobs; give that text a name in a file of your "
            "own (data.catalogue, docs/corpora.md), or write ${oc.env:NAME} for the value of a variable"
        )
