"""Scores of translations against references, each with its sacreBLEU signature, which says how it was computed.

A sentence is one string, as a reader sees it: detokenised and unescaped.
"""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import regex

from seq2seq.characters import base_language, has_spaces, has_spaces_between_sentences, is_unspaced, split_words
from seq2seq.config import RunConfig
from seq2seq.config.evaluation import AUTO
from seq2seq.corpus.tokenised import is_tokenised
from seq2seq.errors import TranslationError
from seq2seq.evaluation.legacy_tokens import moses_tokens

if TYPE_CHECKING:  # imported where it is used: a run without scores saves 0.1 s
    import numpy as np
    from sacrebleu.metrics.base import Metric

METRICS = ("bleu", "chrf", "chrf++", "ter", "bleu_legacy_tok")
VALID_METRICS = ("bleu", "chrf")  # of each validation
TEST_METRICS = ("bleu", "chrf", "bleu_legacy_tok")  # of every test set, at the end of a run; ter would take minutes
ROBUSTNESS_METRICS = ("bleu", "chrf")  # of the test sets that data.robustness adds
# Paired tests, by their names in sacreBLEU, and how many resamples or trials each of them has.
N_SAMPLES = {"bs": 1000, "ar": 10000}
# For each sentence one reference, or a list of all its references. A blank one in a list does not count.
References = Sequence[str] | Sequence[Sequence[str]]
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_HAN_OR_KANA = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
# Tokens that need a dictionary, which is an extra of sacreBLEU, and the tokens without it.
_DICTIONARIES = dict.fromkeys(("ja", "jpn"), ("ja-mecab", "char")) | dict.fromkeys(("ko", "kor"), ("ko-mecab", "13a"))
_SPLIT_AT_SPACES = ("13a", "intl", "none")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Score:
    """A score from 0 to 100, higher is better. TER alone counts edits per 100 words, and lower is better."""

    score: float
    signature: str


@dataclass(frozen=True)
class Scoring:
    """How sentences are scored.

    Attributes:
        language: of the sentences, such as `fr`; it decides the tokens. If it is empty, the script of the references
            does, but `bleu_legacy_tok` needs it.
        tokenize: tokens of `bleu`, as sacreBLEU names them; `auto`: those of the language.
        ignore_case: lower all letters first, as sacreBLEU's `--lowercase`; `ter` and `bleu_legacy_tok` always do.
    """

    language: str = ""
    tokenize: str = AUTO
    ignore_case: bool = False

    @classmethod
    def of(cls, config: RunConfig, *, ignore_case: bool = False) -> "Scoring":
        """How a run scores its translations."""
        return cls(config.data.tgt_lang, config.evaluation.tokenize, ignore_case)


PLAIN = Scoring()


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


def corpus_scores(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    scoring: Scoring = PLAIN,
) -> dict[str, Score]:
    """Score all sentences as one corpus. No score is a mean over sentences or batches.

    Args:
        references: for each sentence one reference, or a list of all its references. If sentences differ in their
            number of references, the signature says `nrefs:var`.
        metrics: any of `bleu` (cased), `chrf` (chrF2), `chrf++` (with word bigrams), `ter` and `bleu_legacy_tok`. The
            last one is what multi-bleu.perl gives for `moses_tokens`: the number in older papers. If the references
            are tokens already, text is only lower-cased, and the signature says `tok:none`.
    Returns:
        The score of each metric, by the name of the metric.
    Raises:
        TranslationError: there are no sentences, or not as many hypotheses as references; a metric is unknown, or
            needs a language; tokens are unknown, or not installed.
        TypeError: something is not a string, or is one string in place of a list.
    """
    check_sentences(hypotheses, references)
    scores = {}
    for name in metrics:
        metric = scorer_of(name, references, scoring)
        value = metric.corpus_score(hypotheses, None).score
        scores[name] = Score(float(value), str(metric.get_signature()))
    return scores


def report(
    hypotheses: Sequence[str],
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    n_samples: int = 1000,
    scoring: Scoring = PLAIN,
) -> dict[str, Interval]:
    """`corpus_scores` with 95% intervals, from resamples drawn with replacement (Koehn 2004).

    The numbers are those of `sacrebleu --confidence`. The seed is `$SACREBLEU_SEED`, or 12345 as in sacreBLEU; the
    signature names it.

    Args:
        n_samples: number of resamples, at least 2.
    Raises:
        TranslationError, TypeError: as `corpus_scores`.
    """
    check_before_work(scoring.tokenize)
    check_sentences(hypotheses, references)
    assert n_samples > 1
    scorers = {name: scorer_of(name, references, scoring) for name in metrics}
    return {name: resampled(scorer, [hypotheses], n_samples)[0].interval() for name, scorer in scorers.items()}


