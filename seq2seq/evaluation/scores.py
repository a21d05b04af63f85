"""Scores of translations against references, each with the sacreBLEU signature that says what it is.

Text comes in as a reader sees it: detokenised, unescaped, one string a sentence.
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

if TYPE_CHECKING:  # imported where it is used: 0.1 s that a run without scores need not pay
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

METRICS = ("bleu", "chrf", "chrf++", "ter", "bleu_legacy_tok")
TEST_METRICS = ("bleu", "chrf", "ter", "bleu_legacy_tok")  # of every test set, at the end of a run
# Of each sentence one reference, or all of them. A blank one among several is no reference.
References = Sequence[str] | Sequence[Sequence[str]]


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
class PairedScores:
    """Two systems on the same sentences.

    Attributes:
        p_value: how probable a difference of scores at least this large would be if chance alone made it. Look at the
            difference first: for systems that are equal on every resample, sacreBLEU gives the smallest p-value.
    """

    baseline: Interval
    system: Interval
    p_value: float


def corpus_scores(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    language: str = "",
) -> dict[str, Score]:
    """Score all sentences as one corpus; nothing here is a mean over sentences or batches.

    Args:
        references: of each sentence one, or a list of all that are known; several make `nrefs:var` of the signature.
        metrics: of `bleu` (13a tokens, cased), `chrf` (chrF2), `chrf++` (with word bigrams), `ter`, and
            `bleu_legacy_tok`: what multi-bleu.perl gives for `moses_tokens`, the number of older papers. References
            that are tokens already are taken as they are, but lower-cased, and the signature says `tok:none`.
        language: of the sentences, such as `fr`; only `bleu_legacy_tok` asks for it.
    Returns:
        A score for each metric, under its name.
    Raises:
        TranslationError: no sentences, not as many hypotheses as references, an unknown metric, no language where
            it is needed.
        TypeError: anything but strings, or one string in place of many.
    """
    _check(hypotheses, references)
    scores = {}
    for name in metrics:
        metric = _metric(name, references, language)
        value = metric.corpus_score(hypotheses, None).score
        scores[name] = Score(float(value), str(metric.get_signature()))
    return scores


def report(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
    language: str = "",
) -> dict[str, Interval]:
    """`corpus_scores` with their 95% confidence, by drawing sentences with replacement (Koehn 2004).

    The numbers are those of `sacrebleu --confidence`. The seed is its 12345, or `$SACREBLEU_SEED`; the signature
    names it.

    Args:
        n_samples: resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`.
    """
    _check(hypotheses, references)
    assert n_samples > 1
    return {name: _interval(_metric(name, references, language), hypotheses, n_samples) for name in metrics}


def bootstrap_interval(
    hypotheses: Sequence[str],
    references: References,
    metric: str = "bleu",
    n_samples: int = 1000,
    language: str = "",
) -> Interval:
    """`report` of one metric."""
    return report(hypotheses, references, (metric,), n_samples, language)[metric]


def paired_test(
    baseline: Sequence[str],
    system: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    n_samples: int = 1000,
    language: str = "",
) -> dict[str, PairedScores]:
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
    _check(baseline, references, "baseline hypotheses")
    _check(system, references)
    assert n_samples > 1
    return {name: _paired(_metric(name, references, language), baseline, system, n_samples) for name in metrics}


def _interval(metric: "Metric", hypotheses: Sequence[str], n_samples: int) -> Interval:
    """As `corpus_score(n_bootstrap=...)`, which holds all resamples at once: 7 GB for chrF of 100,000 sentences."""
    import numpy as np
    from sacrebleu.significance import estimate_ci

    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    rng = np.random.default_rng(None if seed == "none" else int(seed))
    of_sentences = metric._extract_corpus_statistics(hypotheses, None)
    score = metric._aggregate_and_compute(of_sentences).score
    counts = np.array(of_sentences, dtype="float32")  # which sacreBLEU sums in 32 bits too
    n = len(counts)
    resampled = [metric._compute_score_from_stats(counts[rng.choice(n, n)].sum(0)).score for _ in range(n_samples)]
    mean, half_width = estimate_ci(np.array(resampled, dtype="float64"))
    metric.n_bootstrap, metric.seed = n_samples, seed  # for the signature
    return Interval(float(score), float(mean), float(half_width), str(metric.get_signature()))


def _paired(metric: "Metric", baseline: Sequence[str], system: Sequence[str], n_samples: int) -> PairedScores:
    """One metric at a time: sacreBLEU would take two kinds of BLEU for one; the resamples are the same each time."""
    from sacrebleu.significance import PairedTest

    with _without_progress():
        test = PairedTest([("baseline", baseline), ("system", system)], {"": metric}, None, "bs", n_samples)
        signatures, results = test()
    ((name, signature),) = signatures.items()
    return _comparison(results[name], str(signature))


def _comparison(results: Sequence["str | Result"], signature: str) -> PairedScores:
    baseline, system = (result for result in results if not isinstance(result, str))  # names are in another column
    assert system.p_value is not None
    return PairedScores(_measured(baseline, signature), _measured(system, signature), system.p_value)


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


def _metric(name: str, references: References, language: str) -> "Metric":
    """A metric that has analysed the references, once for however many systems it scores."""
    from sacrebleu import BLEU, CHRF, TER

    known = _streams(references)
    if name == "bleu":
        # sacreBLEU warns of hypotheses that look like tokens; `force` silences it where references are tokens too.
        return BLEU(references=known, force=is_tokenised(known[0]))
    if name == "chrf":
        return CHRF(references=known)
    if name == "chrf++":
        return CHRF(word_order=2, references=known)
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

    # Without smoothing, as multi-bleu.perl; `lowercase` is for the signature, `force` against advice to detokenise.
    metric = LegacyBLEU(lowercase=True, force=True, smooth_method="none", references=references)
    metric.tokenizer_signature = signature
    return metric


def _streams(references: References) -> list[list[Any]]:  # of strings and None, which sacreBLEU's types leave out
    """As sacreBLEU takes them: the first reference of each sentence, the second of each, ...; None where it has fewer.

    Blank ones go: sacreBLEU takes them for references of no words, against which a short hypothesis is not too short.
    """
    several = ([each] if isinstance(each, str) else [text for text in each if text.strip()] for each in references)
    return [list(stream) for stream in zip_longest(*(each or [""] for each in several))]


def _check(hypotheses: Sequence[str], references: References, name: str = "hypotheses") -> None:
    """Stop what sacreBLEU would turn into a wrong number: it cuts the longer side without a word."""
    for what, sentences in ((name, hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise TypeError(f"{what} is one string; pass a list with a string for each sentence")
        for i, sentence in enumerate(sentences):
            for text in sentence if what == "references" and isinstance(sentence, (list, tuple)) else [sentence]:
                if not isinstance(text, str):
                    raise TypeError(f"{what}[{i}] is a {type(text).__name__}, not a string")
    if len(hypotheses) != len(references):
        raise TranslationError(
            f"there are {len(hypotheses)} {name} for {len(references)} references; "
            "a score needs one of each for every sentence, blank ones included"
        )
    if not hypotheses:
        raise TranslationError("there are no sentences to score")
