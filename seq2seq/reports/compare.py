"""Test whether two finished runs differ by more than chance, on each test set that both have translated."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.evaluation.scores import TEST_METRICS, PairedScores, paired_test

SIGNIFICANT = 0.05  # a p-value below it counts as more than chance


@dataclass(frozen=True)
class ComparedTestSet:
    """Two runs on one test set. In each metric, run A is the baseline and run B the system."""

    n_sentences: int
    metrics: Mapping[str, PairedScores]


@dataclass(frozen=True)
class Comparison:
    """Two runs, A and B, on the test sets that both have translated."""

    a: RunDirectory
    b: RunDirectory
    languages: tuple[str, str]  # source and target
    notes: Sequence[str]  # one sentence for each split whose files differ between the runs
    tests: Mapping[str, ComparedTestSet]  # by name


def compare(a: RunDirectory, b: RunDirectory, tests: Sequence[str] = (), metrics: Sequence[str] = ()) -> Comparison:
    """The paired bootstrap test of two runs, for each test set.

    Args:
        tests: which test sets; empty: all that both runs have.
        metrics: any of `scores.METRICS`; empty: those that both runs have of the test set.
    Raises:
        RunError: both are the same run; their languages or sentences differ; they share no such test set; or hypotheses
            or references are missing.
    """
    if a.path.resolve() == b.path.resolve():
        raise RunError(f"{a.path} and {b.path} are one run; name two")
    names_a, names_b = _tests(a), _tests(b)
    languages = a.languages()
    if languages != b.languages():
        raise RunError(
            f"{a.path} translates {' to '.join(languages)} and {b.path} {' to '.join(b.languages())}; "
            "only runs of the same languages can be compared"
        )
    shared = [name for name in names_a if name in names_b]
    if not shared or not set(tests) <= set(shared):
        raise RunError(
            f"{a.path} was tested on {', '.join(names_a)} and {b.path} on {', '.join(names_b)}; "
            f"{'name one of both with --test' if shared else 'they share no test set'}"
        )
    found = {name: _compare_on(name, a, b, metrics, languages[1]) for name in tests or shared}
    return Comparison(a, b, languages, _other_text(a, b, found), found)


def _other_text(a: RunDirectory, b: RunDirectory, tests: Iterable[str]) -> list[str]:
    """What else differs than the models; nothing of runs that did not keep which files they read."""
    meaning = {
        "train": "the runs were trained on different text, so the difference may come from it",
        "valid": "the runs chose their weights on different validation text",
    } | {f"test/{name}": f"the files of test set {name} differ, though its references are the same" for name in tests}
    in_a, in_b = a.corpus(), b.corpus()
    return [note for split, note in meaning.items() if split in in_a and split in in_b and in_a[split] != in_b[split]]


def _tests(run: RunDirectory) -> list[str]:
    if not (names := run.tests()):
        raise RunError(f"{run.path}: has no hypotheses/*.{run.languages()[1]}, which a run writes at its end")
    return names


def _compare_on(test: str, a: RunDirectory, b: RunDirectory, metrics: Sequence[str], language: str) -> ComparedTestSet:
    references = a.references(test)
    for number, (in_a, in_b) in enumerate(zip_longest(references, b.references(test)), start=1):
        if in_a != in_b:
            raise RunError(
                f"{a.path} and {b.path} were tested on different sentences called {test}: reference {number} "
                f"is {_shown(in_a)} in one and {_shown(in_b)} in the other; compare them on another one with --test"
            )
    found = paired_test(
        a.hypotheses(test),
        b.hypotheses(test),
        references,
        metrics or _shared_metrics(test, a, b),
        language=language,
        ignore_case=a.ignored_case(test) or b.ignored_case(test),
    )
    return ComparedTestSet(len(references), found)


def _shared_metrics(test: str, a: RunDirectory, b: RunDirectory) -> list[str]:
    """The metrics that both runs have of a test set. A run that kept no scores may have all."""
    kept = [names for run in (a, b) if (names := run.metrics_of(test))]
    return [metric for metric in TEST_METRICS if all(metric in names for names in kept)]


def _shown(references: tuple[str, ...] | None) -> str:
    return "missing" if references is None else repr(references[0][:60])


def table(comparison: Comparison) -> str:
    """The comparison as text, for people."""
    lines = [f"A  {comparison.a.path}", f"B  {comparison.b.path}"]
    lines.append(f"{' to '.join(comparison.languages)}, paired bootstrap (Koehn 2004)")
    lines += [f"note: {note}" for note in comparison.notes]
    for name, test in comparison.tests.items():
        lines += ["", f"test set {name}, {test.n_sentences:,} sentences:"]
        lines.append(f"  {'':15} {'A':^15} {'B':^15} {'B - A':>7} {'p':>7}")
        for metric, paired in test.metrics.items():
            scores = " ".join(f"{s.score:6.2f} ± {s.half_width:<6.2f}" for s in (paired.baseline, paired.system))
            p_value = "" if _p_value(paired) is None else f"{paired.p_value:.4f}"
            lines.append(f"  {metric:15} {scores} {_difference(paired):+7.2f} {p_value:>7}  {_verdict(metric, paired)}")
        lines += [f"  {metric:15} {paired.system.signature}" for metric, paired in test.metrics.items()]
    return "\n".join(lines)


def _verdict(metric: str, paired: PairedScores) -> str:
    difference, p_value = _difference(paired), _p_value(paired)
    if p_value is None:
        return "equal"
    if p_value >= SIGNIFICANT:
        return "may be chance"
    is_higher_better = metric != "ter"
    return "B is better" if (difference > 0) == is_higher_better else "A is better"


def _difference(paired: PairedScores) -> float:
    return paired.system.score - paired.baseline.score


def _p_value(paired: PairedScores) -> float | None:
    """None if the scores are equal, since sacreBLEU's p-value means nothing then."""
    return paired.p_value if _difference(paired) else None


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison for programs, as JSON values; `p_value` is None if the scores are equal."""

    def plain(paired: PairedScores) -> dict[str, Any]:
        sides = {"a": dataclasses.asdict(paired.baseline), "b": dataclasses.asdict(paired.system)}
        for side in sides.values():
            del side["signature"]  # it is the same for both
        return {
            **sides,
            "difference": _difference(paired),
            "p_value": _p_value(paired),
            "signature": paired.system.signature,
        }

    src_lang, tgt_lang = comparison.languages
    return {
        "a": str(comparison.a.path),
        "b": str(comparison.b.path),
        "src_lang": src_lang,
        "tgt_lang": tgt_lang,
        "notes": list(comparison.notes),
        "tests": {
            name: {
                "n_sentences": test.n_sentences,
                "metrics": {metric: plain(paired) for metric, paired in test.metrics.items()},
            }
            for name, test in comparison.tests.items()
        },
    }
