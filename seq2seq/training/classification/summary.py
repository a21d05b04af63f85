"""A classifier on one screen."""

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.evaluation.scores import Interval
from seq2seq.training.selection import Outcome

_MOST_LABELS = 40  # rows of a test set


def summary(config: RunConfig, outcome: Outcome, run: RunDirectory, report: str) -> str:
    """What the run was, what won, what it scored and what to do next."""
    encoder = config.classify.encoder + (f" from {config.finetune}" if config.finetune else "")
    lines = [f"{config.name}: labels of {config.data.name}, {config.data.src_lang}, seed {config.seed}"]
    lines += [f"encoder: {encoder}; pool: {config.classify.pool}", "", report.rstrip(), "", "valid:"]
    for name, scores in outcome.valid.items():
        mark = "*" if name == outcome.selected else " "
        lines.append(f" {mark} accuracy {scores['accuracy']:.3f}  macro F1 {scores['macro_f1']:.3f}  {name}")
    for test, found in outcome.tests.items():
        accuracy, macro_f1 = (_with_interval(found[name]) for name in ("accuracy", "macro_f1"))
        lines += ["", f"test set {test}: accuracy {accuracy}, macro F1 {macro_f1}"]
        labels = [name.removeprefix("f1/") for name in found if name.startswith("f1/")]
        width = max(len(label[:30]) for label in labels)
        lines.append(f"   {'label':{width}}  {'precision':>9}  {'recall':>6}  F1")
        for label in labels[:_MOST_LABELS]:
            precision, recall = (found[f"{name}/{label}"].score for name in ("precision", "recall"))
            f1 = _with_interval(found[f"f1/{label}"])
            lines.append(f"   {label[:30]:{width}}  {precision:9.3f}  {recall:6.3f}  {f1}")
    lines += ["", f"classify with:  python -m seq2seq classify --model {run.path} --input FILE --output FILE"]
    return "\n".join(lines) + "\n"


def _with_interval(score: Interval) -> str:
    return f"{score.score:.3f} ± {score.half_width:.3f}"
