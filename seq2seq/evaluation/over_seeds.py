"""Tests of recipes: whether one is better than another by more than the chance of sentences and of seeds."""

import logging
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from seq2seq.evaluation.scores import (
    N_SAMPLES,
    PLAIN,
    Interval,
    References,
    Resampled,
    Scoring,
    bootstrap_p_value,
    check_before_work,
    check_sentences,
    resampled,
    scorer_of,
)

if TYPE_CHECKING:
    import numpy as np
    from sacrebleu.metrics.base import Metric

_SEED = 1  # another stream than that of the sentences


@dataclass(frozen=True)
class RecipeScores:
    """What the runs of a recipe score, and how the recipe differs from the first one.

    Attributes:
        runs: the score of each.
        together: the mean of all runs. Its interval is over sentences, and over seeds if there are several.
        half_width: of the interval that holds 95% of the differences; None for the first recipe, and without bootstrap.
        p_value: that chance alone makes a difference as large; None for equal scores.
    """

    runs: Sequence[Interval]
    together: Interval
    half_width: float | None = None
    p_value: float | None = None


def recipe_tests(
    recipes: Sequence[Sequence[Sequence[str]]],
    references: References,
    metrics: Sequence[str],
    method: str = "bs",
    scoring: Scoring = PLAIN,
    n_samples: int = 0,
) -> dict[str, list[RecipeScores]]:
    """Test whether recipes differ from the first one by more than chance, in each metric.

    The bootstrap draws sentences, the same for all runs, so that sentences that are hard for all do not hide a
    difference (Koehn 2004). For each recipe it also draws some of its runs: sentences and seeds are crossed, so both
    are drawn (Owen 2007). Of n runs it draws n - 1 with replacement, since n of them would vary too little: their mean
    has (n - 1) / n of the variance that it should have (Rao and Wu 1988). A recipe of one run has no seeds to draw: two
    of these get the numbers of `sacrebleu --paired-bs`.

    Args:
        recipes: for each the translations of its runs, all of the same sentences.
        method: `bs` for the bootstrap. `ar` for approximate randomisation, which swaps the two translations of each
            sentence or does not, at random (Riezler and Maxwell 2005): two recipes or more, of one run each, and the
            numbers of `sacrebleu --paired-ar`.
        n_samples: number of resamples or trials, at least 2, or 0 for that of `N_SAMPLES`.
    Returns:
        For each metric, what each recipe scores.
    Raises:
        TranslationError, TypeError: as `corpus_scores`, for any run.
    """
    check_before_work(scoring.tokenize)
    systems = [translations for runs in recipes for translations in runs]
    for translations in systems:
        check_sentences(translations, references)
    n_samples = n_samples or N_SAMPLES[method]
    assert n_samples > 1
    found = {}
    for name in metrics:
        scorer = scorer_of(name, references, scoring)
        if method == "ar":
            found[name] = _by_randomisation(scorer, systems, n_samples)
        else:
            each = iter(resampled(scorer, systems, n_samples))
            found[name] = compared([list(islice(each, len(runs))) for runs in recipes])
    return found


def compared(recipes: Sequence[Sequence[Resampled]]) -> list[RecipeScores]:
    """Recipes, given as their runs on the same resamples, with the tests of each against the first one."""
    import numpy as np
    from sacrebleu.significance import estimate_ci

    rng = np.random.default_rng(_SEED)
    first, *others = [_together(runs, rng) for runs in recipes]
    found = [RecipeScores([run.interval() for run in recipes[0]], first.interval())]
    for runs, other in zip(recipes[1:], others, strict=True):
        difference, differences = other.score - first.score, other.on_resamples - first.on_resamples
        p_value = bootstrap_p_value(differences, difference) if difference else None
        half_width = float(estimate_ci(differences)[1])
        found.append(RecipeScores([run.interval() for run in runs], other.interval(), half_width, p_value))
    return found


def _together(runs: Sequence[Resampled], rng: "np.random.Generator") -> Resampled:
    """The mean of runs; on each resample, of runs that are drawn for it."""
    import numpy as np

    scores = np.stack([run.on_resamples for run in runs], axis=1)
    drawn = rng.integers(len(runs), size=(len(scores), max(1, len(runs) - 1)))
    on_resamples = np.take_along_axis(scores, drawn, axis=1).mean(axis=1)
    return Resampled(statistics.mean(run.score for run in runs), on_resamples, runs[0].signature)


def _by_randomisation(metric: "Metric", systems: Sequence[Sequence[str]], n_samples: int) -> list[RecipeScores]:
    """Runs and their tests against the first one by approximate randomisation.

    Given several metrics at once, sacreBLEU would take two kinds of BLEU for the same one.
    """
    from sacrebleu.significance import PairedTest

    named = [(str(number), texts) for number, texts in enumerate(systems)]
    with _without_progress():
        _, tested = PairedTest(named, {"": metric}, None, "ar", n_samples)()
    _, results = tested.values()  # the names of the systems, then what was found of them
    first, *others = (each.interval() for each in resampled(metric, systems, N_SAMPLES["bs"]))
    found = [RecipeScores([first], first)]
    for other, result in zip(others, results[1:], strict=True):
        assert not isinstance(result, str)
        found.append(RecipeScores([other], other, p_value=result.p_value if other.score != first.score else None))
    return found


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
