"""The report of one run: a page with all that its directory holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from seq2seq.analysis.test_set import FINDINGS, SLICES, TestSetAnalysis
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import DataConfig
from seq2seq.corpus.test_sets import all_test_sets
from seq2seq.evaluation.scores import Interval
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.cost import Cost, cost
from seq2seq.reports.curves import Curve, panels, read_curves, validations
from seq2seq.reports.html import page
from seq2seq.reports.origin import data_report, origin
from seq2seq.reports.preset import settings

_SENTENCES = 5000  # of a test set: with three lines of text each, about 5 MB
_NAMES = {"bleu": "BLEU", "chrf": "chrF"}  # of the scores that stand at the top
_UNFINISHED = "This run is not finished, so it has no scores and no translations yet."
_WAITED = {
    "time/loading_s": "waited for batches",
    "time/validation_s": "validations",
    "time/saving_s": "saves",
    "time/tracking_s": "trackers",
}


def run_page(analysed: AnalysedRun) -> str:
    """A page about one run, finished or not.

    Raises:
        RunError: a file of the run is damaged.
    """
    run = analysed.run
    config = run.config()
    src, tgt = config.data.src_lang, config.data.tgt_lang
    curves = read_curves(run)
    spent = cost(run)
    scores = _scores(run, config.data) if run.is_scored else []
    selection = run.selection() if run.is_scored else None
    what = f"{config.name}: {src} to {tgt}"
    preset, keys = settings(config)
    data = {
        "heading": what,
        "subtitle": f"trained on {config.data.name}, seed {config.seed}",
        "notes": [*([] if run.is_scored else [_UNFINISHED]), *analysed.problems],
        "languages": [src, tgt],
        "facts": _facts(scores, spent),
        "scores": scores,
        "selection": selection
        and {
            "selected": selection.selected,
            "valid": selection.valid,
            "monitor": config.trainer.monitor.removeprefix("valid/"),
        },
        "panels": panels(curves),
        "validations": validations(curves),
        "slice_names": SLICES,
        "findings": FINDINGS,
        "analyses": [_with_few_sentences(analysis).as_json() for analysis in analysed.analyses.values()],
        "report": data_report(run),
        "preset": preset,
        "config": keys,
        "machine": [*machine(spent, curves), *origin(run)],
        "footer": f"From the directory {run.path.resolve().name}.",
    }
    bleu = [f", BLEU {each['score']:.1f}" for test in scores[:1] for each in test["metrics"] if each["name"] == "bleu"]
    return page(f"{what}, seed {config.seed}{''.join(bleu)}", data, "run_parts.js", "run.js")


def _with_few_sentences(analysis: TestSetAnalysis) -> TestSetAnalysis:
    """Of a large test set, the sentences with the lowest and the highest chrF: a browser should not have to wait."""
    if len(analysis.sentences) <= _SENTENCES:
        return analysis
    ordered = sorted(analysis.sentences, key=lambda sentence: sentence.chrf)
    n_worst = _SENTENCES * 4 // 5
    shown = ordered[:n_worst] + ordered[n_worst - _SENTENCES :]
    note = f"Of {len(ordered):,} sentences, this page has the {n_worst:,} worst and the {len(shown) - n_worst:,} best."
    return replace(analysis, sentences=shown, notes=[*analysis.notes, note])


def _scores(run: RunDirectory, config: DataConfig) -> list[dict[str, Any]]:
    """The test sets, each with its augmentations."""
    scores = run.scores()
    clean_of = {name: test.clean for name, test in all_test_sets(config).items()}
    return [
        {
            "test": test,
            "metrics": [_score(name, score) for name, score in metrics.items()],
            "augmentations": [
                _score(name.removeprefix(f"{test}/"), others["bleu"])
                | {"change": others["bleu"].score - metrics["bleu"].score}
                | {"ignores_case": run.scoring(name).ignore_case}
                for name, others in scores.items()
                if clean_of.get(name) == test and "bleu" in others and "bleu" in metrics
            ],
        }
        for test, metrics in scores.items()
        if not clean_of.get(test)
    ]


def _score(name: str, score: Interval) -> dict[str, Any]:
    return {"name": name, "score": score.score, "half_width": score.half_width, "signature": score.signature}


def _facts(scores: Sequence[Mapping[str, Any]], spent: Cost) -> list[tuple[str, str, str]]:
    """The figures that one looks for first: name, value, and what belongs to it."""
    facts = [
        (f"{_NAMES[each['name']]} on {test['test']}", f"{each['score']:.1f}", f"± {each['half_width']:.1f}")
        for test in scores[:2]
        for each in test["metrics"]
        if each["name"] in _NAMES
    ]
    if spent.n_parameters:
        facts.append(("parameters", f"{spent.n_parameters / 1e6:.1f} M", ""))
    if spent.steps is not None:
        facts.append(("optimizer steps", f"{spent.steps:,}", ""))
    if spent.hours is not None:
        facts.append(("time", _duration(spent.hours), ""))
    return facts


def machine(spent: Cost, curves: Mapping[str, Curve]) -> list[tuple[str, str]]:
    """What the run has noted of its cost, with units."""
    waited = {name: max(curves[metric].values) for metric, name in _WAITED.items() if metric in curves}
    known = {
        "parameters": spent.n_parameters and f"{spent.n_parameters:,}",
        "time of training": None if spent.hours is None else _duration(spent.hours),
        **{f"of that, {name}": f"{seconds:,.0f} s" for name, seconds in waited.items()},
        "target tokens": spent.tgt_tokens and f"{spent.tgt_tokens:,}",
        "speed, median": spent.tgt_tokens_per_s and f"{spent.tgt_tokens_per_s:,.0f} target tokens/s",
        "memory of the process, highest seen after a step": spent.memory_gb and f"{spent.memory_gb:.1f} GB",
        "memory of the GPU, at most": spent.device_memory_gb and f"{spent.device_memory_gb:.1f} GB",
    }
    return [(name, str(figure)) for name, figure in known.items() if figure]


def _duration(hours: float) -> str:
    if hours < 2 / 60:
        return f"{hours * 3600:.0f} s"
    return f"{hours * 60:.0f} min" if hours < 2 else f"{hours:.1f} h"
