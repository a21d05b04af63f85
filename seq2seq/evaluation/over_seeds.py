"""Tests of recipes: whether one is better than another by more than the chance of sentences and of seeds."""

import statistics
from collections.abc import Sequence
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
    paired_tests,
    resampled,
    scorer_of,
)

if TYPE_CHECKING:
    import numpy as np

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
) -> dict[str, list[RecipeScores]]:
    """Test whether recipes differ from the first one, in each metric.

    The bootstrap draws sentences, the same for all runs (Koehn 2004), and for each recipe some of its runs: sentences
    and seeds are crossed, so both are drawn (Owen 2007). Of n runs it draws n - 1 with replacement, since n of them
    would vary too little: their mean has (n - 1) / n of the variance that it should have (Rao and Wu 1988). A recipe of
    one run has no seeds to draw: two of these get the numbers of `scores.paired_tests`.

    Args:
        recipes: for each the translations of its runs, all of the same sentences.
        method: as for `paired_tests`; `ar` takes two recipes or more, of one run each.
    """
    if method == "ar":
        first, *others = (translations for (translations,) in recipes)
        paired = paired_tests(first, others, references, metrics, method, scoring=scoring)
        return {
            name: [
                RecipeScores([pairs[0].baseline], pairs[0].baseline),
                *(
                    RecipeScores([pair.system], pair.system, p_value=pair.p_value if pair.difference else None)
                    for pair in pairs
                ),
            ]
            for name, pairs in paired.items()
        }
    check_before_work(scoring.tokenize)
    systems = [translations for runs in recipes for translations in runs]
    for translations in systems:
        check_sentences(translations, references)
    found = {}
    for name in metrics:
        scorer = scorer_of(name, references, scoring)
        each = iter(resampled(scorer, systems, N_SAMPLES["bs"]))
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
