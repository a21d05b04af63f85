"""Compare runs: what differs in their settings, what they scored, and whether the difference is more than chance.

Everything is read from run directories. What is compared is recipes: a run, or all seeds of it. Tests compare each
recipe with the first one, on each test set that both have translated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.errors import RunError
from seq2seq.evaluation.holm import corrected
from seq2seq.evaluation.over_seeds import RecipeScores, recipe_tests
from seq2seq.evaluation.scores import METRICS, N_SAMPLES, TEST_METRICS
from seq2seq.exit_status import note
from seq2seq.reports.compared_run import ComparedRun, Measured, read_run
from seq2seq.reports.seeds import Recipe, recipes
from seq2seq.reports.tables import label
from seq2seq.reports.verdict import SIGNIFICANT

Scores = Mapping[str, Mapping[str, Measured]]  # by metric, and by the label of a run or recipe
_INCIDENTAL = re.compile(r"\|(?:bs|ar|seed|version):[^|]*")  # of a signature: it leaves the score as it is


@dataclass(frozen=True)
class ComparedTestSet:
    """The scores of runs on one test set."""

    n_sentences: int | None  # None if no run kept its translations
    scores: Scores


@dataclass(frozen=True)
class Comparison:
    """Several runs. Each recipe is compared with the first one.

    Attributes:
        recipes: all of the runs, those together that differ only in their seed.
        languages: source and target.
        method: of the paired tests: `bs` or `ar` (`recipe_tests`), or `none`.
        differing: key: label: value, of each key in which runs differ.
        notes: sentences that say why a difference may not be that of the models.
    """

    runs: Sequence[ComparedRun]
    recipes: Sequence[Recipe]
    languages: tuple[str, str]
    method: str
    differing: Mapping[str, Mapping[str, Any]]
    notes: Sequence[str]
    valid: Scores
    tests: Mapping[str, ComparedTestSet]

    @property
    def scores(self) -> dict[str, Mapping[str, Measured]]:
        """By `valid/METRIC` or `test/TEST/METRIC`, as in `metrics.csv`, then by label."""
        found = {f"valid/{metric}": by_label for metric, by_label in self.valid.items()}
        for name, test in self.tests.items():
            found |= {f"test/{name}/{metric}": by_label for metric, by_label in test.scores.items()}
        return found


def runs_to_compare(paths: Sequence[Path], baseline: Path | None = None) -> list[RunDirectory]:
    """The runs that paths name: runs, and sweeps with all of their jobs. A run that a sweep names again counts once.

    A job that failed before it was a run is left out, which is told.

    Args:
        baseline: a run to put first; it may be one of the others.
    Raises:
        RunError: a path names a run that another one has named.
    """
    found: dict[Path, RunDirectory] = {}
    for path in paths:
        runs, sweep = runs_in(path), SweepDirectory(path)
        for name in sweep.jobs() if sweep.is_sweep or sweep.is_search else ():
            if sweep.error(name) and sweep.run(name) not in runs:
                note(f"{name} has no run: {sweep.error(name)}")
        for run in runs:
            place = run.path.resolve()
            if place in found and run.path == path:
                raise RunError(f"{found[place].path} and {path} are one run; name it once")
            found.setdefault(place, run)
    if baseline is None:
        return list(found.values())
    first = RunDirectory(baseline)
    return [first, *(run for place, run in found.items() if place != first.path.resolve())]


def compare(
    runs: Sequence[RunDirectory],
    tests: Sequence[str] = (),
    metrics: Sequence[str] = (),
    method: str = "bs",
    by: str = "",
) -> Comparison:
    """Compare runs with the first of them, and its other seeds.

    Args:
        tests: which test sets; empty: all.
        metrics: any of `scores.METRICS`; empty: those that the runs have.
        method: of the paired tests; `none` shows the scores that runs have kept, and needs no references.
        by: a key; all runs with one value of it count as one recipe.
    Raises:
        RunError: languages or references differ; two finished runs share no test set; no run has such a test set,
            metric or key; a run has no references, or is damaged; the method does not take several seeds.
    """
    first, *others = read = [read_run(run, label(number)) for number, run in enumerate(runs)]
    languages = first.run.languages()
    for other in others:
        if (found := other.run.languages()) != languages:
            raise RunError(
                f"{first.run.path} translates {' to '.join(languages)} and {other.run.path} {' to '.join(found)}; "
                "only runs of the same languages can be compared"
            )
    groups = recipes(read, by)
    if method == "ar" and (several := [recipe for recipe in groups if len(recipe.runs) > 1]):
        raise RunError(
            f"--test-method ar compares single runs, and {several[0].label} are one recipe; take bs, or name one"
        )
    sets = {name: _compare_on(name, groups, metrics, method) for name in _test_sets(read, tests, method)}
    # The validations of a run that is not finished may be on fewer sentences than the choice of its weights.
    alike = [
        group for group in groups if all(run.is_finished and not _differ(first, run, "valid") for run in group.runs)
    ]
    valid = _together(
        _by_metric({run.label: run.valid for run in read}, metrics), groups, alike if first.is_finished else []
    )
    notes = list(_notes(read, valid, sets, method))
    comparison = Comparison(read, groups, languages, method, _differing(read), notes, valid, sets)
    there = {name.rpartition("/")[2] for name in comparison.scores}
    if missing := [metric for metric in metrics if metric not in there]:
        known = [metric for metric in METRICS if any(metric in run.metrics for run in read)]
        raise RunError(f"no run has kept {missing[0]}; choose from {', '.join(known) or 'none, as none was scored'}")
    return comparison


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


def _compare_on(test: str, recipes: Sequence[Recipe], metrics: Sequence[str], method: str) -> ComparedTestSet:
    """The scores that runs kept of a test set, and those of tests in their place."""
    scores = _by_metric({run.label: run.tests.get(test, {}) for recipe in recipes for run in recipe.runs}, metrics)
    translated = [recipe for recipe in recipes if all(test in run.translated for run in recipe.runs)]
    runs = [run for recipe in translated for run in recipe.runs]
    if method != "none" and len(runs) > 1 and translated[0] is recipes[0]:
        for metric, by_label in _tested(test, translated, metrics, method).items():
            scores[metric] = scores.get(metric, {}) | by_label
    in_order = {metric: scores[metric] for metric in METRICS if metric in scores}
    n_sentences = len(runs[0].run.hypotheses(test)) if runs else None
    return ComparedTestSet(n_sentences, _together(in_order, recipes, recipes))


def _tested(
    test: str, recipes: Sequence[Recipe], metrics: Sequence[str], method: str
) -> dict[str, dict[str, Measured]]:
    """The scores of all runs and recipes on a test set, and the tests of each recipe but the first one against that."""
    runs = [run for recipe in recipes for run in recipe.runs]
    references = runs[0].run.references(test)
    for other in runs[1:]:
        _check_references(test, runs[0].run, other.run, references)
    scorings = [run.run.scoring(test) for run in runs]
    found = recipe_tests(
        [[run.run.hypotheses(test) for run in recipe.runs] for recipe in recipes],
        references,
        metrics or _shared_metrics(test, runs),
        method,
        replace(scorings[0], ignore_case=any(scoring.ignore_case for scoring in scorings)),
    )
    return {metric: dict(_measured(recipes, each)) for metric, each in found.items()}


def _measured(recipes: Sequence[Recipe], found: Sequence[RecipeScores]) -> Iterator[tuple[str, Measured]]:
    """By label, runs and recipes, these with their tests. The tests of one metric on one test set are a family."""
    p_holm = [None, *corrected([each.p_value for each in found[1:]])]
    for number, (recipe, each) in enumerate(zip(recipes, found, strict=True)):
        yield from ((run.label, Measured(**vars(score))) for run, score in zip(recipe.runs, each.runs, strict=True))
        yield (
            recipe.label,
            Measured(
                **vars(each.together),
                difference_half_width=each.half_width,
                p_value=each.p_value,
                p_holm=p_holm[number],
                is_tested=number > 0,
            ),
        )


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


def _together(scores: Scores, recipes: Sequence[Recipe], alike: Sequence[Recipe]) -> dict[str, dict[str, Measured]]:
    """The scores in the order of recipes: each with the mean of its seeds before them, and with its difference.

    Args:
        alike: the recipes whose scores may be subtracted.
    """
    first = recipes[0].label
    found: dict[str, dict[str, Measured]] = {}
    for metric, by_label in scores.items():
        there = found[metric] = {}
        for recipe in recipes:
            own = {run.label: by_label[run.label] for run in recipe.runs if run.label in by_label}
            if len(own) == len(recipe.runs) > 1:
                values = [each.score for each in own.values()]
                there[recipe.label] = replace(
                    by_label.get(recipe.label, Measured(mean(values))), deviation=stdev(values)
                )
            there |= own
            both = [by_label[run.label] for each in (recipes[0], recipe) for run in each.runs if run.label in by_label]
            is_there = recipe is not recipes[0] and first in there and recipe.label in there
            if recipe in alike and is_there and _alike(both):
                difference = there[recipe.label].score - there[first].score
                there[recipe.label] = replace(there[recipe.label], difference=difference)
    return found


def _alike(scores: Iterable[Measured]) -> bool:
    """Whether scores were computed in one way, as far as their signatures tell."""
    return len({_INCIDENTAL.sub("", each.signature) for each in scores if each.signature}) <= 1


def _differ(one: ComparedRun, other: ComparedRun, split: str) -> bool:
    """Whether two runs read different files; not if one of them did not keep which it read."""
    in_one, in_other = one.run.corpus().get(split), other.run.corpus().get(split)
    return in_one is not None and in_other is not None and in_one != in_other


def _kept_and_shown(run: ComparedRun, sets: Mapping[str, ComparedTestSet]) -> Iterator[tuple[Measured, Measured]]:
    """Each score of a test set as the run kept it, and as it stands in the comparison."""
    for name, kept in run.tests.items():
        scores = sets[name].scores if name in sets else {}
        yield from ((each, scores[metric][run.label]) for metric, each in kept.items() if metric in scores)


def _notes(
    runs: Sequence[ComparedRun], valid: Scores, sets: Mapping[str, ComparedTestSet], method: str
) -> Iterator[str]:
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
    for split, what in meaning.items():
        differing = [run.label for run in others if _differ(first, run, split)]
        if differing:
            yield f"{', '.join(differing)}: {what}"
    if unfinished := [run for run in runs if not run.is_finished]:
        validated = "; scores on valid are of the latest validation" if any(run.valid for run in unfinished) else ""
        yield f"{', '.join(run.label for run in unfinished)}: not finished, so not tested{validated}"
    if method != "none" and others and not first.translated and any(other.translated for other in others):
        yield f"nothing is tested against {first.label}, which has translated no test set; name a finished run first"
    for name, of_metrics in {
        "valid": valid,
        **{f"test set {name}": test.scores for name, test in sets.items()},
    }.items():
        for metric, scores in of_metrics.items():
            if not _alike(scores.values()):
                yield f"{metric} of {name} is compared only where it was computed alike, see the signatures"
    again = [run.label for run in runs if not all(_alike(pair) for pair in _kept_and_shown(run, sets))]
    if again:
        yield f"{', '.join(again)}: scored here as all others, and so not as in its own report"
    n_tested = max(
        (sum(each.is_tested for each in scores.values()) for test in sets.values() for scores in test.scores.values()),
        default=0,
    )
    if method != "none" and n_tested / (N_SAMPLES[method] + 1) >= SIGNIFICANT:
        yield (
            f"with {n_tested} runs and {N_SAMPLES[method]:,} samples no corrected p-value can be below {SIGNIFICANT}; "
            "name fewer runs" + (", or take --test-method ar" if method == "bs" else "")
        )
