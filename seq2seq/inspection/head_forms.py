"""What is known of heads as text for a terminal."""

from collections.abc import Sequence

from seq2seq.evaluation.scores import without_minus_zero
from seq2seq.inspection.ablating import Ablation, Loss
from seq2seq.inspection.attention_kinds import KINDS, TITLES
from seq2seq.inspection.head_figures import FIGURES
from seq2seq.inspection.heads import HeadReport

_FIGURE_HEADINGS = {"punctuation": "marks"}


def heads_as_text(report: HeadReport) -> str:
    """A table for each kind of attention, then what the ablation found, then what is to be said of both."""
    left_out = f"; {report.n_left_out:,} left out, blank or too long" if report.n_left_out else ""
    lines = [f"{report.model}: {report.n_pairs:,} pairs of {report.text}{left_out}"]
    for kind in KINDS:
        lines += ["", TITLES[kind], *_table(report, kind)]
    layer, head = report.alignment.best
    best = report.alignment.error_rate[layer, head]
    lines += ["", f"cross {layer + 1}.{head + 1} aligns best: alignment error rate {best:.2f}"]
    lines.append(f"  (reference: {report.reference})")
    if report.ablation:
        lines += ["", *_ablation(report.ablation)]
    return "\n".join(lines)


def _table(report: HeadReport, kind: str) -> list[str]:
    """A row for each layer and head, counted from 1."""
    columns = {_FIGURE_HEADINGS.get(name, name): report.figures[kind][name] for name in FIGURES}
    if kind == "cross":
        found = report.alignment
        columns |= {"AER": found.error_rate, "precision": found.precision, "recall": found.recall}
    losses = report.ablation.of("head") if report.ablation else {}
    headings = ["head", *columns, *(["BLEU lost", "95% from", "to"] if losses else [])]
    rows = []
    n_layers, n_heads = report.figures[kind]["entropy"].shape
    for layer in range(n_layers):
        for head in range(n_heads):
            name = f"{layer + 1}.{head + 1}"
            values = [f"{values[layer, head]:.2f}" for values in columns.values()]
            rows.append([name, *values, *(_lost(losses[f"{kind} {name}"]) if losses else [])])
    return _aligned([headings, *rows])


def _ablation(ablation: Ablation) -> list[str]:
    rows = [
        [loss.name.replace("_", "-"), *_lost(loss), f"{without_minus_zero(loss.chrf):.2f}"]
        for kind in ("layer", "sublayer")
        for loss in ablation.of(kind).values()
    ]
    return [
        f"without a layer, or a part of one (BLEU {ablation.bleu:.2f}, chrF {ablation.chrf:.2f} of "
        f"{ablation.n_sentences:,} sentences with all; {ablation.seconds:.0f} s)",
        *_aligned([["off", "BLEU lost", "95% from", "to", "chrF lost"], *rows]),
    ]


def _lost(loss: Loss) -> list[str]:
    return [f"{without_minus_zero(value):.2f}" for value in (loss.bleu, loss.bleu_low, loss.bleu_high)]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([f"  {row[0]:{widths[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
