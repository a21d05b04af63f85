"""Scores of translations against references, each with the sacreBLEU signature that says what it is.

Text comes in as a reader sees it: detokenised, unescaped, one string a sentence.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seq2seq.errors import TranslationError

if TYPE_CHECKING:  # imported where it is used: 0.1 s that a run without scores need not pay
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

METRICS = ("bleu", "chrf", "chrf++", "ter")


@dataclass(frozen=True)
class Score:
    """What sacreBLEU says: 0 to 100, higher is better; only TER is a number of edits per 100 words."""

    score: float
    signature: str


@dataclass(frozen=True)
class Interval:
    """A score, and what bootstrap resamples of the sentences say about it.

    Attributes:
        score: of all sentences, as `Score.score`.
        mean: of the scores of the resamples.
        half_width: half the width of their 95% interval.
        signature: also names the number of resamples and the seed.
    """

    score: float
    mean: float
    half_width: float
    signature: str


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same sentences.

    Attributes:
        p_value: how probable a difference of scores at least this large would be if chance alone made it. Look at the
            difference first: for systems that are equal on every resample, sacreBLEU gives the smallest p-value.
    """

    baseline: Interval
    system: Interval
    p_value: float


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


def report(
    hypotheses: Sequence[str],
    references: Sequence[str],
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
) -> dict[str, Interval]:
    """`corpus_scores` with their 95% confidence, by drawing sentences with replacement (Koehn 2004).

    The seed is sacreBLEU's 12345, or `$SACREBLEU_SEED`; the signature names it.

    Args:
        n_samples: resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`.
    """
    _check(hypotheses, references)
    assert n_samples > 1
    return {name: _interval(name, hypotheses, references, n_samples) for name in metrics}


def bootstrap_interval(
    hypotheses: Sequence[str], references: Sequence[str], metric: str = "bleu", n_samples: int = 1000
) -> Interval:
    """`report` of one metric."""
    return report(hypotheses, references, (metric,), n_samples)[metric]


def paired_test(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
) -> dict[str, Comparison]:
    """Whether two systems differ by more than chance: paired bootstrap resampling (Koehn 2004).

    The numbers are those of `sacrebleu --paired-bs`. Both systems are scored on the same resamples, so that sentences
    that are hard for both do not hide a difference.

    Args:
        baseline, system: translations of the same sentences by one system and the other.
        n_samples: resamples, at least 2; no p-value is below 1 / (n_samples + 1).
    Returns:
        A comparison for each metric, under its name.
    Raises:
        TranslationError, TypeError: as `corpus_scores`, for either system.
    """
    from sacrebleu.significance import PairedTest

    _check(baseline, references, "baseline hypotheses")
    _check(system, references)
    assert n_samples > 1
    names = list(dict.fromkeys(metrics))
    scorers = {name: _metric(name, references) for name in names}
    with _without_progress():
        test = PairedTest([("baseline", baseline), ("system", system)], scorers, None, "bs", n_samples)
        signatures, results = test()
    # Both come in the order of the metrics, under sacreBLEU's names for them.
    return {
        name: _comparison(results[key], str(signature))
        for name, (key, signature) in zip(names, signatures.items(), strict=True)
    }


def _interval(name: str, hypotheses: Sequence[str], references: Sequence[str], n_samples: int) -> Interval:
    scorer = _metric(name)
    # sacreBLEU 2.6 gives numpy numbers for some resamples and Python's for others, which it then cannot average.
    compute = scorer._compute_score_from_stats

    def as_python(stats: Any) -> Any:
        score = compute(stats)
        score.score = float(score.score)
        return score

    scorer._compute_score_from_stats = as_python  # type: ignore[method-assign]
    result = scorer.corpus_score(hypotheses, [references], n_bootstrap=n_samples)
    signature = str(scorer.get_signature())
    # Its public form, which leaves out a mean of 0.
    public = json.loads(result.format(width=6, is_json=True, signature=signature))
    return Interval(
        float(result.score), public.get("confidence_mean", 0.0), public.get("confidence_var", 0.0), signature
    )


def _comparison(results: Sequence["str | Result"], signature: str) -> Comparison:
    baseline, system = (result for result in results if not isinstance(result, str))  # names are in another column
    assert system.p_value is not None
    return Comparison(_measured(baseline, signature), _measured(system, signature), system.p_value)


def _measured(result: "Result", signature: str) -> Interval:
    assert result.mean is not None and result.ci is not None
    return Interval(float(result.score), float(result.mean), float(result.ci), signature)


@contextmanager
def _without_progress() -> Iterator[None]:
    """Keep sacreBLEU from logging every step, where a program shows what is logged; its warnings stay."""
    logger = logging.getLogger("sacrebleu")
    before = logger.level
    logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(before)


def _metric(name: str, references: Sequence[str] | None = None) -> "Metric":
    """A metric; with references it analyses them only once, however many systems it scores."""
    from sacrebleu import BLEU, CHRF, TER

    known = None if references is None else [references]
    if name == "bleu":
        return BLEU(references=known)
    if name == "chrf":
        return CHRF(references=known)
    if name == "chrf++":
        return CHRF(word_order=2, references=known)
    if name == "ter":
        return TER(references=known)
    raise TranslationError(f"{name!r} is not a metric; choose from {', '.join(METRICS)}")


def _check(hypotheses: Sequence[str], references: Sequence[str], name: str = "hypotheses") -> None:
    """Stop what sacreBLEU would turn into a wrong number: it cuts the longer side without a word."""
    for what, sentences in ((name, hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise TypeError(f"{what} is one string; pass a list with a string for each sentence")
        for i, sentence in enumerate(sentences):
            if not isinstance(sentence, str):
                raise TypeError(f"{what}[{i}] is a {type(sentence).__name__}, not a string")
    if len(hypotheses) != len(references):
        raise TranslationError(
            f"there are {len(hypotheses)} {name} for {len(references)} references; "
            "a score needs one of each for every sentence, blank ones included"
        )
    if not hypotheses:
        raise TranslationError("there are no sentences to score")
