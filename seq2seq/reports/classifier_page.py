"""The report of a classifier: a page with its scores, and which labels it takes for which."""

from dataclasses import replace
from typing import Any

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.evaluation.labels import confusion
from seq2seq.reports.cost import cost
from seq2seq.reports.html import page
from seq2seq.reports.origin import data_report, origin
from seq2seq.reports.page_curves import panels, read_curves, validations
from seq2seq.reports.run_page import configuration, facts_of_cost, machine, selection_of

_MISTAKES = 5000  # of a test set: more would make a browser wait
_UNFINISHED = "This run is not finished, so it has no scores yet."
_FACTS = {"accuracy": "accuracy", "macro_f1": "macro F1"}


def classifier_page(run: RunDirectory) -> str:
    """A page about one run, finished or not.

    Raises:
        RunError: a file of the run is damaged.
    """
    config = run.config()
    curves, spent = read_curves(run), cost(run.metrics())
    if run.is_scored:
        spent = replace(spent, n_parameters=run.selection().n_parameters or None)
    tests = [_test(run, name) for name in run.tests()] if run.is_scored else []
    what = f"{config.name}: labels of {config.data.src_lang} text"
    preset, keys = configuration(config)
    encoder = config.classify.encoder + (f" from {config.finetune}" if config.finetune else "")
    facts = [
        (f"{title} on {test['test']}", f"{test['scores'][name][0]:.3f}", f"± {test['scores'][name][1]:.3f}")
        for test in tests[:2]
        for name, title in _FACTS.items()
    ]
    data = {
        "heading": what,
        "subtitle": f"trained on {config.data.name}, seed {config.seed}; encoder {encoder}",
        "notes": [] if run.is_scored else [_UNFINISHED],
        "facts": [*facts, *facts_of_cost(spent)],
        "tests": tests,
        "selection": selection_of(run),
        "panels": [each | {"unit": each["unit"].replace("per token", "per sentence")} for each in panels(curves)],
        "validations": validations(curves),
        "report": data_report(run),
        "preset": preset,
        "config": keys,
        "machine": [*machine(spent, curves), *origin(run)],
        "footer": f"From the directory {run.path.resolve().name}.",
    }
    return page(f"{what}, seed {config.seed}", data, "run_parts.js", "classifier.js")


def _test(run: RunDirectory, name: str) -> dict[str, Any]:
    """The scores, the confusion matrix and the mistakes of a test set."""
    scores = run.scores()[name]
    labels = [metric.removeprefix("f1/") for metric in scores if metric.startswith("f1/")]
    references, predictions = [first for first, *_ in run.references(name)], run.hypotheses(name)
    texts = run.sources(name) or [""] * len(references)
    mistakes = [
        [line, text, label, prediction]
        for line, (text, label, prediction) in enumerate(zip(texts, references, predictions, strict=True), start=1)
        if label != prediction
    ]
    return {
        "test": name,
        "labels": labels,
        "scores": {metric: [score.score, score.half_width] for metric, score in scores.items()},
        "confusion": confusion(references, predictions, labels).tolist(),
        "n_mistakes": len(mistakes),
        "mistakes": mistakes[:_MISTAKES],
    }