def check_before_work(tokenize: str) -> None:
    """Refuse what would be refused when everything is translated: tokens that are not there, a seed that is none."""
    _seed()
    if tokenize != AUTO:
        bleu([], Scoring(tokenize=tokenize))


def without_minus_zero(difference: float) -> float:
    """A score or a difference with two decimals; what is too small for them is 0.00, and never -0.00."""
    return round(difference, 2) + 0.0


@dataclass(frozen=True)
class Resampled:
    """The score of a system, and its scores on resamples of the sentences."""

    score: float
    on_resamples: "np.ndarray"
    signature: str

    def interval(self) -> Interval:
        from sacrebleu.significance import estimate_ci

        mean, half_width = estimate_ci(self.on_resamples)
        return Interval(self.score, float(mean), float(half_width), self.signature)


def resampled(metric: "Metric", systems: Sequence[Sequence[str]], n_samples: int) -> list[Resampled]:
    """The systems on the same resamples, drawn as `corpus_score(n_bootstrap=...)` draws them, but one at a time.

    sacreBLEU holds all resamples at once: 7 GB for chrF of 100,000 sentences. Its public functions give no counts of
    sentences, so this is the one place that calls methods which it keeps to itself.
    """
    import numpy as np

    statistics = [metric._extract_corpus_statistics(texts, None) for texts in systems]  # counts of each sentence
    counts = [np.array(each, dtype="float32") for each in statistics]  # sacreBLEU sums in 32 bits too
    on_resamples = on_same_resamples(counts, lambda sums: metric._compute_score_from_stats(sums).score, n_samples)
    metric.n_bootstrap, metric.seed = n_samples, _seed()  # for the signature
    signature = str(metric.get_signature())
    return [
        Resampled(float(metric._aggregate_and_compute(each).score), scores, signature)
        for each, scores in zip(statistics, on_resamples, strict=True)
    ]


def on_same_resamples(
    statistics: Sequence["np.ndarray"], score: Callable[[Any], float], n_samples: int
) -> list["np.ndarray"]:
    """The scores of systems on resamples of the sentences, which are the same for all.

    Args:
        statistics: numbers of each sentence, for each system; a score is that of their sums.
    """
    import numpy as np

    seed = _seed()
    rng = np.random.default_rng(None if seed == "none" else int(seed))
    n, scores = len(statistics[0]), []
    for _ in range(n_samples):
        chosen = rng.choice(n, n)
        scores.append([score(each[chosen].sum(0)) for each in statistics])
    return [np.array(each) for each in zip(*scores, strict=True)]


def _seed() -> str:
    """The seed of resamples: a number, or `none` for others each time."""
    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    if seed == "none" or (seed.isascii() and seed.isdigit()):
        return seed
    raise TranslationError(f"SACREBLEU_SEED={seed[:60]!r} is neither a whole number nor none; set it so, or unset it")


def difference_interval(baseline: Resampled, system: Resampled) -> tuple[float, float]:
    """Between which two numbers 95% of the differences lie, system minus baseline, on the same resamples.

    An interval with 0 inside says that these sentences do not show which system is better.
    """
    import numpy as np

    low, high = np.percentile(system.on_resamples - baseline.on_resamples, [2.5, 97.5])
    return float(low), float(high)


def bootstrap_p_value(on_resamples: "np.ndarray", difference: float) -> float:
    """How often resamples differ by more than all sentences do, by chance: as if both systems were equally good.

    It is that of `sacrebleu --paired-bs`: at least 1 / (number of resamples + 1), which two systems get that are equal
    on every resample, so look at the difference first.
    """
    by_chance = abs(on_resamples) - abs(on_resamples).mean()
    return (int((by_chance > abs(difference)).sum()) + 1) / (len(on_resamples) + 1)


