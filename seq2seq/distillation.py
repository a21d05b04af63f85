"""From teachers to a student: it learns from what they make of its text (Kim and Rush 2016, sections 3.2 and 3.3).

    OUTPUT/distillation.json    what is distilled: the same command goes on, and another one is refused
           text/N.src, N.tgt    the training text of source N
           translations/N.tsv   the n best translations of the teachers, or with `each` of teacher N
           pairs/N.src, N.tgt   each line with one of them
           kept/N.LANG          the pairs that a model of the other direction finds best, if there is one
           student.json         words of train.py for the student
           student/             the run of the student, with weights in 8 bits and a shortlist in export/
           tests/TEST/          what teachers and student make of a test set, and how long they take
           README.md            how good, fast and large they are

Each step is a command that one could give by hand. What it makes is whole or not there, and is not made twice.
"""

import json
import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.config.command import path_word
from seq2seq.config.compose import composed
from seq2seq.corpus.reader import read_lines, read_pairs
from seq2seq.dataset.prepare import find_all
from seq2seq.errors import ConfigError, RunError, command
from seq2seq.evaluation.scores import corpus_scores
from seq2seq.export.conversion import check_convertible
from seq2seq.files import atomic_file, write_json, write_text
from seq2seq.steps import check_launch, check_monolingual, claim, clean, do, translate
from seq2seq.training.composed import checked
from seq2seq.training.recipe import check_hours
from seq2seq.translation.consensus import nearest
from seq2seq.translation.engines.ctranslate2 import require_ctranslate2
from seq2seq.translation.engines.load import check_ensemble
from seq2seq.translation.parts import folder_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Distillation:
    """What is distilled, and where.

    Attributes:
        words: of `train.py`, for the student. The teachers translate its training text.
        each: a teacher translates one source of that text, the first the first; otherwise all translate all together.
        references: share of the text that the student reads with its references; the rest has translations.
        n_best: translations of a line, of which the one that is most like the reference is taken.
        beam_size: of the teachers; 0: their own, or `n_best` where it is above 1.
        monolingual: further text of the source language, which has translations only.
        backward: a model of the other direction. Of the translations, the worst by its scores and the teacher's drop.
        keep_share: of the translations, where there is such a model.
        n_processes: of this machine that translate a text together; 0: one for each GPU, or one if there is none.
        launcher: a command that starts the processes of translation and training.
    """

    teachers: tuple[Path, ...]
    words: tuple[str, ...]
    output: Path
    each: bool
    references: float
    n_best: int
    beam_size: int
    monolingual: tuple[Path, ...]
    backward: Path | None
    keep_share: float
    n_processes: int
    launcher: str

    def run(self) -> None:
        """Do it, or what is left of it, and print the page.

        Raises:
            UserError: wrong input, or the output belongs to something else.
            SystemExit: a step failed, and has said why.
        """
        check_launch("distill", self.n_processes, self.launcher)
        config, groups = self._checked()
        sources = find_all(config.data)["train"]  # and what is missing of valid and test is told now
        of_what = {
            "teachers": [str(teacher.absolute()) for teacher in self.teachers],
            "text": [[*(str(file.absolute()) for file in each.files), each.tag, *each.layout] for each in sources],
            "each": self.each,
            "references": self.references,
            "n_best": self.n_best,
            "beam_size": self.beam_size,
            "monolingual": [str(file.absolute()) for file in self.monolingual],
            "backward": self.backward and str(self.backward.absolute()),
            "keep_share": self.keep_share,
        }
        claim(self.output, "distillation", of_what)
        student, words = RunDirectory(self.output / "student"), self.output / "student.json"
        if student.has_checkpoints and json.loads(words.read_text(encoding="utf-8")) != list(self.words):
            raise ConfigError(f"{student.path} was trained with the words in {words}; give them, or remove the student")
        if not student.has_checkpoints:
            for file in (self.output / "tests").rglob("student*"):  # of one that somebody has removed
                file.unlink()
        write_json(words, list(self.words))
        learned = []
        for n, (spec, source) in enumerate(zip(config.data.train_sources, sources, strict=True)):
            teachers, tags = groups[n if self.each else 0]
            text = self._files("text", str(n))
            if not text[1].exists():
                _write_aligned(text, read_pairs(source))
            self._translate(str(n), text, teachers, {source.tag} & tags)
            pairs = self._kept(str(n), teachers, config)
            if self.references:
                learned.append(_entry(text, source.tag, spec.weight * self.references))
            learned.append(_entry(pairs, source.tag, spec.weight * (1 - self.references)))
        for n, file in enumerate(self.monolingual):
            self._translate(f"monolingual-{n}", [file], self.teachers, set())
            learned.append(_entry(self._kept(f"monolingual-{n}", self.teachers, config), "", 1.0))
        if not student.is_scored:
            do(
                "train",
                *self.words,
                f"data.train=[{','.join(learned)}]",
                path_word("run_dir", student.path),
                "resume=auto",
                launcher=self.launcher,
            )
        if not (int8 := student.path / "export" / "ctranslate2-int8").exists():
            self._export(student, int8)
        rows: list[str] = []
        for test, specs in config.data.tests.items():
            tags = {spec.tag or "" for spec in specs}
            own = _tagged(tags)
            ways: dict[str, tuple[Sequence[Path], Sequence[object]]] = {
                **{
                    f"teacher {n}" if self.each else "teacher": (teachers, own if tags <= known else [])
                    for n, (teachers, known) in enumerate(groups, start=1)
                },
                "student": ([student.path], own),
                "student, beam of 2, int8": ([int8], ["--beam-size", 2, *own]),
                "student, greedy, int8": ([int8], ["--beam-size", 1, *own]),
            }
            rows += self._compared(student, test, ways)
        write_text(self.output / "README.md", page := self._page(rows))
        print(page)

    def _export(self, student: RunDirectory, int8: Path) -> None:
        """Make the weights in 8 bits, without a shortlist if the text is too little for one.

        Raises:
            RunError: they translate in another way than the student; why has been said.
        """
        for more in (["--shortlist"], []):
            try:
                do("export", student.path, "--format", "ctranslate2", "--quantization", "int8", "--output", int8, *more)
                return
            except SystemExit as failed:
                if failed.code != 1:
                    raise
        by_hand = command("export", student.path, "--format", "ctranslate2", "--quantization", "int8", "--output", int8)
        raise RunError(f"the student is not exported; decide on --tolerance, give {by_hand}, then this command again")

    def _checked(self) -> tuple[RunConfig, list[tuple[tuple[Path, ...], set[str]]]]:
        """The configuration of the student; teachers that translate together, and the tags that all of them know."""
        for word in self.words:
            if word.startswith(("run_dir=", "resume=")):
                raise ConfigError(f"{word} cannot be a word of a student, whose run is in {self.output / 'student'}")
        if self.references >= 1:
            raise ConfigError(f"--references {self.references:g} leaves no share for translations; give less than 1")
        if self.n_best > self.beam_size > 0:
            raise ConfigError(f"--n-best {self.n_best} is more than --beam-size {self.beam_size}; widen the beam")
        if not 0 < self.keep_share <= 1:
            raise ConfigError(f"--keep-share {self.keep_share:g} is not a share, above 0 and at most 1")
        if self.each and self.monolingual:
            raise ConfigError("--each has no teacher for the text of --mono; leave out the one or the other")
        check_monolingual(self.monolingual)
        if not any(word.lstrip("+").startswith(("data", "experiment=")) for word in self.words):
            raise ConfigError(
                "no word says which text the student learns from; add data=files data.dir=PATH, or experiment=NAME"
            )
        with composed(self.words) as job:
            config = checked(job)
            if config.hours:
                check_hours(job)
        if self.each and len(self.teachers) != (n := len(config.data.train_sources)):
            raise ConfigError(
                f"--each needs a teacher for each of the {n} sources of data.train, not {len(self.teachers)}"
            )
        require_ctranslate2()
        check_convertible(config.model)
        languages = (config.data.src_lang, config.data.tgt_lang)
        trained = [_translating(teacher, *languages) for teacher in self.teachers]
        tags = dict(zip(self.teachers, (set(teacher.config.data.tags) for teacher in trained), strict=True))
        if self.backward:
            _translating(self.backward, *reversed(languages))
        if not self.each:
            check_ensemble(trained)
        groups = [(teacher,) for teacher in self.teachers] if self.each else [self.teachers]
        return config, [(group, set.intersection(*(tags[teacher] for teacher in group))) for group in groups]

    def _translate(self, name: str, text: Sequence[Path], teachers: Sequence[Path], tags: set[str]) -> None:
        """Make the pairs of a text.

        Args:
            text: a file of lines, and one of their references if there are any.
            tags: the one that the lines get, or none.
        """
        pairs = self._files("pairs", name)
        if pairs[1].exists():
            return
        n = self.n_best if len(text) == 2 else 1
        translations = self.output / "translations" / f"{name}.tsv"
        translations.parent.mkdir(exist_ok=True)
        beam_size = self.beam_size or (n if n > 1 else 0)
        options = ["--n-best", n, *(["--beam-size", beam_size] if beam_size else []), *_tagged(tags)]
        words = ["--model", *teachers, "--input", text[0], "--form", "lines", "--output", translations, *options]
        translate(*words, n_processes=self.n_processes, launcher=self.launcher)
        _write_aligned(pairs, _chosen(*map(read_lines, (translations, *text))))

    def _files(self, folder: str, name: str) -> list[Path]:
        return [self.output / folder / f"{name}.{side}" for side in ("src", "tgt")]

    def _kept(self, name: str, teachers: Sequence[Path], config: RunConfig) -> list[Path]:
        """The pairs of a text from which the student learns."""
        pairs, languages = self._files("pairs", name), [config.data.src_lang, config.data.tgt_lang]
        if self.backward is None:
            return pairs
        rules = ["--rules", "none", "--keep-duplicates", "--keep-share", self.keep_share]
        models = ["--score", teachers[0], self.backward]
        return clean(pairs, languages, self.output / "kept" / name, *rules, *models)

    def _compared(
        self, student: RunDirectory, test: str, ways: Mapping[str, tuple[Sequence[Path], Sequence[object]]]
    ) -> Iterator[str]:
        """A row of the page for each way to translate a test set, by its name: models and options."""
        folder = self.output / "tests" / test
        sources = student.sources(test) or []
        write_text(folder / "source", "".join(f"{line}\n" for line in sources))
        for name, (models, options) in ways.items():
            translated, timed = (folder / f"{name.replace(', ', '-')}{ending}" for ending in ("", ".json"))
            if not timed.exists():
                translated.unlink(missing_ok=True)  # the time of the rest of it would say nothing
                shutil.rmtree(folder_of(translated), ignore_errors=True)
                began = time.monotonic()
                files = ["--input", folder / "source", "--output", translated]
                memory = do("translate", "--model", *models, *files, *options)
                write_json(timed, {"seconds": time.monotonic() - began, "memory": memory})
            cost = json.loads(timed.read_text(encoding="utf-8"))
            in_memory = f"{cost['memory'] / 1e6:,.0f}" if cost["memory"] else ""
            found = corpus_scores(list(read_lines(translated)), student.references(test), scoring=student.scoring(test))
            yield (
                f"| {test} | {name} | {found['bleu'].score:.2f} | {found['chrf'].score:.2f} "
                f"| {len(sources) / cost['seconds']:,.0f} | {sum(map(_size, models)) / 1e6:.1f} | {in_memory} |"
            )

    def _page(self, rows: Sequence[str]) -> str:
        options = ["--output", self.output, "--references", f"{self.references:g}", "--n-best", self.n_best]
        options += ["--beam-size", self.beam_size] if self.beam_size else []
        options += ["--each"] if self.each else []
        options += ["--mono", *self.monolingual] if self.monolingual else []
        options += ["--backward", self.backward, "--keep-share", f"{self.keep_share:g}"] if self.backward else []
        return "\n".join(
            [
                "# A student and its teacher",
                "",
                f"    {command('distill', *self.teachers, *self.words, *options)}",
                "",
                "Sentences a second are those of a whole command, which also loads the model; memory is that of its",
                "largest process.",
                "",
                "| test set | model | BLEU | chrF | sentences/s | MB on disk | MB of memory |",
                "|---|---|---|---|---|---|---|",
                *rows,
                *([] if rows else ["", "There is no test set (`data.test`), so nothing is compared."]),
                "",
            ]
        )


