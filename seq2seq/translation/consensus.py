"""The choice of a translation by minimum Bayes risk (Eikema and Aziz 2020): the one that agrees best with the others.

Samples of a model are what it thinks possible, and the one that is most like all of them is often better than the most
probable one. How alike two texts are is the chrF2 of one with the other as its reference (Popović 2015).

Shapes: N texts, M n-grams
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seq2seq.decoding import Hypothesis
from seq2seq.tokenizer import Tokenizer

_LONGEST = 6  # characters of an n-gram
_BETA = 2  # how much more recall counts


def by_consensus(hypotheses: list[Hypothesis], tokenizer: Tokenizer) -> list[Hypothesis]:
    """The hypotheses with their expected chrF as the score, best first."""
    utilities = consensus(tokenizer.decode([each.tokens for each in hypotheses]))
    scored = [dataclasses.replace(each, score=score) for each, score in zip(hypotheses, utilities, strict=True)]
    return sorted(scored, key=lambda each: (not each.finished, -each.score))


def consensus(texts: Sequence[str]) -> list[float]:
    """The mean chrF2 of each text against all the others, between 0 and 100; the best translation has the highest.

    A text that comes several times counts several times. A single text has nothing to agree with, and gets 0.

    Args:
        texts: translations of the same line.
    """
    times = Counter(texts)
    n_others = len(texts) - 1
    if n_others < 1:
        return [0.0] * len(texts)
    others = np.array(list(times.values())) - np.eye(len(times))  # (N, N): how often each other text comes
    means = dict(zip(times, ((_chrf(list(times)) * others).sum(1) / n_others).tolist(), strict=True))
    return [means[text] for text in texts]


def nearest(texts: Sequence[str], reference: str) -> int:
    """The number of the text that is most like the reference by chrF2; of several, the first."""
    return int(_chrf([reference, *texts])[1:, 0].argmax())


def _chrf(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """chrF2 of text i with text j as its reference, at [i, j]; the same as sacreBLEU's of two sentences."""
    bare = ["".join(text.split()) for text in texts]
    precision, recall, n_orders = np.zeros((3, len(texts), len(texts)))
    for n in range(1, _LONGEST + 1):
        counts = _ngrams(bare, n)
        totals = counts.sum(1)
        matches = np.array([np.minimum(row, counts).sum(1) for row in counts])  # (N, N)
        n_orders += (totals[:, None] > 0) & (totals > 0)  # without n-grams on one side there is no match either
        precision += matches / np.maximum(totals, 1)[:, None]
        recall += matches / np.maximum(totals, 1)
    precision, recall = precision / np.maximum(n_orders, 1), recall / np.maximum(n_orders, 1)
    scores: npt.NDArray[np.float64] = (1 + _BETA**2) * precision * recall
    return 100 * np.divide(scores, _BETA**2 * precision + recall, out=scores, where=scores > 0)


def _ngrams(texts: Sequence[str], n: int) -> npt.NDArray[np.int32]:
    """How often each text has each n-gram, (N, M)."""
    of_texts = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    distinct = dict.fromkeys(ngram for each in of_texts for ngram in each)
    columns = {ngram: column for column, ngram in enumerate(distinct)}
    counts = np.zeros((len(texts), len(columns)), dtype=np.int32)
    for row, ngrams in zip(counts, of_texts, strict=True):
        row[[columns[ngram] for ngram in ngrams]] = list(ngrams.values())
    return counts
