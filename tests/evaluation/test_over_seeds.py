import pytest

from seq2seq.evaluation.over_seeds import recipe_tests
from seq2seq.evaluation.scores import report

REFERENCES = ["A man stands on a ladder.", "Two dogs run in the snow.", "People repair a roof of a house."]
GOOD = ["A man stands on a ladder.", "Two dogs run in snow.", "People repair a roof of a home."]
POOR = ["A man is on a thing.", "Dogs run in the snow.", "People repair."]


ONE = ["A man stands on a ladder."] * 5  # of equal sentences, each resample scores the same: what varies is seeds
OTHER = ["A man stands on a thing."] * 5


def test_an_interval_is_over_seeds_too() -> None:
    """By hand: of 4 seeds 3 are drawn. The share of the best is 0, 1, 2 or 3 thirds; 2 at most in 95% of the draws."""
    (found,) = recipe_tests([[ONE, OTHER, OTHER, OTHER]], ONE, ["chrf"])["chrf"]
    best, worst = (report(texts, ONE, ["chrf"])["chrf"].score for texts in (ONE, OTHER))
    assert found.together.score == pytest.approx((best + 3 * worst) / 4)
    assert found.together.half_width == pytest.approx((best - worst) / 3)
    assert [run.half_width for run in found.runs] == [pytest.approx(0, abs=1e-6)] * 4


def test_what_seeds_alone_can_make_is_chance() -> None:
    first, of_seeds = recipe_tests([[ONE, OTHER, OTHER], [ONE, ONE, OTHER]], ONE, ["bleu"])["bleu"]
    difference = of_seeds.together.score - first.together.score
    assert difference > 0 and of_seeds.p_value is not None and of_seeds.p_value > 0.05
    assert of_seeds.half_width is not None and of_seeds.half_width > difference
    _, real = recipe_tests([[GOOD] * 3, [POOR] * 3], REFERENCES, ["bleu"])["bleu"]
    assert real.p_value == recipe_tests([[GOOD], [POOR]], REFERENCES, ["bleu"])["bleu"][1].p_value
