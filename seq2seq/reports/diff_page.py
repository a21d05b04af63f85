"""A page about what differs between a run and others: settings, scores, sentences that got better and worse."""

from collections.abc import Sequence
from typing import Any

from seq2seq.analysis.test_set import AnalysedSentence
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError, command
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.compare import Comparison, compare
from seq2seq.reports.compared_run import Measured
from seq2seq.reports.html import page
from seq2seq.reports.preset import as_text
from seq2seq.reports.verdict import verdict

_OF_B = {"better": "B is better", "worse": "A is better"}


def diff_page(runs: Sequence[AnalysedRun]) -> str:
    """A page that compares the first run with each other one.

    Raises:
        RunError: two translate other languages, or other sentences; or one is not finished.
    """
    for each in runs:
        if not each.run.is_scored:
            raise RunError(
                f"{each.run.path}: is not finished, so its translations cannot be compared; see what it has "
                f"with: {command('report', each.run.path)}"
            )
        if each.problems:
            raise RunError(each.problems[0])
    comparison = compare([each.run for each in runs])
    src, tgt = comparison.languages
    names = [_name(each.run, runs) for each in runs]
    what = f"{names[0]} against {names[1]}" if len(runs) == 2 else f"{names[0]} against {len(runs) - 1} runs"
    data = {
        "heading": what,
        "subtitle": f"{src} to {tgt}",
        "languages": [src, tgt],
        "pairs": [_pair(comparison, runs, number) | {"b_name": names[number]} for number in range(1, len(runs))],
    }
    return page(f"{what}, {src} to {tgt}", data, "diff.js")


def _name(run: RunDirectory, among: Sequence[AnalysedRun]) -> str:
    """The name of its directory; with that above it if runs share the name."""
    name = run.path.resolve().name
    others = [each.run.path.resolve().name for each in among if each.run != run]
    return "/".join(run.path.resolve().parts[-2:]) if name in others else name


def _pair(comparison: Comparison, runs: Sequence[AnalysedRun], number: int) -> dict[str, Any]:
    """The first run and another one. Their scores and tests are those of their recipes, if these are two."""
    a, b = runs[0], runs[number]
    pair = comparison.runs[0], comparison.runs[number]
    recipes = [next(each for each in comparison.recipes if run in each.runs) for run in pair]
    two = compare([a.run, b.run], method="none")  # whose labels are those of the page
    notes = list(two.notes)
    labels = [run.label for run in pair]
    if recipes[0] is recipes[1]:
        notes.append("Both are seeds of one recipe, so nothing is tested.")
    else:
        labels = [recipe.label for recipe in recipes]
        several = [each for each in zip("AB", recipes, strict=True) if len(each[1].runs) > 1]
        notes += [f"Scores of {side} are means of {len(recipe.runs)} seeds of it." for side, recipe in several]
    return {
        "a": str(a.run.path),
        "b": str(b.run.path),
        "notes": notes,
        "config": [
            {"key": key, "a": as_text(values.get("A")), "b": as_text(values.get("B"))}
            for key, values in two.differing.items()
        ],
        "tests": [
            {
                "test": test,
                "n_sentences": comparison.tests[test].n_sentences,
                "metrics": [
                    _metric(name, by_label[labels[0]], by_label[labels[1]])
                    for name, by_label in comparison.tests[test].scores.items()
                    if all(label in by_label for label in labels)
                ],
                "sentences": [
                    _sentence(*both)
                    for both in zip(a.analyses[test].sentences, b.analyses[test].sentences, strict=True)
                ],
            }
            for test in a.analyses
            if test in b.analyses
        ],
    }


def _metric(name: str, a: Measured, b: Measured) -> dict[str, Any]:
    said = verdict(name, b.difference or 0.0, b.p_holm) if b.is_tested else "not tested"
    return {
        "name": name,
        "a": {"score": a.score, "half_width": a.half_width},
        "b": {"score": b.score, "half_width": b.half_width},
        "difference": b.score - a.score,
        "p_value": b.p_holm,
        "verdict": _OF_B.get(said, said),
        "signature": b.signature,
    }


def _sentence(a: AnalysedSentence, b: AnalysedSentence) -> dict[str, Any]:
    """What both runs made of a sentence. What is not known of it is left out."""
    known = {
        "source": a.source if a.source is not None else b.source,
        "domain": a.domain or b.domain or None,
        "is_in_train": a.is_in_train,
        "rarest_count": a.rarest_count,
    }
    return {
        "number": a.number,
        "texts": [a.hypothesis, b.hypothesis],
        "references": a.references,
        "chrf": [a.chrf, b.chrf],
    } | {name: value for name, value in known.items() if value is not None}
