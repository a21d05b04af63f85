"""A run directory: all that a run writes. No other module knows the names of its files."""

import csv
import dataclasses
import glob
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from omegaconf import OmegaConf

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.config import RunConfig, kept, read_config
from seq2seq.config.checks import names_a_language
from seq2seq.corpus.reader import read_aligned, read_lines
from seq2seq.errors import CheckpointError, ConfigError, RunError, command
from seq2seq.evaluation.scores import Interval, Scoring
from seq2seq.files import atomic_file, regular, write_json, write_text

_DAMAGE = (AttributeError, KeyError, TypeError, ValueError, OverflowError)  # what reading a damaged form raises
_IDENTITY = "run.json"
_LEASE = "run.lock"
_CLAIM = (_IDENTITY, _LEASE)  # all that a run has before it has done anything
_OF_TESTS = ("hypotheses", "references", "sources", "analysis")  # folders with files for each test set
METRICS_HEADER = ("step", "metric", "value", "unix_time")


class Metric(NamedTuple):
    """One row of `metrics.csv`."""

    step: int
    name: str
    value: float
    unix_time: str


@dataclass(frozen=True)
class Selection:
    """`selection.json`: what each candidate for the final weights scored on valid, and which one won."""

    selected: str
    step: int  # optimizer steps of the whole run
    valid: Mapping[str, Mapping[str, float]]  # candidate: metric: score
    intervals: Mapping[str, Interval] = dataclasses.field(default_factory=dict)  # of the winner
    n_parameters: int = 0  # of the model; 0: not kept


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run.

    RUN_DIR/
        run.json                      who the run is (artifacts/identity.py)
        run.lock                      which process has it (artifacts/lease.py)
        config.yaml                   the resolved configuration
        provenance.json               code, packages, machine and command of each start (artifacts/provenance.py)
        metrics.csv                   every metric, one a line: step, metric, value, unix_time
        checkpoints/last.ckpt         where the run continues
                    previous.ckpt     where it continues if that one is damaged
                    good-STEP.ckpt    where the run goes back to if it diverges, and what may become that next
                    best.ckpt         weights of the best validation so far
                    best-STEP.ckpt    weights of the best k validations, that one among them; if k is above 1
                    step-STEP.ckpt    weights of every n-th step, if they are kept
                    recent-STEP.ckpt  weights of the last validations, which are averaged at the end
                    model.ckpt        the weights that won the selection
        selection.json                scores on valid of all candidates, with intervals of the winner's; parameters
        scores.json                   {test set: {metric: {score, mean, half_width, signature}}}
        hypotheses/TEST.LANG          translations of each test set, one a line; augmented, TEST/AUGMENTATION.LANG
        references/TEST.LANG          their references, one a line; further references in TEST.LANG.1, TEST.LANG.2, ...
        sources/TEST.LANG             what was translated, one a line
        analysis/TEST.json            what the model gets wrong on a test set (analysis/test_set.py)
        summary.txt                   the run and its scores on one screen
        report.html                   all of this as a page (reports/run_page.py)
        export/FORMAT/                model directories (artifacts/model_directory.py)
               ctranslate2-of-SHA/    the selected weights for CTranslate2, made by translate.py (export/automatic.py)
        wandb/, tensorboard/          files of the trackers

    If a file is missing or damaged, reading it raises RunError, which names the file and a remedy.
    """

    path: Path

    @classmethod
    def of_checkpoint(cls, file: Path) -> "RunDirectory":
        """The run that a checkpoint file belongs to. If the file was moved elsewhere, the folder that it is in."""
        folder = file.parent if file.parent.name else file.absolute().parent
        return cls(folder.parent if folder.name == "checkpoints" else folder)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last.ckpt"

    @property
    def previous(self) -> Path:
        return self.checkpoints / "previous.ckpt"

    def good(self) -> list[int]:
        """The optimizer steps of the states to go back to, in their order."""
        steps = (file.stem.removeprefix("good-") for file in self.checkpoints.glob("good-*.ckpt"))
        return sorted(int(step) for step in steps if step.isdecimal())

    def good_at(self, step: int) -> Path:
        return self.checkpoints / f"good-{step:08d}.ckpt"

    @property
    def best(self) -> Path:
        return self.checkpoints / "best.ckpt"

    def all_best(self) -> list[Path]:
        """The checkpoints of the best validations, oldest first; none if only `best` is kept."""
        return sorted(self.checkpoints.glob("best-*.ckpt"))

    def best_at(self, step: int) -> Path:
        return self.checkpoints / f"best-{step:08d}.ckpt"

    def kept_at(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:08d}.ckpt"

    @property
    def selected(self) -> Path:
        return self.checkpoints / "model.ckpt"

    def recent(self, n: int = 0) -> list[Path]:
        """The latest `n` checkpoints to average, oldest first; 0: all."""
        return sorted(self.checkpoints.glob("recent-*.ckpt"))[-n:]

    def recent_at(self, step: int) -> Path:
        return self.checkpoints / f"recent-{step:08d}.ckpt"

    @property
    def has_checkpoints(self) -> bool:
        return any(self.checkpoints.glob("*.ckpt"))

    def owns(self, file: Path) -> bool:
        """Whether `file`, a path below this directory, is one that the run writes."""
        folders = (*_OF_TESTS, "checkpoints", "export", "wandb", "tensorboard")
        results = ("metrics.csv", "selection.json", "scores.json", "summary.txt", "report.html")
        files = (*_CLAIM, "config.yaml", "provenance.json", *results)
        first, *rest = file.relative_to(self.path).parts
        return first in (folders if rest else files)

    @property
    def lease_file(self) -> Path:
        return self.path / _LEASE

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.csv"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    @property
    def export(self) -> Path:
        return self.path / "export"

    def converted(self, fingerprint: str) -> Path:
        """The selected weights for CTranslate2, if their checkpoint has this SHA-256."""
        return self.export / f"ctranslate2-of-{fingerprint[:12]}"

    def offline_wandb_parts(self) -> list[Path]:
        """What W&B recorded offline, in the order of the starts: a folder for each start and resume."""
        return sorted({file.parent for file in self.path.glob("wandb/offline-run-*/run-*.wandb")})

    @property
    def is_scored(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "selection.json").is_file() and self.has_scores

    @property
    def has_scores(self) -> bool:
        return (self.path / "scores.json").is_file()

    # --- read ---

    def identity(self) -> RunIdentity | None:
        """Who the run is; None if there is no run here, or one of an older version."""
        file = self.path / _IDENTITY
        if not file.is_file():
            return None
        try:
            return RunIdentity.from_json(json.loads(file.read_text(encoding="utf-8")))
        except ValueError as error:
            raise RunError(f"{file}: is not the identity of a run, so it is damaged; restore or delete it") from error

    def config(self) -> RunConfig:
        """The configuration. Keys that are newer than the run get their defaults, which change nothing."""
        try:
            return read_config(self._yaml())
        except ConfigError as error:
            where = f"{self.path / 'config.yaml'}: is not a configuration of this version of seq2seq"
            remedy = "restore it, or use the version that wrote it"
            raise RunError("\n".join(f"{where}: {problem}; {remedy}" for problem in error.problems)) from error

    def provenance(self) -> dict[str, Any]:
        """Where the run comes from (artifacts/provenance.py); empty for runs of older versions."""
        if not (self.path / "provenance.json").is_file():
            return {}
        content = self._json("provenance.json")
        if not isinstance(content, dict) or not isinstance(content.get("starts"), list):
            raise RunError(f"{self.path / 'provenance.json'}: has no starts, so it is damaged; restore or delete it")
        return content

    def languages(self) -> tuple[str, str]:
        """Source and target language, also if another version of seq2seq wrote the configuration."""
        try:
            data = self._yaml()["data"]
            src, tgt = str(data["src_lang"]), str(data["tgt_lang"])
            if not any([*names_a_language("src_lang", src), *names_a_language("tgt_lang", tgt)]):
                return src, tgt
        except (KeyError, TypeError):
            pass
        raise RunError(f"{self.path / 'config.yaml'}: names no languages, so it is damaged; restore it")

    def settings(self) -> dict[str, Any]:
        """The value of each key, by its dotted name, also if another version of seq2seq wrote the configuration.

        Keys that are newer than the run have their defaults, which change nothing.
        """
        self.languages()  # which any configuration has
        return flat(_merged(dataclasses.asdict(RunConfig()), self._yaml()))

    def corpus(self) -> Mapping[str, Sequence[str]]:
        """SHA-256 of each file, by split; test sets as `test/NAME`. Empty for runs that did not keep it yet."""
        identity = self.identity()
        return identity.corpus if identity else {}

    def selection(self) -> Selection:
        content = self._json("selection.json")
        try:
            valid = {
                candidate: {metric: float(score) for metric, score in scores.items()}
                for candidate, scores in content["valid"].items()
            }
            intervals = {metric: _interval(**score) for metric, score in content.get("intervals", {}).items()}
            valid[content["selected"]]  # it is one of them
            step, n_parameters = (int(content.get(key, 0)) for key in ("step", "n_parameters"))
            return Selection(str(content["selected"]), step, valid, intervals, n_parameters)
        except _DAMAGE as error:
            raise RunError(f"{self.path / 'selection.json'}: has no selection, so it is damaged; restore it") from error

    def scores(self) -> dict[str, dict[str, Interval]]:
        """The scores, by test set and metric."""
        try:
            return {
                test: {metric: _interval(**score) for metric, score in scores.items()}
                for test, scores in self._json("scores.json").items()
            }
        except _DAMAGE as error:
            raise RunError(f"{self.path / 'scores.json'}: has no scores, so it is damaged; restore it") from error

    def scoring(self, test: str) -> Scoring:
        """How the test set was scored: without case if the scores were kept and say so."""
        bleu = self.scores().get(test, {}).get("bleu") if self.has_scores else None
        ignored_case = bleu is not None and "|case:lc|" in bleu.signature
        return Scoring(self.languages()[1], str(self.settings()["evaluation.tokenize"]), ignored_case)

    def tests(self) -> list[str]:
        """Names of the test sets that the run translated; none before its end."""
        ending, folder = f".{self.languages()[1]}", self.path / "hypotheses"
        return [file.relative_to(folder).as_posix().removesuffix(ending) for file in sorted(folder.rglob(f"*{ending}"))]

    def hypotheses(self, test: str) -> list[str]:
        """The translations of a test set."""
        return list(read_lines(regular(self._test_file("hypotheses", test, self.languages()[1]))))

    def references(self, test: str) -> list[tuple[str, ...]]:
        """The references of a test set: all references of each sentence, filled up with blank ones where it has fewer.

        Raises:
            RunError: they were not kept, or there are not as many as hypotheses.
        """
        language = self.languages()[1]
        path, *further = self._reference_files(test, language)
        if not path.is_file():
            raise RunError(
                f"{path}: no such file; older runs did not keep their references. Copy those of the test set there, "
                f"one a line, or test again with: {command('train', f'resume={self.path}')}"
            )
        references = list(read_aligned([path, *map(regular, further)]))
        self._check_lines(path, len(references), test)
        return references

    def sources(self, test: str) -> list[str] | None:
        """The source lines of a test set; None for runs that did not keep them yet.

        Raises:
            RunError: there are not as many as hypotheses.
        """
        path = self._test_file("sources", test, self.languages()[0])
        if not path.is_file():
            return None
        sources = list(read_lines(path))
        self._check_lines(path, len(sources), test)
        return sources

    def _check_lines(self, path: Path, n_lines: int, test: str) -> None:
        if n_lines != (n := len(self.hypotheses(test))):
            raise RunError(
                f"{path} has {n_lines} lines and {self._test_file('hypotheses', test, self.languages()[1])} has {n}; "
                "line n of one must belong to line n of the other, so restore the one that was changed"
            )

    def analysis_file(self, test: str) -> Path:
        return self.path / "analysis" / f"{test}.json"

    def metrics(self) -> list[Metric]:
        """The rows of `metrics.csv`; none if there is no such file yet.

        A last line that has no end was cut off while it was written, as by a power cut, and is left out.
        """
        if not self.metrics_file.is_file():
            return []
        try:
            with self.metrics_file.open(encoding="utf-8", newline="") as file:
                rows = csv.DictReader(line for line in file if line.endswith("\n"))
                return [Metric(int(row["step"]), row["metric"], float(row["value"]), row["unix_time"]) for row in rows]
        except (*_DAMAGE, OSError, csv.Error) as error:
            raise RunError(f"{self.metrics_file}: has no metrics, so it is damaged; restore or delete it") from error

    # --- write ---

    def keep_previous(self) -> None:
        """Let `last.ckpt` be `previous.ckpt`, too, until the next one is written in its place."""
        self._link_last(self.previous)

    def keep_good(self, step: int) -> None:
        """Let `last.ckpt`, of this step, be a state to go back to, too."""
        self._link_last(self.good_at(step))

    def _link_last(self, file: Path) -> None:
        with suppress(OSError):  # there is none yet, or this file system has no links
            _link(self.last, file)

    def let_be_best(self, file: Path) -> None:
        """Let one of `all_best` be `best.ckpt`, too."""
        try:
            _link(file, self.best)
        except OSError:  # this file system has no links
            with atomic_file(self.best) as copy, file.open("rb") as original:
                shutil.copyfileobj(original, copy)

    def write_identity(self, identity: RunIdentity) -> None:
        write_json(self.path / _IDENTITY, identity.as_json())

    def withdraw(self) -> None:
        """Remove the directory if nothing has come of the run. Whoever calls this has its lease."""
        if {file.name for file in self.path.iterdir()} <= set(_CLAIM):
            for name in _CLAIM:
                (self.path / name).unlink(missing_ok=True)
            with suppress(OSError):  # somebody needs it, such as a shell that is in it
                self.path.rmdir()

    def write_config(self, config: RunConfig) -> None:
        write_text(self.path / "config.yaml", OmegaConf.to_yaml(kept(config)))

    def write_provenance(self, content: Mapping[str, Any]) -> None:
        write_json(self.path / "provenance.json", content)

    def write_selection(self, selection: Selection) -> None:
        intervals = {metric: _rounded(score) for metric, score in selection.intervals.items()}
        write_json(self.path / "selection.json", dataclasses.asdict(selection) | {"intervals": intervals})

    def write_scores(self, scores: Mapping[str, Mapping[str, Interval]]) -> None:
        """scores: by test set and metric."""
        content = {
            test: {metric: _rounded(score) for metric, score in test_scores.items()}
            for test, test_scores in scores.items()
        }
        write_json(self.path / "scores.json", content)

    def forget_end(self) -> None:
        """Delete what says that the run came to its end: it goes on, or another model comes out of it."""
        for name in ("selection.json", "scores.json"):
            (self.path / name).unlink(missing_ok=True)

    def write_test(
        self, test: str, language: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> None:
        """Keep the translations of a test set, and all references of each sentence.

        An analysis of older translations goes, and so do further references that it had.
        """
        self.analysis_file(test).unlink(missing_ok=True)
        write_text(self._test_file("hypotheses", test, language), _as_lines(hypotheses))
        former, files = self._reference_files(test, language), []
        for number, column in enumerate(zip_longest(*references, fillvalue="")):
            files.append(former[0].with_name(f"{former[0].name}.{number}") if number else former[0])
            write_text(files[-1], _as_lines(column))
        for file in set(former) - set(files):
            file.unlink()

    def forget_test(self, test: str) -> None:
        """Delete what is kept of a test set."""
        src, tgt = self.languages()
        texts = self._test_file("hypotheses", test, tgt), self._test_file("sources", test, src)
        for file in (*texts, *self._reference_files(test, tgt), self.analysis_file(test)):
            file.unlink(missing_ok=True)

    def _reference_files(self, test: str, language: str) -> list[Path]:
        """The file of the first references, and those of further ones that are there."""
        first = self._test_file("references", test, language)
        n_further = len(list(first.parent.glob(f"{glob.escape(first.name)}.*")))
        return [first, *(first.with_name(f"{first.name}.{number}") for number in range(1, n_further + 1))]

    def write_sources(self, test: str, language: str, sources: Sequence[str]) -> None:
        """Keep the source lines of a test set."""
        write_text(self._test_file("sources", test, language), _as_lines(sources))

    def write_analysis(self, test: str, content: object) -> None:
        """content: what `TestSetAnalysis.as_json` gives. For programs, so without white space."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        write_text(self.analysis_file(test), f"{text}\n")

    def write_summary(self, text: str) -> None:
        write_text(self.path / "summary.txt", text)

    def write_report(self, html: str) -> None:
        write_text(self.report_file, html)

    def _test_file(self, folder: str, test: str, language: str) -> Path:
        return self.path / folder / f"{test}.{language}"

    def _yaml(self) -> Any:
        file = self.path / "config.yaml"
        if not file.is_file():
            raise RunError(f"{self.path}: is not the directory of a run, which has a config.yaml")
        try:
            return _parsed(file.read_text(encoding="utf-8"))
        except Exception as error:  # a damaged YAML file fails in many ways
            raise RunError(f"{file}: is no YAML of this project, so it is damaged; restore it") from error

    def _json(self, name: str) -> Any:
        file = self.path / name
        if not file.is_file():
            raise RunError(
                f"{self.path}: is not the directory of a finished run, which has config.yaml, selection.json and "
                "scores.json"
            )
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{file}: is not JSON, so it is damaged; restore or delete it") from error


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    """The content of a YAML file, which takes 30 ms, and is asked for again and again."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
        raise ValueError("a value stands in two places")  # nested ten deep, a few lines would be ten thousand million
    return OmegaConf.to_container(OmegaConf.load(io.StringIO(text)))


def _merged(defaults: Any, values: Any) -> Any:
    """The values of a configuration, and the defaults of the keys that it lacks."""
    if not isinstance(defaults, dict) or not isinstance(values, dict):
        return values
    return defaults | {key: _merged(defaults.get(key), value) for key, value in values.items()}


def flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys and their values."""
    found: dict[str, Any] = {}
    for key, value in section.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def _link(file: Path, name: Path) -> None:
    """Let a file have a second name, which another file may have until then."""
    link = name.with_name(f".{name.name}.link")
    link.unlink(missing_ok=True)
    os.link(file, link)
    link.replace(name)
    link.unlink(missing_ok=True)  # if the file has that name already, nothing was replaced