def _chosen(
    translations: Iterable[str], sources: Iterable[str], references: Iterable[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Each line with one of its translations, which are the rows of an n-best list."""
    rows = groupby((row.split("\t") for row in translations), key=lambda row: row[0])
    lists = ([row[3] for row in found] for _, found in rows)
    if references is None:
        return zip(sources, (texts[0] for texts in lists), strict=True)
    together = zip(sources, lists, references, strict=True)
    return ((source, texts[nearest(texts, reference)]) for source, texts, reference in together)


def _write_aligned(files: Sequence[Path], pairs: Iterable[tuple[str, str]]) -> None:
    """Write both sides of a text. The targets appear last: if they are there, both are whole."""
    with ExitStack() as stack:
        tgt, src = (stack.enter_context(atomic_file(file)) for file in reversed(files))
        for source, target in pairs:
            src.write(f"{source}\n".encode())
            tgt.write(f"{target}\n".encode())


def _tagged(tags: set[str]) -> list[str]:
    """Options for text of this kind; none for text of several."""
    return ["--tag", *tags] if len(tags) == 1 and tags != {""} else []


def _entry(files: Sequence[Path], tag: str, weight: float) -> str:
    """An entry of `data.train`."""
    src, tgt = (path_word("", file.absolute())[1:] for file in files)
    return f"{{source:{{src:{src},tgt:{tgt}}},{f'tag:{tag},' if tag else ''}weight:{weight:g}}}"


def _translating(model: Path, src_lang: str, tgt_lang: str) -> TrainedModel:
    """
    Raises:
        ConfigError: it does not translate from the one language to the other.
    """
    trained = TrainedModel.read(model)
    if (found := (trained.config.data.src_lang, trained.config.data.tgt_lang)) != (src_lang, tgt_lang):
        raise ConfigError(
            f"{model} translates {' to '.join(found)}, and has to translate {src_lang} to {tgt_lang} for a student of "
            "these data.src_lang and data.tgt_lang"
        )
    return trained


def _size(model: Path) -> int:
    """Bytes of what a translation loads."""
    file = TrainedModel.read(model).path
    return sum(each.stat().st_size for each in (file, *file.rglob("*")) if each.is_file())
