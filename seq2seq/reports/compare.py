"""Test whether two runs differ by more than chance:  python -m seq2seq compare RUN_A RUN_B

Needs nothing but what finished runs keep: `config.yaml`, `hypotheses/` and `references/`.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.corpus.reader import read_aligned, read_lines
from seq2seq.errors import TranslationError, UserError
from seq2seq.evaluation.scores import METRICS, TEST_METRICS, PairedScores, paired_test

SIGNIFICANT = 0.05  # a p-value below it is taken for more than chance


@dataclass(frozen=True)
class FinishedRun:
    """A run directory as its end left it."""

    directory: Path
    src_lang: str
    tgt_lang: str

    @classmethod
    def open(cls, directory: Path) -> "FinishedRun":
        """
        Raises:
            TranslationError: not the directory of a run, or of one that has not tested yet.
        """
        config = directory / "config.yaml"
        if not config.is_file():
            raise TranslationError(f"{directory}: is not the directory of a run, which has a config.yaml")
        try:
            data = OmegaConf.load(config).data
            run = cls(directory, str(data.src_lang), str(data.tgt_lang))
        except Exception as error:  # a damaged YAML file fails in many ways
            raise TranslationError(f"{config}: names no languages, so it is damaged; restore it") from error
        if not run.tests:
            raise TranslationError(f"{directory}: has no hypotheses/*.{run.tgt_lang}, which a run writes at its end")
        return run

    @property
    def tests(self) -> list[str]:
        """Names of the test sets that it translated."""
        files = sorted((self.directory / "hypotheses").rglob(f"*.{self.tgt_lang}"))
        ending = f".{self.tgt_lang}"
        return [file.relative_to(self.directory / "hypotheses").as_posix().removesuffix(ending) for file in files]

    def hypotheses(self, test: str) -> list[str]:
        """Its translations of a test set."""
        return list(read_lines(self._path("hypotheses", test)))

    def references(self, test: str) -> list[tuple[str, ...]]:
        """What they were scored against: all references of each sentence, blank where it has fewer than others.

        Raises:
            TranslationError: they were not kept, or are not as many as the hypotheses.
        """
        path = self._path("references", test)
        if not path.is_file():
            raise TranslationError(
                f"{path}: no such file; older runs did not keep their references. Copy those of the test set there, "
                f"one a line, or let python train.py resume={self.directory} test once more"
            )
        n_further = len(list(path.parent.glob(f"{path.name}.*")))
        further = [path.with_name(f"{path.name}.{number}") for number in range(1, n_further + 1)]
        references = list(read_aligned([path, *further]))
        if len(references) != (n := len(self.hypotheses(test))):
            raise TranslationError(
                f"{path} has {len(references)} lines and {self._path('hypotheses', test)} has {n}; line n of one must "
                "belong to line n of the other, so restore the one that was changed"
            )
        return references

    def _path(self, folder: str, test: str) -> Path:
        return self.directory / folder / f"{test}.{self.tgt_lang}"


@dataclass(frozen=True)
class OnTestSet:
    """Both runs on one test set; in each metric the first run is the baseline and the second the system."""

    n_sentences: int
    metrics: Mapping[str, PairedScores]


def compare(
    a: FinishedRun, b: FinishedRun, tests: Sequence[str] = (), metrics: Sequence[str] = TEST_METRICS
) -> dict[str, OnTestSet]:
    """The paired bootstrap test of two runs, for each test set under its name.

    Args:
        tests: which test sets; empty: all that both runs have.
        metrics: of `scores.METRICS`.
    Raises:
        TranslationError: one run twice, other languages, no such test set in both, other sentences in one of them,
            no references.
    """
    if a.directory.resolve() == b.directory.resolve():
        raise TranslationError(f"{a.directory} and {b.directory} are one run; name two")
    if (a.src_lang, a.tgt_lang) != (b.src_lang, b.tgt_lang):
        raise TranslationError(
            f"{a.directory} translates {a.src_lang} to {a.tgt_lang} and {b.directory} {b.src_lang} to {b.tgt_lang}; "
            "only runs of the same languages can be compared"
        )
    shared = [name for name in a.tests if name in b.tests]
    if not shared or not set(tests) <= set(shared):
        raise TranslationError(
            f"{a.directory} was tested on {', '.join(a.tests)} and {b.directory} on {', '.join(b.tests)}; "
            f"{'name one of both with --test' if shared else 'they share no test set'}"
        )
    return {name: _compare_on(name, a, b, metrics) for name in tests or shared}


def _compare_on(test: str, a: FinishedRun, b: FinishedRun, metrics: Sequence[str]) -> OnTestSet:
    references = a.references(test)
    for number, (one, other) in enumerate(zip_longest(references, b.references(test)), start=1):
        if one != other:
            raise TranslationError(
                f"{a.directory} and {b.directory} were tested on different sentences called {test}: reference {number} "
                f"is {_shown(one)} in one and {_shown(other)} in the other; compare them on another one with --test"
            )
    found = paired_test(a.hypotheses(test), b.hypotheses(test), references, metrics, language=a.tgt_lang)
    return OnTestSet(len(references), found)


def _shown(references: tuple[str, ...] | None) -> str:
    return "missing" if references is None else repr(references[0][:60])


def table(a: FinishedRun, b: FinishedRun, found: Mapping[str, OnTestSet]) -> str:
    """What `compare` found, for people."""
    lines = [f"A  {a.directory}", f"B  {b.directory}", f"{a.src_lang} to {a.tgt_lang}, paired bootstrap (Koehn 2004)"]
    for name, test in found.items():
        lines += ["", f"test set {name}, {test.n_sentences:,} sentences:"]
        lines.append(f"  {'':15} {'A':^15} {'B':^15} {'B - A':>7} {'p':>7}")
        for metric, each in test.metrics.items():
            scores = " ".join(f"{s.score:6.2f} ± {s.half_width:<6.2f}" for s in (each.baseline, each.system))
            p_value = "" if _p_value(each) is None else f"{each.p_value:.4f}"
            lines.append(f"  {metric:15} {scores} {_difference(each):+7.2f} {p_value:>7}  {_verdict(metric, each)}")
        lines += [f"  {metric:15} {each.system.signature}" for metric, each in test.metrics.items()]
    return "\n".join(lines)


def _verdict(metric: str, found: PairedScores) -> str:
    difference, p_value = _difference(found), _p_value(found)
    if p_value is None:
        return "equal"
    if p_value >= SIGNIFICANT:
        return "may be chance"
    is_higher_better = metric != "ter"
    return "B is better" if (difference > 0) == is_higher_better else "A is better"


def _difference(found: PairedScores) -> float:
    return found.system.score - found.baseline.score


def _p_value(found: PairedScores) -> float | None:
    """None where the scores are equal, and sacreBLEU's p-value means nothing."""
    return found.p_value if _difference(found) else None


