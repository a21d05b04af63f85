"""Scores of single sentences: they find translations to look at, and say little about a system."""

from collections.abc import Sequence
from itertools import chain

from seq2seq.evaluation.scores import PLAIN, Scoring, bleu


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """chrF2 of each sentence alone, 0 to 100. Their mean is not the chrF of the corpus.

    Args:
        references: for each sentence a list of all its references, of which the most similar one counts.
    """
    from sacrebleu import CHRF  # a run without scores saves 0.1 s

    metric = CHRF()
    return [
        float(metric.sentence_score(hypothesis, list(known)).score)
        for hypothesis, known in zip(hypotheses, references, strict=True)
    ]


def sentence_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], scoring: Scoring = PLAIN
) -> list[float]:
    """BLEU of each sentence alone, smoothed, up to the longest n-grams that it has.

    Args:
        references: as in `sentence_chrf`.
    """
    texts = chain.from_iterable(references)
    metric = bleu(texts, scoring, effective_order=True, force=True)  # `force`: no advice to detokenise
    return [
        float(metric.sentence_score(hypothesis, [text for text in known if text.strip()] or [""]).score)
        for hypothesis, known in zip(hypotheses, references, strict=True)
    ]
