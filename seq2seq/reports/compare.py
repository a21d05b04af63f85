"""Whether two finished runs differ by more than chance, on each test set that both have translated."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.evaluation.scores import TEST_METRICS, PairedScores, paired_test

SIGNIFICANT = 0.05  # a p-value below it is taken for more than chance


@dataclass(frozen=True)
class ComparedTestSet:
    """Two runs on one test set; in each metric the first run is the baseline and the second the system."""

    n_sentences: int
    metrics: Mapping[str, PairedScores]


@dataclass(frozen=True)
class Comparison:
    """Two runs, A and B, on the test sets that both have translated."""

    a: RunDirectory
    b: RunDirectory
    languages: tuple[str, str]  # source and target
    tests: Mapping[str, ComparedTestSet]  # by name


def compare(
    a: RunDirectory, b: RunDirectory, tests: Sequence[str] = (), metrics: Sequence[str] = TEST_METRICS
) -> Comparison:
    """The paired bootstrap test of two runs, for each test set.

    Args:
        tests: which test sets; empty: all that both runs have.
        metrics: of `scores.METRICS`.
    Raises:
        RunError: one run twice, other languages, no such test set in both, other sentences in one of them, no
            hypotheses or no references.
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
    return Comparison(a, b, languages, found)


def _tests(run: RunDirectory) -> list[str]:
    if not (names := run.tests()):
        raise RunError(f"{run.path}: has no hypotheses/*.{run.languages()[1]}, which a run writes at its end")
    return names


def _compare_on(test: str, a: RunDirectory, b: RunDirectory, metrics: Sequence[str], language: str) -> ComparedTestSet:
    references = a.references(test)
    for number, (one, other) in enumerate(zip_longest(references, b.references(test)), start=1):
        if one != other:
            raise RunError(
                f"{a.path} and {b.path} were tested on different sentences called {test}: reference {number} "
                f"is {_shown(one)} in one and {_shown(other)} in the other; compare them on another one with --test"
            )
    found = paired_test(a.hypotheses(test), b.hypotheses(test), references, metrics, language=language)
    return ComparedTestSet(len(references), found)


def _shown(references: tuple[str, ...] | None) -> str:
    return "missing" if references is None else repr(references[0][:60])


def table(comparison: Comparison) -> str:
    """What `compare` found, for people."""
    lines = [f"A  {comparison.a.path}", f"B  {comparison.b.path}"]
    lines.append(f"{' to '.join(comparison.languages)}, paired bootstrap (Koehn 2004)")
    for name, test in comparison.tests.items():
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


def as_json(comparison: Comparison) -> dict[str, Any]:
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

    src_lang, tgt_lang = comparison.languages
    return {
        "a": str(comparison.a.path),
        "b": str(comparison.b.path),
        "src_lang": src_lang,
        "tgt_lang": tgt_lang,
        "tests": {
            name: {
                "n_sentences": test.n_sentences,
                "metrics": {metric: plain(each) for metric, each in test.metrics.items()},
            }
            for name, test in comparison.tests.items()
        },
    }