def scorer_of(name: str, references: References, scoring: Scoring) -> "Metric":
    """A metric that has analysed the references, and can score several systems against them."""
    from sacrebleu import CHRF, TER

    known = _streams(references)
    if name == "bleu":
        # sacreBLEU warns if hypotheses look like tokens. `force` silences it if the references are tokens too.
        force = is_tokenised(known[0])
        return bleu(known[0], scoring, references=known, lowercase=scoring.ignore_case, force=force)
    if name == "chrf":
        return CHRF(references=known, lowercase=scoring.ignore_case)
    if name == "chrf++":
        return CHRF(word_order=2, references=known, lowercase=scoring.ignore_case)
    if name == "ter":
        # Chinese and Japanese are.
        by_characters = not has_spaces_between_sentences(scoring.language or _written_as(known[0]))
        return TER(references=known, normalized=by_characters, asian_support=by_characters)
    if name == "bleu_legacy_tok":
        return _legacy_bleu(known, scoring.language)
    raise TranslationError(f"{name!r} is not a metric; choose from {', '.join(METRICS)}")


def bleu(texts: Iterable[str | None], scoring: Scoring, **options: Any) -> "Metric":
    """sacreBLEU's BLEU with the tokens that are asked for, or those of the language.

    Args:
        texts: references, whose script says the language if it is empty.
        options: of sacreBLEU.
    """
    from sacrebleu import BLEU

    known = list(filter(None, texts))
    tokens = scoring.tokenize
    if tokens == AUTO:
        tokens = bleu_tokens(scoring.language or _written_as(known))
    if tokens not in BLEU.TOKENIZERS:
        raise TranslationError(f"sacreBLEU has no tokens {tokens!r}; choose from {', '.join(BLEU.TOKENIZERS)}")
    together = " ".join(known) if tokens in _SPLIT_AT_SPACES else ""
    if 4 * len(together.split()) < len(split_words(together)):
        _say_once(f"the references have almost no spaces, and BLEU splits at spaces; choose zh or char, not {tokens}")
    try:
        return BLEU(tokenize=tokens, **options)
    except (RuntimeError, ImportError, OSError, AssertionError) as error:  # no dictionary, another, no network
        if not (tokens.endswith("mecab") or tokens.startswith(("flores", "spm"))):  # the others need nothing
            raise
        wanted = f"pip install 'sacrebleu[{tokens[:2]}]'" if tokens.endswith("mecab") else f"a download: {error}"
        raise TranslationError(f"the tokens {tokens} of BLEU need {wanted}") from error


def bleu_tokens(language: str) -> str:
    """sacreBLEU's tokens for a language: 13a would take a sentence of Chinese or Thai for one word.

    Without its dictionary, Korean has 13a, whose words then have their endings: it has spaces, unlike Japanese.
    """
    if (code := base_language(language)) not in _DICTIONARIES:
        return "13a" if has_spaces(language) else "char" if has_spaces_between_sentences(language) else "zh"
    tokens, without = _DICTIONARIES[code]
    try:
        bleu([], Scoring(tokenize=tokens))
    except TranslationError as error:
        _say_once(f"BLEU of {language} has the tokens {without}: {error}")
        return without
    return tokens


@cache
def _say_once(message: str) -> None:
    log.warning("%s", message)


def _written_as(references: Iterable[str | None]) -> str:
    """A language that is written as the references are, by their script."""
    texts = list(filter(None, references))
    unspaced = list(filter(is_unspaced, texts))
    if 2 * len(unspaced) <= len(texts):
        return "en"
    n_kana, n_east_asian = (sum(map(bool, map(letter.search, unspaced))) for letter in (_KANA, _HAN_OR_KANA))
    return "th" if 2 * n_east_asian < len(unspaced) else "ja" if 2 * n_kana >= len(unspaced) else "zh"


def _legacy_bleu(references: list[list[Any]], language: str) -> "Metric":
    import sacremoses
    from sacrebleu import BLEU

    if not language:
        raise TranslationError("bleu_legacy_tok splits words by the rules of a language; name that of the translations")
    language = base_language(language)
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


def check_sentences(hypotheses: Sequence[str], references: References) -> None:
    """Refuse what sacreBLEU would turn into a wrong number: it cuts the longer side without a warning."""
    for side, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise TypeError(f"{side} is one string; pass a list with a string for each sentence")
        for i, sentence in enumerate(sentences):
            for text in sentence if side == "references" and isinstance(sentence, (list, tuple)) else [sentence]:
                if not isinstance(text, str):
                    raise TypeError(f"{side}[{i}] is a {type(text).__name__}, not a string")
    if len(hypotheses) != len(references):
        raise TranslationError(
            f"there are {len(hypotheses)} hypotheses for {len(references)} references; "
            "a score needs one of each for every sentence, blank ones included"
        )
    if not hypotheses:
        raise TranslationError("there are no sentences to score")
