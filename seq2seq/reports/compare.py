"""Compare runs: what differs in their settings, what they scored, and whether the difference is more than chance.

Everything is read from run directories. Paired tests compare each run with the first one, on each test set that both
have translated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.errors import RunError
from seq2seq.evaluation.holm import corrected
from seq2seq.evaluation.scores import METRICS, N_SAMPLES, TEST_METRICS, PairedScores, paired_tests
from seq2seq.reports.compared_run import ComparedRun, Measured, read_run
from seq2seq.reports.seeds import Recipe, recipes
from seq2seq.reports.tables import label
from seq2seq.reports.verdict import SIGNIFICANT

Scores = Mapping[str, Mapping[str, Measured]]  # by metric and label


@dataclass(frozen=True)
class ComparedTestSet:
    """The scores of runs on one test set."""

    n_sentences: int | None  # None if no run kept its translations
    scores: Scores


@dataclass(frozen=True)
class Comparison:
    """Several runs. Each is compared with the first one.

    Attributes:
        languages: source and target.
        method: of the paired tests: `bs` or `ar` (`scores.paired_tests`), or `none`.
        differing: key: label: value, of each key in which runs differ.
        notes: sentences that say why a difference may not be that of the models.
    """

    runs: Sequence[ComparedRun]
    languages: tuple[str, str]
    method: str
    differing: Mapping[str, Mapping[str, Any]]
    notes: Sequence[str]
    valid: Scores
    tests: Mapping[str, ComparedTestSet]
    recipes: Sequence[Recipe]

    @property
    def scores(self) -> dict[str, Mapping[str, Measured]]:
        """By `valid/METRIC` or `test/TEST/METRIC`, as in `metrics.csv`, then by label."""
        found = {f"valid/{metric}": by_label for metric, by_label in self.valid.items()}
        for name, test in self.tests.items():
            found |= {f"test/{name}/{metric}": by_label for metric, by_label in test.scores.items()}
        return found


def runs_to_compare(paths: Sequence[Path]) -> list[RunDirectory]:
    """The runs that paths name: runs, and sweeps with all of their jobs. A run that a sweep names again counts once.

    Raises:
        RunError: a path names a run that another one has named.
    """
    found: dict[Path, RunDirectory] = {}
    for path in paths:
        for run in runs_in(path):
            place = run.path.resolve()
            if place in found and run.path == path:
                raise RunError(f"{found[place].path} and {path} are one run; name it once")
            found.setdefault(place, run)
    return list(found.values())


def compare(
    runs: Sequence[RunDirectory], tests: Sequence[str] = (), metrics: Sequence[str] = (), method: str = "bs"
) -> Comparison:
    """Compare runs with the first of them.

    Args:
        tests: which test sets; empty: all.
        metrics: any of `scores.METRICS`; empty: those that the runs have.
        method: of the paired tests; `none` shows the scores that runs have kept, and needs no references.
    Raises:
        RunError: languages or references differ; two finished runs share no test set; no run has such a test set or
            metric; a run has no references, or is damaged.
    """
    first, *others = read = [read_run(run, label(number)) for number, run in enumerate(runs)]
    languages = first.run.languages()
    for other in others:
        if (found := other.run.languages()) != languages:
            raise RunError(
                f"{first.run.path} translates {' to '.join(languages)} and {other.run.path} {' to '.join(found)}; "
                "only runs of the same languages can be compared"
            )
    names = _test_sets(read, tests, method)
    sets = {name: _compare_on(name, read, metrics, method, languages[1]) for name in names}
    valid = _by_metric({run.label: run.valid for run in read}, metrics)
    if first.is_finished:  # the validations of a run may be on fewer sentences than the choice of its weights
        valid = _with_differences(valid, [run for run in read if run.is_finished and not _differ(first, run, "valid")])
    comparison = Comparison(
        read, languages, method, _differing(read), list(_notes(read, sets, method)), valid, sets, []
    )
    there = {name.rpartition("/")[2] for name in comparison.scores}
    if missing := [metric for metric in metrics if metric not in there]:
        known = [metric for metric in METRICS if any(metric in run.metrics for run in read)]
        raise RunError(f"no run has kept {missing[0]}; choose from {', '.join(known) or 'none, as none was scored'}")
    plain = {name: {label: each.score for label, each in found.items()} for name, found in comparison.scores.items()}
    return replace(comparison, recipes=recipes(read, plain))


def _differing(runs: Sequence[ComparedRun]) -> dict[str, dict[str, Any]]:
    keys = dict.fromkeys(key for run in runs for key in run.settings)  # `data.test` may have keys of its own
    return {
        key: {run.label: run.settings[key] for run in runs if key in run.settings}
        for key in keys
        if any(run.settings.get(key) != runs[0].settings.get(key) for run in runs)
    }


def _test_sets(runs: Sequence[ComparedRun], wanted: Sequence[str], method: str) -> list[str]:
    """The names of the test sets to show, in the order of the runs."""
    first, *others = runs
    for other in others if method != "none" else ():
        shared = set(first.translated) & set(other.translated)
        if first.translated and other.translated and not (shared and set(wanted) <= shared):
            raise RunError(
                f"{first.run.path} was tested on {', '.join(first.translated)} and {other.run.path} on "
                f"{', '.join(other.translated)}; "
                f"{'name one of both with --test' if shared else 'they share no test set'}"
            )
    names = list(dict.fromkeys(name for run in runs for name in [*run.translated, *run.tests]))
    if unknown := [name for name in wanted if name not in names]:
        raise RunError(
            f"no run was tested on {unknown[0]}; choose from {', '.join(names) or 'none, as none was tested'}"
        )
    return [name for name in names if not wanted or name in wanted]


def _compare_on(
    test: str, runs: Sequence[ComparedRun], metrics: Sequence[str], method: str, language: str
) -> ComparedTestSet:
    """The scores that runs kept of a test set, and those of paired tests in their place."""
    translated = [run for run in runs if test in run.translated]
    scores = _by_metric({run.label: run.tests.get(test, {}) for run in runs}, metrics)
    if method != "none" and len(translated) > 1 and translated[0] is runs[0]:
        for metric, by_label in _tested(test, translated, metrics, method, language).items():
            scores[metric] = scores.get(metric, {}) | by_label
    in_order = {
        metric: {run.label: scores[metric][run.label] for run in runs if run.label in scores[metric]}
        for metric in METRICS
        if metric in scores
    }
    n_sentences = len(translated[0].run.hypotheses(test)) if translated else None
    return ComparedTestSet(n_sentences, _with_differences(in_order, runs))


def _tested(
    test: str, runs: Sequence[ComparedRun], metrics: Sequence[str], method: str, language: str
) -> dict[str, dict[str, Measured]]:
    """The scores of all runs on a test set, and the tests of each but the first one against that."""
    first, *others = (run.run for run in runs)
    references = first.references(test)
    for other in others:
        _check_references(test, first, other, references)
    found = paired_tests(
        first.hypotheses(test),
        [other.hypotheses(test) for other in others],
        references,
        metrics or _shared_metrics(test, runs),
        method,
        language=language,
        ignore_case=any(run.run.ignored_case(test) for run in runs),
        tokenize=first.tokenize(),
    )
    return {
        metric: dict(zip((run.label for run in runs), _measured(pairs), strict=True)) for metric, pairs in found.items()
    }


def _measured(pairs: Sequence[PairedScores]) -> Iterator[Measured]:
    """The baseline, and each system with its test. The tests of one metric on one test set are a family."""
    yield Measured(**vars(pairs[0].baseline))
    for pair, p_holm in zip(pairs, corrected(pairs), strict=True):
        p_value = pair.p_value if pair.difference else None
        yield Measured(**vars(pair.system), p_value=p_value, p_holm=p_holm, is_tested=True)


def _check_references(
    test: str, first: RunDirectory, other: RunDirectory, references: Sequence[tuple[str, ...]]
) -> None:
    for number, (ours, theirs) in enumerate(zip_longest(references, other.references(test)), start=1):
        if ours != theirs:
            raise RunError(
                f"{first.path} and {other.path} were tested on different sentences called {test}: reference {number} "
                f"is {_shown(ours)} in one and {_shown(theirs)} in the other; compare them on another one with --test"
            )


def _shown(references: tuple[str, ...] | None) -> str:
    return "missing" if references is None else repr(references[0][:60])


def _shared_metrics(test: str, runs: Sequence[ComparedRun]) -> list[str]:
    """The metrics that all runs have of a test set. A run that kept no scores may have all."""
    kept = [run.tests[test] for run in runs if run.tests.get(test)]
    return [metric for metric in TEST_METRICS if all(metric in scores for scores in kept)]


def _by_metric(found: Mapping[str, Mapping[str, Measured]], wanted: Sequence[str]) -> dict[str, dict[str, Measured]]:
    """Scores by label and metric, turned around, in the order of `METRICS`."""
    return {
        metric: by_label
        for metric in wanted or METRICS
        if (by_label := {label: scores[metric] for label, scores in found.items() if metric in scores})
    }


def _with_differences(
    scores: Mapping[str, Mapping[str, Measured]], runs: Sequence[ComparedRun]
) -> dict[str, dict[str, Measured]]:
    """The scores, each with its difference from that of the first of the runs, where that has one."""
    first, *others = (run.label for run in runs)
    found = {metric: dict(by_label) for metric, by_label in scores.items()}
    for by_label in found.values():
        for other in others:
            if first in by_label and other in by_label:
                difference = by_label[other].score - by_label[first].score
                by_label[other] = replace(by_label[other], difference=difference)
    return found


def _differ(one: ComparedRun, other: ComparedRun, split: str) -> bool:
    """Whether two runs read different files; not if one of them did not keep which it read."""
    in_one, in_other = one.run.corpus().get(split), other.run.corpus().get(split)
    return in_one is not None and in_other is not None and in_one != in_other


def _notes(runs: Sequence[ComparedRun], sets: Mapping[str, ComparedTestSet], method: str) -> Iterator[str]:
    """What else differs than the models; nothing of runs that did not keep which files they read."""
    first, *others = runs
    meaning = {
        "train": f"trained on other text than {first.label}, so the difference may come from it",
        "valid": f"chose the weights on other validation text than {first.label}",
    } | {
        f"test/{name}": f"read other files of test set {name} than {first.label}"
        + ("" if method == "none" else ", though its references are the same")
        for name in sets
    }
    for split, note in meaning.items():
        differing = [run.label for run in others if _differ(first, run, split)]
        if differing:
            yield f"{', '.join(differing)}: {note}"
    unfinished = [run for run in runs if not run.is_finished]
    if training := [run.label for run in unfinished if not run.translated]:
        validated = "; scores on valid are of the latest validation" if any(run.valid for run in unfinished) else ""
        yield f"{', '.join(training)}: not finished, so not tested{validated}"
    if method != "none" and others and not first.translated and any(other.translated for other in others):
        yield f"nothing is tested against {first.label}, which has translated no test set; name a finished run first"
    for name, test in sets.items():
        for metric, scores in test.scores.items():
            if len({each.signature for each in scores.values()}) > 1:
                yield f"{metric} of test set {name} was not computed alike by all runs, see the signatures"
    n_tested = max(
        (sum(each.is_tested for each in scores.values()) for test in sets.values() for scores in test.scores.values()),
        default=0,
    )
    if method != "none" and n_tested / (N_SAMPLES[method] + 1) >= SIGNIFICANT:
        yield (
            f"with {n_tested} runs and {N_SAMPLES[method]:,} samples no corrected p-value can be below {SIGNIFICANT}; "
            "name fewer runs" + (", or take --test-method ar" if method == "bs" else "")
        )
