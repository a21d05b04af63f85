"""Scores of labels: accuracy, precision, recall and F1, with intervals; and which label was taken for which.

All scores are shares, from 0 to 1.

Shapes: C labels, N resamples
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.evaluation.scores import Interval

N_RESAMPLES, SEED = 1000, 12345
Counts = NDArray[np.int64]


def confusion(references: Sequence[str], predictions: Sequence[str], labels: Sequence[str]) -> Counts:
    """How often each label (row) was taken for each label (column), (C, C)."""
    number = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    pairs = [(number[true], number[guess]) for true, guess in zip(references, predictions, strict=True)]
    np.add.at(counts, tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T), 1)
    return counts


def label_scores(counts: NDArray[np.integer]) -> dict[str, NDArray[np.float64]]:
    """Scores of confusion matrices (..., C, C): `accuracy` and `macro_f1` (...); the others of each label (..., C).

    Precision is the share of a label's predictions that are right, and recall the share of its sentences that were
    found. F1 is their harmonic mean, 2 right / (sentences + predictions). Where there is nothing to divide by, it is 0.
    Macro F1 is the mean over the labels that a reference or a prediction has, each of which counts the same.
    """
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    n_sentences, n_predictions = counts.sum(-1), counts.sum(-2)
    f1 = _share(2 * right, n_sentences + n_predictions)
    occurs = n_sentences + n_predictions > 0
    return {
        "accuracy": _share(right.sum(-1), counts.sum((-2, -1))),
        "macro_f1": _share((f1 * occurs).sum(-1), occurs.sum(-1)),
        "precision": _share(right, n_predictions),
        "recall": _share(right, n_sentences),
        "f1": f1,
    }


def label_report(counts: Counts, labels: Sequence[str]) -> dict[str, Interval]:
    """`accuracy`, `macro_f1`, and `precision/LABEL`, `recall/LABEL` and `f1/LABEL`, with 95% intervals.

    They come from resamples of the sentences, drawn with replacement. All that counts of a sentence is its cell of the
    confusion matrix, so a resample is one draw of a multinomial distribution over the cells.
    """
    n = int(counts.sum())
    signature = f"labels:{len(labels)}|n:{n}|bs:{N_RESAMPLES}|seed:{SEED}"
    scores, resampled = label_scores(counts), [label_scores(each) for each in _resamples(counts)]
    on_resamples = {name: np.stack([each[name] for each in resampled]) for name in scores}  # (N) or (N, C) each
    found = {name: _interval(scores[name], on_resamples[name], signature) for name in ("accuracy", "macro_f1")}
    for i, label in enumerate(labels):
        for name in ("precision", "recall", "f1"):
            found[f"{name}/{label}"] = _interval(scores[name][i], on_resamples[name][:, i], signature)
    return found


def _resamples(counts: Counts) -> Iterator[Counts]:
    rng = np.random.default_rng(SEED)
    cells = np.flatnonzero(counts)
    shares = counts.ravel()[cells] / counts.sum()
    for _ in range(N_RESAMPLES):
        resample = np.zeros_like(counts)
        resample.ravel()[cells] = rng.multinomial(counts.sum(), shares)
        yield resample


def _share(part: NDArray[np.number], of: NDArray[np.number]) -> NDArray[np.float64]:
    return np.divide(part, of, out=np.zeros(np.shape(part)), where=np.asarray(of) > 0)


def _interval(score: NDArray[np.float64], on_resamples: NDArray[np.float64], signature: str) -> Interval:
    low, high = np.percentile(on_resamples, [2.5, 97.5])
    return Interval(float(score), float(on_resamples.mean()), float(high - low) / 2, signature)
