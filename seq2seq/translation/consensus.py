"""Which of several translations of a line agrees best with the others: minimum Bayes risk (Eikema and Aziz 2020).

Samples of a model are what it thinks possible. The translation that is most like all of them is often better than the
most probable one. How alike two texts are is sacreBLEU's score of one with the other as its reference.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from seq2seq.translation.options import METRICS


def consensus(texts: Sequence[str], metric: str) -> list[float]:
    """The mean score of each text against all the others, between 0 and 100; the best translation has the highest.

    A text that comes several times counts several times. A single text has nothing to agree with, and gets 0.

    Args:
        texts: translations of the same line.
        metric: `chrf` (chrF2) or `bleu` (with effective order, as sentences need it).
    Raises:
        ValueError: another metric.
    """
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not one of {', '.join(METRICS)}")
    times = Counter(texts)
    if len(texts) < 2:
        return [0.0] * len(texts)
    distinct = list(times)
    utilities = _chrf(distinct) if metric == "chrf" else _bleu(distinct)
    means = {}
    for text, row in zip(distinct, utilities, strict=True):
        others = times - Counter([text])
        means[text] = sum(others[other] * utility for other, utility in zip(distinct, row, strict=True))
    return [means[text] / (len(texts) - 1) for text in texts]


def _chrf(texts: Sequence[str]) -> list[list[float]]:
    """chrF2 of text i with text j as its reference, at [i][j]."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    chrf = CHRF()
    ngrams = [extract_all_char_ngrams(text, chrf.char_order) for text in texts]
    totals, matches = _counts(list(zip(*ngrams, strict=True)))
    utilities: list[list[float]] = []
    for own, own_matches in zip(totals, matches, strict=True):
        utilities.append([])
        for other, found in zip(totals, own_matches, strict=True):
            # sacreBLEU counts n-grams of an order only if the reference has some.
            triples = (
                (n_own if n_other else 0, n_other, n) for n_own, n_other, n in zip(own, other, found, strict=True)
            )
            utilities[-1].append(chrf._compute_f_score([n for triple in triples for n in triple]))
    return utilities


def _bleu(texts: Sequence[str]) -> list[list[float]]:
    """Sentence BLEU of text i with text j as its reference, at [i][j]."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.helpers import extract_all_word_ngrams

    bleu = BLEU(effective_order=True)
    orders: list[list[Counter[Hashable]]] = [[] for _ in range(bleu.max_ngram_order)]
    lengths = []
    for text in texts:
        ngrams, length = extract_all_word_ngrams(bleu._preprocess_segment(text), 1, bleu.max_ngram_order)
        lengths.append(length)
        for n, of_texts in enumerate(orders, 1):
            of_texts.append(Counter({ngram: count for ngram, count in ngrams.items() if len(ngram) == n}))
    totals, matches = _counts(orders)
    return [
        [
            bleu._compute_score_from_stats([length, other_length, *found, *own]).score
            for other_length, found in zip(lengths, own_matches, strict=True)
        ]
        for length, own, own_matches in zip(lengths, totals, matches, strict=True)
    ]


def _counts(orders: Sequence[Sequence[Counter[Hashable]]]) -> tuple[list[list[int]], list[list[list[int]]]]:
    """How many n-grams of each order each text has, [text][order], and two texts share, [text][text][order].

    Args:
        orders: the n-grams of each order and text.
    """
    totals, matches = [], []
    for of_texts in orders:
        number: dict[Hashable, int] = {}
        for ngrams in of_texts:
            for ngram in ngrams:
                number.setdefault(ngram, len(number))
        counts = np.zeros((len(of_texts), len(number)), dtype=np.int32)
        for row, ngrams in zip(counts, of_texts, strict=True):
            row[[number[ngram] for ngram in ngrams]] = list(ngrams.values())
        totals.append(counts.sum(1))
        matches.append([np.minimum(row, counts).sum(1) for row in counts])
    return np.array(totals).T.tolist(), np.moveaxis(np.array(matches), 0, -1).tolist()
