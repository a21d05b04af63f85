"""Scores of translations against references, each with the sacreBLEU signature that says what it is.

Text comes in as a reader sees it: detokenised, unescaped, one string a sentence.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seq2seq.errors import TranslationError

if TYPE_CHECKING:  # imported where it is used: 0.1 s that a run without scores need not pay
    from sacrebleu.metrics.base import Metric

METRICS = ("bleu", "chrf", "chrf++", "ter")


@dataclass(frozen=True)
class Score:
    """What sacreBLEU says: 0 to 100, higher is better; only TER is a number of edits per 100 words."""

    score: float
    signature: str


@dataclass(frozen=True)
class Interval:
    """Mean of the scores of bootstrap resamples, and half the width of their 95% interval."""

    mean: float
    half_width: float
    signature: str


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], metrics: Sequence[str] = ("bleu", "chrf")
) -> dict[str, Score]:
    """Score all sentences as one corpus; nothing here is a mean over sentences or batches.

    Args:
        metrics: of `bleu` (13a tokens, cased), `chrf` (chrF2), `chrf++` (with word bigrams) and `ter`.
    Returns:
        A score for each metric, under its name.
    Raises:
        TranslationError: no sentences, not as many hypotheses as references, an unknown metric.
        TypeError: anything but strings, or one string in place of many.
    """
    _check(hypotheses, references)
    scores = {}
    for name in metrics:
        metric = _metric(name)
        value = metric.corpus_score(hypotheses, [references]).score
        scores[name] = Score(float(value), str(metric.get_signature()))
    return scores


def bootstrap_interval(
    hypotheses: Sequence[str], references: Sequence[str], metric: str = "bleu", n_samples: int = 1000
) -> Interval:
    """95% confidence of a corpus score, by drawing sentences with replacement (Koehn 2004).

    The seed is sacreBLEU's 12345, or `$SACREBLEU_SEED`; the signature names it.

    Args:
        n_samples: resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`.
    """
    _check(hypotheses, references)
    assert n_samples > 1
    scorer = _metric(metric)
    result = scorer.corpus_score(hypotheses, [references], n_bootstrap=n_samples)
    signature = str(scorer.get_signature())
    # Its public form, which leaves out a mean of 0.
    public = json.loads(result.format(width=6, is_json=True, signature=signature))
    return Interval(public.get("confidence_mean", 0.0), public.get("confidence_var", 0.0), signature)


def _metric(name: str) -> "Metric":
    from sacrebleu import BLEU, CHRF, TER

    if name == "bleu":
        return BLEU()
    if name == "chrf":
        return CHRF()
    if name == "chrf++":
        return CHRF(word_order=2)
    if name == "ter":
        return TER()
    raise TranslationError(f"{name!r} is not a metric; choose from {', '.join(METRICS)}")


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Stop what sacreBLEU would turn into a wrong number: it cuts the longer side without a word."""
    for what, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise TypeError(f"{what} is one string; pass a list with a string for each sentence")
        for i, sentence in enumerate(sentences):
            if not isinstance(sentence, str):
                raise TypeError(f"{what}[{i}] is a {type(sentence).__name__}, not a string")
    if len(hypotheses) != len(references):
        raise TranslationError(
            f"there are {len(hypotheses)} hypotheses for {len(references)} references; "
            "a score needs one of each for every sentence, blank ones included"
        )
    if not hypotheses:
        raise TranslationError("there are no sentences to score")
