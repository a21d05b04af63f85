"""What is best, what was best before it, and how that is told."""

import math
from pathlib import Path

import pytest

from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.training.selection import Outcome, Selector, summary


def seen(monitor: str, values: list[float], n_best: int = 1) -> Selector:
    selector = Selector(monitor, n_best)
    for step, value in enumerate(values, start=1):
        selector.see(step, {"loss": 1.0} | {monitor.removeprefix("valid/"): value})
    return selector


def test_the_best_validations_are_remembered_the_best_one_first() -> None:
    values = [3.0, 7.0, 5.0, 7.0, 1.0, 6.0]
    assert seen("valid/bleu", values, n_best=3).best_steps == [2, 4, 6]  # of equal ones, the older is better
    assert seen("valid/loss", values, n_best=3).best_steps == [5, 1, 3]
    assert seen("valid/bleu", values, n_best=30).best_steps == [2, 4, 6, 3, 1, 5]
    assert seen("valid/bleu", values).best_steps == [2]


@pytest.mark.parametrize(("monitor", "shown"), [("valid/loss", "loss 2.2500  "), ("valid/chrf", "")])
def test_a_summary_shows_what_decided_which_weights_won(monitor: str, shown: str) -> None:
    config = RunConfig(trainer=TrainerConfig(max_epochs=1, monitor=monitor))
    outcome = Outcome(
        Path("run"), "best (step 5)", {"best (step 5)": {"bleu": 19.0, "chrf": 41.0, "loss": 2.25}}, {"test": {}}
    )
    text = summary(config, outcome, "after step 8", Path("run"), "")
    assert f" * BLEU  19.00  chrF  41.00  {shown}best (step 5)\n" in text


def test_what_is_not_a_number_is_never_among_the_best() -> None:
    assert seen("valid/loss", [math.nan, 2.0, math.nan], n_best=3).best_steps == [2]
    assert seen("valid/loss", [math.nan]).has_lost_patience(1)


def test_patience_looks_at_the_best_one_alone() -> None:
    selector = seen("valid/bleu", [5.0, 3.0, 4.0], n_best=3)  # the last one is among the best three
    assert selector.has_lost_patience(2) and not selector.has_lost_patience(3)
    selector.see(4, {"bleu": 5.5, "loss": 1.0})
    assert selector.best_steps[0] == 4 and not selector.has_lost_patience(1)


def test_a_continued_selector_goes_on_and_can_remember_fewer_or_more() -> None:
    state = seen("valid/bleu", [3.0, 7.0, 5.0], n_best=2).state_dict()
    assert state == {"ranking": [[7.0, -1.0, 2], [5.0, -1.0, 3]], "n_since": 1, "n_alike": 0}
    for n_best, expected in ((1, [2]), (2, [2, 4]), (3, [2, 4, 3])):
        selector = Selector("valid/bleu", n_best)
        selector.load_state_dict(state)
        selector.see(4, {"bleu": 6.0, "loss": 1.0})
        assert selector.best_steps == expected
        assert selector.has_lost_patience(2)


def test_a_metric_that_never_moves_uses_up_no_patience_and_the_loss_decides() -> None:
    selector = Selector("valid/bleu")
    for step, loss in enumerate([5.0, 4.0, 4.5], start=1):
        selector.see(step, {"bleu": 0.0, "loss": loss})
    assert selector.best_steps == [2] and selector.n_alike == 3 and not selector.has_lost_patience(1)
    continued = Selector("valid/bleu")
    continued.load_state_dict(selector.state_dict())
    continued.see(4, {"bleu": 0.1, "loss": 9.0})
    assert continued.best_steps == [4]
    continued.see(5, {"bleu": 0.0, "loss": 3.0})
    assert continued.best_steps == [4] and continued.has_lost_patience(1)
