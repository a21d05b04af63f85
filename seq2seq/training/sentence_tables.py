"""What trackers show of text: samples of valid as they change, and the extremes of a test set."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seq2seq.evaluation.sentences import sentence_chrf
from seq2seq.training.validation import Sample

N_EXTREMES = 30  # worst, and best, sentences of a test set


class Table(NamedTuple):
    columns: list[str]
    rows: list[list[str | float | None]]


def table_of_samples(samples: Sequence[Sample], before: Mapping[int, float], step: int) -> Table:
    """before: the chrF of each pair at the validation before this one; the change of others is unknown."""
    columns = ["step", "line", "domain", "source", "reference", "translation", "chrF", "change"]
    rows: list[list[str | float | None]] = []
    for sample in samples:
        change = round(sample.chrf - before[sample.pair], 2) if sample.pair in before else None
        texts = sample.domain, sample.source, sample.reference, sample.translation
        rows.append([step, sample.pair + 1, *texts, round(sample.chrf, 2), change])
    return Table(columns, rows)


def table_of_extremes(sources: Sequence[str], references: Sequence[Sequence[str]], hypotheses: Sequence[str]) -> Table:
    """The sentences of a test set with the lowest chrF, from the lowest on, and those with the highest.

    Those without a reference are left out, since nothing is wrong with them.
    """
    chrf = sentence_chrf(hypotheses, references)
    order = sorted((i for i in range(len(chrf)) if any(map(str.strip, references[i]))), key=lambda i: (chrf[i], i))
    n_worst = min(N_EXTREMES, (len(order) + 1) // 2)
    worst, best = order[:n_worst], order[n_worst:][-N_EXTREMES:]
    return Table(
        ["which", "line", "chrF", "source", "reference", "translation"],
        [
            [which, i + 1, round(chrf[i], 2), sources[i], references[i][0], hypotheses[i]]
            for which, lines in (("worst", worst), ("best", best))
            for i in lines
        ],
    )
