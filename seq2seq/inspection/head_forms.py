"""What is known of heads as text for a terminal."""

import numpy as np

from seq2seq.evaluation.scores import without_minus_zero
from seq2seq.inspection.ablating import Ablation
from seq2seq.inspection.attention_kinds import KINDS, TITLES, Kind
from seq2seq.inspection.heads import HeadReport
from seq2seq.reports.tables import Table, as_text

_HEADINGS = {"punctuation": "marks"}


def heads_as_text(report: HeadReport, width: int) -> str:
    """A table for each kind of attention, then what the ablation found, then what is to be said of both.

    Args:
        width: characters of a line of a table.
    """
    left_out = f"; {report.n_left_out:,} left out, blank or too long" if report.n_left_out else ""
    layer, head = report.alignment.best
    best = report.alignment.error_rate[layer, head]
    paragraphs = [
        f"{report.model}: {report.n_pairs:,} pairs of {report.text}{left_out}",
        *(as_text(_of_heads(report, kind), width) for kind in KINDS),
        f"cross {layer + 1}.{head + 1} aligns best: alignment error rate {best:.2f}\n  (reference: {report.reference})",
        *([as_text(_of_parts(report.ablation), width)] if report.ablation else []),
    ]
    return "\n\n".join(paragraphs)


def _of_heads(report: HeadReport, kind: Kind) -> Table:
    """A row for each layer and head, counted from 1."""
    columns = report.table(kind)
    rows = [
        [f"{layer + 1}.{head + 1}", *(_number(values[layer, head]) for values in columns.values())]
        for layer, head in np.ndindex(report.figures[kind]["entropy"].shape)
    ]
    return Table(TITLES[kind], ["head", *(_HEADINGS.get(name, name) for name in columns)], rows)


def _of_parts(ablation: Ablation) -> Table:
    rows = [
        [loss.name.replace("_", "-"), *map(_number, (loss.bleu, loss.bleu_low, loss.bleu_high, loss.chrf))]
        for kind in ("layer", "sublayer")
        for loss in ablation.of(kind).values()
    ]
    title = (
        f"without a layer, or a part of one (BLEU {ablation.bleu:.2f}, chrF {ablation.chrf:.2f} of "
        f"{ablation.n_sentences:,} sentences with all; {ablation.seconds:.0f} s)"
    )
    return Table(title, ["off", "BLEU lost", "95% from", "to", "chrF lost"], rows)


def _number(value: float) -> str:
    return f"{without_minus_zero(value):5.2f}"
