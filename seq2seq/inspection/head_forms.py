"""What is known of heads as text for a terminal."""

from collections.abc import Sequence

import numpy as np

from seq2seq.evaluation.scores import without_minus_zero
from seq2seq.inspection.ablating import Ablation
from seq2seq.inspection.attention_kinds import KINDS, TITLES
from seq2seq.inspection.heads import HeadReport

_HEADINGS = {"punctuation": "marks"}


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
    columns = report.table(kind)
    rows = [["head", *(_HEADINGS.get(name, name) for name in columns)]]
    for layer, head in np.ndindex(report.figures[kind]["entropy"].shape):
        rows.append([f"{layer + 1}.{head + 1}", *(_number(values[layer, head]) for values in columns.values())])
    return _aligned(rows)


def _ablation(ablation: Ablation) -> list[str]:
    rows = [
        [loss.name.replace("_", "-"), *map(_number, (loss.bleu, loss.bleu_low, loss.bleu_high, loss.chrf))]
        for kind in ("layer", "sublayer")
        for loss in ablation.of(kind).values()
    ]
    return [
        f"without a layer, or a part of one (BLEU {ablation.bleu:.2f}, chrF {ablation.chrf:.2f} of "
        f"{ablation.n_sentences:,} sentences with all; {ablation.seconds:.0f} s)",
        *_aligned([["off", "BLEU lost", "95% from", "to", "chrF lost"], *rows]),
    ]


def _number(value: float) -> str:
    return f"{without_minus_zero(value):.2f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([f"  {row[0]:{widths[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
