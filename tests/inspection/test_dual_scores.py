"""Scores of pairs by two models, one of each direction."""

from math import exp, inf, log

import pytest

from seq2seq.errors import ConfigError
from seq2seq.inspection.dual_scores import cross_entropy, dual_score, dual_scores
from seq2seq.translation.options import EngineOptions
from seq2seq.translation.result import Scored
from seq2seq.translation.translator import Translator


def test_the_score_is_that_of_the_paper():
    assert dual_score(0.0, 0.0) == 1
    assert dual_score(1.0, 3.0) == pytest.approx(exp(-(2 + 2)))  # |1 - 3| + (1 + 3) / 2
    assert dual_score(3.0, 1.0) == dual_score(1.0, 3.0)
    assert dual_score(2.0, 2.0) > dual_score(1.0, 3.0)
    assert dual_score(inf, 1.0) == dual_score(inf, inf) == 0


def test_the_cross_entropy_is_a_mean_over_tokens_in_nats():
    tokens = [("a", log(0.5)), ("</s>", log(0.25))]
    assert cross_entropy(Scored("x", "y", log(0.125), 0.0, tokens)) == pytest.approx(log(8) / 2)
    assert cross_entropy(Scored("x", "y", -inf, -inf, [], "one side is blank")) == inf


def test_a_model_of_the_other_direction_is_refused(random_run):
    with (
        pytest.raises(
            ConfigError, match=r"translates fr to en, and a model from en to fr is needed here; give MODEL_FWD"
        ),
        dual_scores(random_run, random_run, ["fr", "en"]),
    ):
        pass


def test_pairs_are_scored_in_both_directions(random_run, monkeypatch):
    loaded = Translator.load
    monkeypatch.setattr(Translator, "load", lambda *args: as_if_both_ways(loaded(*args)))
    pairs = [("un chat", "a cat"), ("deux chiens", "two dogs")]
    with dual_scores(random_run, random_run, ["fr", "fr"]) as score:
        found = list(score(iter(pairs)))
    with loaded([random_run], EngineOptions()) as model:
        there = [cross_entropy(each) for each in model.score(pairs)]
        back = [cross_entropy(each) for each in model.score([(tgt, src) for src, tgt in pairs])]
    assert found == pytest.approx([dual_score(*both) for both in zip(there, back, strict=True)], rel=1e-5)


def as_if_both_ways(model):
    """The only model that tests have translates fr to en."""
    model.config.data.tgt_lang = "fr"
    return model