def as_json(a: FinishedRun, b: FinishedRun, found: Mapping[str, OnTestSet]) -> dict[str, Any]:
    """What `compare` found, for programs; `p_value` is None where scores are equal."""

    def plain(each: PairedScores) -> dict[str, Any]:
        sides = {"a": dataclasses.asdict(each.baseline), "b": dataclasses.asdict(each.system)}
        for side in sides.values():
            del side["signature"]  # one and the same
        return {
            **sides,
            "difference": _difference(each),
            "p_value": _p_value(each),
            "signature": each.system.signature,
        }

    tests = {
        name: {
            "n_sentences": test.n_sentences,
            "metrics": {metric: plain(each) for metric, each in test.metrics.items()},
        }
        for name, test in found.items()
    }
    runs = {"a": str(a.directory), "b": str(b.directory)}
    return {**runs, "src_lang": a.src_lang, "tgt_lang": a.tgt_lang, "tests": tests}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Raises:
        SystemExit: 2 after an error that has a remedy.
    """
    parser = argparse.ArgumentParser(
        prog="python -m seq2seq compare",
        description="Test whether two runs differ by more than chance, on each test set that both have translated.",
    )
    parser.add_argument("run_a", type=Path, metavar="RUN_A", help="directory of a finished run")
    parser.add_argument("run_b", type=Path, metavar="RUN_B", help="directory of another one")
    parser.add_argument("--test", action="append", default=[], metavar="NAME", help="only this test set; repeatable")
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=TEST_METRICS, help="default: all but chrf++")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of the table")
    args = parser.parse_args(argv)
    try:
        a, b = FinishedRun.open(args.run_a), FinishedRun.open(args.run_b)
        found = compare(a, b, args.test, args.metrics)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print(json.dumps(as_json(a, b, found), indent=2, ensure_ascii=False) if args.json else table(a, b, found))


if __name__ == "__main__":
    main()
