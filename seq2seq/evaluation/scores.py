"""Scores of translations against references, each with its sacreBLEU signature, which says how it was computed.

A sentence is one string, as a reader sees it: detokenised and unescaped.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from seq2seq.corpus.tokenised import is_tokenised
from seq2seq.errors import TranslationError
from seq2seq.evaluation.legacy_tokens import moses_tokens

if TYPE_CHECKING:  # imported where it is used: a run without scores saves 0.1 s
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

METRICS = ("bleu", "chrf", "chrf++", "ter", "bleu_legacy_tok")
TEST_METRICS = ("bleu", "chrf", "ter", "bleu_legacy_tok")  # of every test set, at the end of a run
ROBUSTNESS_METRICS = ("bleu", "chrf")  # of the test sets that data.robustness adds
# For each sentence one reference, or a list of all its references. A blank one in a list does not count.
References = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True)
class Score:
    """A score from 0 to 100, higher is better. TER alone counts edits per 100 words, and lower is better."""

    score: float
    signature: str


@dataclass(frozen=True)
class Interval:
    """A score, and how far it varies over bootstrap resamples of the sentences.

    Attributes:
        score: of all sentences, the same as `Score.score`.
        mean: mean score of the resamples.
        half_width: half the width of the interval that holds 95% of the resamples' scores.
        signature: as `Score.signature`, with the number of resamples and the seed.
    """

    score: float
    mean: float
    half_width: float
    signature: str


@dataclass(frozen=True)
class PairedScores:
    """The scores of two systems on the same sentences.

    Attributes:
        p_value: the probability that chance alone makes a difference at least this large. Look at the difference
            first: if two systems are equal on every resample, sacreBLEU gives them the smallest p-value.
    """

    baseline: Interval
    system: Interval
    p_value: float


def corpus_scores(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    language: str = "",
    *,
    ignore_case: bool = False,
) -> dict[str, Score]:
    """Score all sentences as one corpus. No score is a mean over sentences or batches.

    Args:
        references: for each sentence one reference, or a list of all its references. If sentences differ in their
            number of references, the signature says `nrefs:var`.
        metrics: any of `bleu` (13a tokens, cased), `chrf` (chrF2), `chrf++` (with word bigrams), `ter` and
            `bleu_legacy_tok`. The last one is what multi-bleu.perl gives for `moses_tokens`: the number in older
            papers. If the references are tokens already, text is only lower-cased, and the signature says `tok:none`.
        language: of the sentences, such as `fr`; only `bleu_legacy_tok` needs it.
        ignore_case: lower all letters first, as sacreBLEU's `--lowercase`; `ter` and `bleu_legacy_tok` always do.
    Returns:
        The score of each metric, by the name of the metric.
    Raises:
        TranslationError: there are no sentences, or not as many hypotheses as references; a metric is unknown, or
            needs a language.
        TypeError: something is not a string, or is one string in place of a list.
    """
    _check(hypotheses, references)
    scores = {}
    for name in metrics:
        metric = _metric(name, references, language, ignore_case)
        value = metric.corpus_score(hypotheses, None).score
        scores[name] = Score(float(value), str(metric.get_signature()))
    return scores


def report(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
    language: str = "",
    *,
    ignore_case: bool = False,
) -> dict[str, Interval]:
    """`corpus_scores` with 95% intervals, from resamples drawn with replacement (Koehn 2004).

    The numbers are those of `sacrebleu --confidence`. The seed is `$SACREBLEU_SEED`, or 12345 as in sacreBLEU; the
    signature names it.

    Args:
        n_samples: number of resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`.
    """
    _check(hypotheses, references)
    assert n_samples > 1
    return {
        name: _interval(_metric(name, references, language, ignore_case), hypotheses, n_samples) for name in metrics
    }


def bootstrap_interval(
    hypotheses: Sequence[str],
    references: References,
    metric: str = "bleu",
    n_samples: int = 1000,
    language: str = "",
) -> Interval:
    """`report` for a single metric."""
    return report(hypotheses, references, (metric,), n_samples, language)[metric]


def paired_test(
    baseline: Sequence[str],
    system: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
    language: str = "",
    *,
    ignore_case: bool = False,
) -> dict[str, PairedScores]:
    """Test whether two systems differ by more than chance, by paired bootstrap resampling (Koehn 2004).

    The numbers are those of `sacrebleu --paired-bs`. Both systems are scored on the same resamples, so that sentences
    that are hard for both do not hide a difference.

    Args:
        baseline, system: translations of the same sentences by the two systems.
        n_samples: number of resamples, at least 2; no p-value is below 1 / (n_samples + 1).
    Returns:
        The scores of both systems in each metric, by the name of the metric.
    Raises:
        TranslationError, TypeError: as `corpus_scores`, for either system.
    """
    _check(baseline, references, "baseline hypotheses")
    _check(system, references)
    assert n_samples > 1
    return {
        name: _paired(_metric(name, references, language, ignore_case), baseline, system, n_samples) for name in metrics
    }


def difference_interval(
    baseline: Sequence[str], system: Sequence[str], references: References, metric: str = "bleu", n_samples: int = 1000
) -> tuple[float, float]:
    """Between which two numbers 95% of the differences, system minus baseline, lie on resamples of the sentences.

    An interval with 0 inside says that these sentences do not show which system is better.

    Args:
        n_samples: number of resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`, for either system.
    """
    import numpy as np

    _check(baseline, references, "baseline hypotheses")
    _check(system, references)
    scorer = _metric(metric, references, "")
    before, after = (
        np.array(scorer._extract_corpus_statistics(texts, None), dtype="float32") for texts in (baseline, system)
    )
    rng = np.random.default_rng(12345)
    differences = []
    for _ in range(n_samples):
        chosen = rng.choice(len(before), len(before))
        scores = [scorer._compute_score_from_stats(counts[chosen].sum(0)).score for counts in (before, after)]
        differences.append(scores[1] - scores[0])
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def _interval(metric: "Metric", hypotheses: Sequence[str], n_samples: int) -> Interval:
    """The result of `corpus_score(n_bootstrap=...)`, computed one resample at a time.

    sacreBLEU holds all resamples at once: 7 GB for chrF of 100,000 sentences.
    """
    import numpy as np
    from sacrebleu.significance import estimate_ci

    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    rng = np.random.default_rng(None if seed == "none" else int(seed))
    statistics = metric._extract_corpus_statistics(hypotheses, None)  # a list of counts for each sentence
    score = metric._aggregate_and_compute(statistics).score
    counts = np.array(statistics, dtype="float32")  # sacreBLEU sums in 32 bits too
    n = len(counts)
    resampled = [metric._compute_score_from_stats(counts[rng.choice(n, n)].sum(0)).score for _ in range(n_samples)]
    mean, half_width = estimate_ci(np.array(resampled, dtype="float64"))
    metric.n_bootstrap, metric.seed = n_samples, seed  # for the signature
    return Interval(float(score), float(mean), float(half_width), str(metric.get_signature()))


def _paired(metric: "Metric", baseline: Sequence[str], system: Sequence[str], n_samples: int) -> PairedScores:
    """Test one metric. All metrics see the same resamples.

    Given several metrics at once, sacreBLEU would take two kinds of BLEU for the same one.
    """
    from sacrebleu.significance import PairedTest

    with _without_progress():
        test = PairedTest([("baseline", baseline), ("system", system)], {"": metric}, None, "bs", n_samples)
        signatures, results = test()
    ((name, signature),) = signatures.items()
    return _comparison(results[name], str(signature))


def _comparison(results: Sequence["str | Result"], signature: str) -> PairedScores:
    baseline, system = (result for result in results if not isinstance(result, str))  # the names of the systems
    assert system.p_value is not None
    return PairedScores(_measured(baseline, signature), _measured(system, signature), system.p_value)


def _measured(result: "Result", signature: str) -> Interval:
    assert result.mean is not None and result.ci is not None
    return Interval(float(result.score), float(result.mean), float(result.ci), signature)


@contextmanager
def _without_progress() -> Iterator[None]:
    """Hide the steps that sacreBLEU logs; its warnings stay."""
    logger = logging.getLogger("sacrebleu")
    before = logger.level
    logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(before)


def _metric(name: str, references: References, language: str, ignore_case: bool = False) -> "Metric":
    """A metric that has analysed the references, and can score several systems against them."""
    from sacrebleu import BLEU, CHRF, TER

    known = _streams(references)
    if name == "bleu":
        # sacreBLEU warns if hypotheses look like tokens. `force` silences it if the references are tokens too.
        return BLEU(references=known, lowercase=ignore_case, force=is_tokenised(known[0]))
    if name == "chrf":
        return CHRF(references=known, lowercase=ignore_case)
    if name == "chrf++":
        return CHRF(word_order=2, references=known, lowercase=ignore_case)
    if name == "ter":
        return TER(references=known)
    if name == "bleu_legacy_tok":
        return _legacy_bleu(known, language)
    raise TranslationError(f"{name!r} is not a metric; choose from {', '.join(METRICS)}")


def _legacy_bleu(references: list[list[Any]], language: str) -> "Metric":
    import sacremoses
    from sacrebleu import BLEU

    if not language:
        raise TranslationError("bleu_legacy_tok splits words by the rules of a language; name it with language=")
    tokens, signature = moses_tokens(language), f"moses-{language}+norm-{sacremoses.__version__}"
    if is_tokenised(references[0]):
        tokens, signature = str.lower, "none"

    class LegacyBLEU(BLEU):
        def _preprocess_segment(self, sent: str) -> str:
            return tokens(sent)

    # No smoothing, as in multi-bleu.perl. `lowercase` is for the signature; `force` silences advice to detokenise.
    metric = LegacyBLEU(lowercase=True, force=True, smooth_method="none", references=references)
    metric.tokenizer_signature = signature
    return metric


def _streams(references: References) -> list[list[Any]]:  # of strings and None, which sacreBLEU's types leave out
    """The lists that sacreBLEU takes: all first references, all second ones, ...; None where a sentence has fewer.

    Blank references are left out. sacreBLEU would take one for a reference of no words, and then no hypothesis would be
    too short.
    """
    reference_lists = (
        [known] if isinstance(known, str) else [text for text in known if text.strip()] for known in references
    )
    return [list(stream) for stream in zip_longest(*(known or [""] for known in reference_lists))]


def _check(hypotheses: Sequence[str], references: References, name: str = "hypotheses") -> None:
    """Refuse what sacreBLEU would turn into a wrong number: it cuts the longer side without a warning."""
    for side, sentences in ((name, hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise TypeError(f"{side} is one string; pass a list with a string for each sentence")
        for i, sentence in enumerate(sentences):
            for text in sentence if side == "references" and isinstance(sentence, (list, tuple)) else [sentence]:
                if not isinstance(text, str):
                    raise TypeError(f"{side}[{i}] is a {type(text).__name__}, not a string")
    if len(hypotheses) != len(references):
        raise TranslationError(
            f"there are {len(hypotheses)} {name} for {len(references)} references; "
            "a score needs one of each for every sentence, blank ones included"
        )
    if not hypotheses:
        raise TranslationError("there are no sentences to score")
