import math

import pytest

from seq2seq.config import OptimConfig
from seq2seq.training.optimizer import learning_rate


def rates(steps, total_steps=100, time_spent=0.0, **settings):
    return [learning_rate(step, OptimConfig(**settings), total_steps, time_spent) for step in steps]


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "linear", "constant"])
def test_warm_up_is_a_straight_line_through_zero(schedule):
    expected = [0.002, 0.004, 0.008]
    assert rates([1, 2, 4], schedule=schedule, lr=0.008, warmup_steps=4) == pytest.approx(expected)


@pytest.mark.parametrize("step", [1, 17, 3999, 4000, 4001, 100_000])
def test_inverse_square_root_is_the_formula_of_vaswani_2017_section_5_3(step):
    d_model, warmup = 512, 4000
    paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    lr = d_model**-0.5 * warmup**-0.5
    assert rates([step], schedule="inverse_sqrt", lr=lr, warmup_steps=warmup) == pytest.approx([paper])


def test_cosine_is_half_way_down_in_the_middle_and_ends_at_its_share():
    # Half a cosine: (1 + cos(pi x)) / 2 is 1, 3/4, 1/2, 1/4, 0 at x = 0, 1/3, 1/2, 2/3, 1.
    got = rates([10, 20, 25, 30, 40], total_steps=40, schedule="cosine", lr=1.0, warmup_steps=10)
    assert got == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0])
    kept = rates([10, 25, 40, 99], total_steps=40, schedule="cosine", lr=2.0, warmup_steps=10, final_lr=0.1)
    assert kept == pytest.approx([2.0, 1.1, 0.2, 0.2])


def test_linear_is_a_straight_line_to_its_share():
    got = rates([5, 10, 15, 25, 26], total_steps=25, schedule="linear", lr=1.0, warmup_steps=5, final_lr=0.2)
    assert got == pytest.approx([1.0, 0.8, 0.6, 0.2, 0.2])


@pytest.mark.parametrize(
    ("time_spent", "expected"),
    # Steps 10, 25 and 40 of 40 are 0, 1/2 and 1 of what follows the warm-up of 10.
    [(0.0, [1.0, 0.5, 0.0]), (1 / 3, [0.75, 0.5, 0.0]), (2 / 3, [0.25, 0.25, 0.0]), (1.0, [0.0, 0.0, 0.0])],
)
def test_a_decay_is_as_far_as_the_further_of_steps_and_clock(time_spent, expected):
    settings = {"schedule": "cosine", "lr": 1.0, "warmup_steps": 10}
    assert rates([10, 25, 40], total_steps=40, time_spent=time_spent, **settings) == pytest.approx(expected)
    only_clock = rates([10, 25, 40], total_steps=0, time_spent=time_spent, **settings)
    assert only_clock == pytest.approx([(1 + math.cos(math.pi * time_spent)) / 2] * 3)


def test_a_short_time_cuts_warm_up_short():
    settings = {"schedule": "linear", "lr": 1.0, "warmup_steps": 100, "final_lr": 0.1}
    assert rates([10, 60], total_steps=0, time_spent=0.5, **settings) == pytest.approx([0.1, 0.55])
    assert rates([10, 60], total_steps=0, time_spent=1.01, **settings) == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "constant"])
def test_what_has_no_end_ignores_the_clock(schedule):
    settings = {"schedule": schedule, "lr": 0.3, "warmup_steps": 4}
    assert rates([2, 4, 50], time_spent=0.9, **settings) == rates([2, 4, 50], **settings)


def test_constant_stays():
    assert rates([4, 5, 10**6], schedule="constant", lr=0.3, warmup_steps=4) == [0.3, 0.3, 0.3]


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "linear", "constant"])
@pytest.mark.parametrize("warmup", [0, 1])
def test_every_step_has_a_rate_between_0_and_the_highest(schedule, warmup):
    got = rates(range(1, 201), total_steps=200, schedule=schedule, lr=0.5, warmup_steps=warmup)
    assert all(0 <= rate <= 0.5 and math.isfinite(rate) for rate in got)