def _rounded(score: Interval) -> dict[str, float | str]:
    """What `_interval` reads."""
    numbers = {"score": score.score, "mean": score.mean, "half_width": score.half_width}
    return {name: round(number, 4) for name, number in numbers.items()} | {"signature": score.signature}


def _interval(score: float, mean: float, half_width: float, signature: str) -> Interval:
    """One score of `scores.json` or of `selection.json`."""
    return Interval(float(score), float(mean), float(half_width), str(signature))


def runs_in(folder: Path) -> list[RunDirectory]:
    """The runs that a path names: the run itself, or the jobs of a sweep, in their order."""
    if (folder / "config.yaml").is_file():
        return [RunDirectory(folder)]
    return [RunDirectory(file.parent) for file in sorted(folder.glob("*/config.yaml"))] or [RunDirectory(folder)]


def find_model(path: Path) -> Path:
    """The checkpoint to translate with: `path` itself if it is a file.

    In a run directory, it is the selected checkpoint, else the best, else the last one.

    Raises:
        CheckpointError: the path does not exist or holds no checkpoint.
    """
    if path.is_file():
        return path
    if not path.exists():
        raise CheckpointError(f"{path}: no such run directory or checkpoint")
    run = RunDirectory(path)
    for file in (run.selected, run.best, run.last):
        if file.is_file():
            return file
    raise CheckpointError(f"{path}: holds no checkpoint; a run writes its first one after its first validation")


def _as_lines(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)
