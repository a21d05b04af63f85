"""A page about what differs between a run and others: settings, scores, sentences that got better and worse."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from seq2seq.analysis.test_set import AnalysedSentence
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.config.on_resume import mark_of
from seq2seq.errors import RunError, command
from seq2seq.evaluation.scores import TEST_METRICS, PairedScores, paired_test
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.html import page
from seq2seq.reports.preset import as_text
from seq2seq.reports.verdict import verdict

_OF_B = {"better": "B is better", "worse": "A is better"}


def diff_page(runs: Sequence[AnalysedRun]) -> str:
    """A page that compares the first run with each other one.

    Raises:
        RunError: two are the same run, or translate other languages, or other sentences; or one is not finished.
    """
    first, *others = runs
    src, tgt = first.run.languages()
    pairs = [_pair(first, other) for other in others]
    names = [_name(each.run, runs) for each in runs]
    what = f"{names[0]} against {names[1]}" if len(others) == 1 else f"{names[0]} against {len(others)} runs"
    data = {
        "heading": what,
        "subtitle": f"{src} to {tgt}",
        "languages": [src, tgt],
        "pairs": [pair | {"b_name": name} for pair, name in zip(pairs, names[1:], strict=True)],
    }
    return page(f"{what}, {src} to {tgt}", data, "diff.js")


def _name(run: RunDirectory, among: Sequence[AnalysedRun]) -> str:
    """The name of its directory; with that above it if runs share the name."""
    name = run.path.resolve().name
    others = [each.run.path.resolve().name for each in among if each.run != run]
    return "/".join(run.path.resolve().parts[-2:]) if name in others else name


def _pair(a: AnalysedRun, b: AnalysedRun) -> dict[str, Any]:
    if a.run.path.resolve() == b.run.path.resolve():
        raise RunError(f"{a.run.path} and {b.run.path} are one run; name two")
    for each in (a, b):
        if not each.run.is_scored:
            raise RunError(
                f"{each.run.path}: is not finished, so its translations cannot be compared; see what it has "
                f"with: {command('report', each.run.path)}"
            )
    if (languages := a.run.languages()) != b.run.languages():
        raise RunError(
            f"{a.run.path} translates {' to '.join(languages)} and {b.run.path} {' to '.join(b.run.languages())}; "
            "only runs of the same languages can be compared"
        )
    for each in (a, b):
        if each.problems:
            raise RunError(each.problems[0])
    shared = [test for test in a.analyses if test in b.analyses]
    if not shared:
        raise RunError(
            f"{a.run.path} was tested on {', '.join(a.analyses)} and {b.run.path} on {', '.join(b.analyses)}; "
            "they share no test set"
        )
    return {
        "a": str(a.run.path),
        "b": str(b.run.path),
        "notes": _notes(a.run, b.run),
        "config": _differences(a.run, b.run),
        "tests": [_test(test, a, b) for test in shared],
    }


def _notes(a: RunDirectory, b: RunDirectory) -> list[str]:
    in_a, in_b = a.corpus(), b.corpus()
    differs = "train" in in_a and "train" in in_b and in_a["train"] != in_b["train"]
    return ["The runs were trained on different text, so the difference may come from it."] if differs else []


def _differences(a: RunDirectory, b: RunDirectory) -> list[dict[str, str]]:
    in_a, in_b = a.settings(), b.settings()
    return [
        {"key": key, "a": as_text(in_a.get(key)), "b": as_text(in_b.get(key))}
        for key in dict.fromkeys([*in_a, *in_b])
        if in_a.get(key) != in_b.get(key) and not mark_of(RunConfig, key).is_place
    ]


def _test(test: str, a: AnalysedRun, b: AnalysedRun) -> dict[str, Any]:
    references, others = a.run.references(test), b.run.references(test)
    for number, (in_a, in_b) in enumerate(zip_longest(references, others), start=1):
        if in_a != in_b:
            shown = ["missing" if each is None else repr(each[0][:60]) for each in (in_a, in_b)]
            raise RunError(
                f"{a.run.path} and {b.run.path} were tested on different sentences called {test}: reference {number} "
                f"is {shown[0]} in one and {shown[1]} in the other"
            )
    found = paired_test(
        a.run.hypotheses(test),
        b.run.hypotheses(test),
        references,
        [metric for metric in TEST_METRICS if all(metric in each.run.metrics_of(test) for each in (a, b))],
        language=a.run.languages()[1],
        ignore_case=a.run.ignored_case(test) or b.run.ignored_case(test),
        tokenize=a.run.tokenize(),
    )
    sentences = zip(a.analyses[test].sentences, b.analyses[test].sentences, strict=True)
    return {
        "test": test,
        "n_sentences": len(references),
        "metrics": [_metric(name, paired) for name, paired in found.items()],
        "sentences": [_sentence(*pair) for pair in sentences],
    }


def _metric(name: str, paired: PairedScores) -> dict[str, Any]:
    difference = paired.system.score - paired.baseline.score
    p_value = paired.p_value if difference else None  # sacreBLEU's means nothing then
    said = verdict(name, difference, p_value)
    return {
        "name": name,
        **{
            side: {"score": each.score, "half_width": each.half_width}
            for side, each in (("a", paired.baseline), ("b", paired.system))
        },
        "difference": difference,
        "p_value": p_value,
        "verdict": _OF_B.get(said, said),
        "signature": paired.system.signature,
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
