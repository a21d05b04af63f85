"""Loss curves as runs have them, and what the watch says of them. Losses are in nats per token, of 8,000 pieces."""

import math
import random
from collections.abc import Callable

import pytest

from seq2seq.training.divergence import LossWatch

V = 8000
WINDOW, MOST_BAD = LossWatch.window, LossWatch.most_bad
Curve = Callable[[int], float]


def found_at(curve: Curve, n_steps: int, noise: float = 0.3, seed: int = 0, vocab_size: int = V) -> int | None:
    """The step after which a divergence is found; None if there is none."""
    watch, rng = LossWatch(vocab_size), random.Random(seed)
    for step in range(1, n_steps + 1):
        watch.see(step, max(0.0, curve(step) + rng.gauss(0, noise)))
        if watch.has_diverged:
            return step
    return None


def learning(step: int) -> float:
    """As in a run on Multi30k: 9.3 at the start, 3.5 after 200 steps, 1.5 after 1,000."""
    return 1.1 + 8.2 / (1 + step / 85)


NORMAL: dict[str, tuple[Curve, float]] = {
    "small batches": (learning, 1.0),
    "a slow warm-up": (lambda step: 9.6 - min(step, 4000) / 1000, 0.3),
    "an epoch that sees its text again": (lambda step: learning(step) - 0.3 * (step // 500) / 10, 0.3),
    "short sentences before long ones": (lambda step: learning(step) + 1.2 * (step % 2000) / 2000, 0.3),
    "a spike that comes back": (lambda step: learning(step) + 7 * math.exp(-(step % 1500) / 60) * (step > 1500), 0.3),
    "fine-tuning that forgets at its highest rate": (
        lambda step: 1.5 + 1.6 * math.exp(-((step - 1000) ** 2) / 3e5),
        0.3,
    ),
    "fine-tuning that was sure of the wrong words": (lambda step: 3 + 11 * math.exp(-step / 800), 1.0),
    "text learned by heart": (lambda step: 0.02 + 0.5 * (step % 700 < 200), 0.05),
    "nothing is learned": (lambda step: math.log(V), 1.0),
}


@pytest.mark.parametrize("name", NORMAL)
def test_normal_training_is_no_divergence(name: str) -> None:
    curve, noise = NORMAL[name]
    assert [found_at(curve, 6000, noise, seed) for seed in range(3)] == [None] * 3


@pytest.mark.parametrize("begins", [250, 1000, 1234])
@pytest.mark.parametrize("level", [6.5, 9.0, 40.0])
def test_a_loss_that_does_not_come_back_is_found_within_six_windows(begins: int, level: float) -> None:
    step = found_at(lambda step: learning(step) if step < begins else level, 6000, noise=0.5)
    assert step is not None and begins + (MOST_BAD - 1) * WINDOW <= step <= begins + (MOST_BAD + 1) * WINDOW


def test_a_run_that_explodes_with_its_first_steps_is_found() -> None:
    assert found_at(lambda step: 9.3 if step < 4 else 25.0, 1000) == MOST_BAD * WINDOW


def test_a_slow_decline_of_a_run_is_found() -> None:
    step = found_at(lambda step: learning(step) + max(0, step - 2000) / 1000, 9000)
    assert step is not None and 3500 < step < 4700


def test_states_are_trusted_once_a_good_window_came_after_them() -> None:
    watch = LossWatch(V)
    trusted = []
    for step in range(1, 6 * WINDOW + 1):
        watch.see(step, 9.0 if 3 * WINDOW < step <= 4 * WINDOW else 3.0)
        trusted.append(watch.trusted)
    assert [trusted[n * WINDOW - 1] // WINDOW for n in range(1, 7)] == [0, 1, 2, 2, 4, 5]
    assert trusted[2 * WINDOW - 2] == 0


def test_a_watch_that_is_saved_and_loaded_goes_on() -> None:
    watch, other = LossWatch(V), LossWatch(V)
    for step in range(1, 40 * WINDOW):
        watch.see(step, 2.0 if step < 32.5 * WINDOW else 7.0)
        other.see(step, 2.0 if step < 32.5 * WINDOW else 7.0)
        if step % 7 == 0:
            state = other.state_dict()
            other = LossWatch(V)
            other.load_state_dict(state)
        assert other.state_dict() == watch.state_dict()
    assert watch.has_diverged and other.has_diverged


def test_after_going_back_the_loss_of_that_state_counts() -> None:
    """It may be far above the lowest one, and take long to come down again with a lower rate."""
    watch = LossWatch(V)
    for step in range(1, 3 * WINDOW + 1):
        watch.see(step, 6.0)
    back = watch.state_dict()
    for step in range(3 * WINDOW + 1, 15 * WINDOW + 1):
        watch.see(step, 2.0 if step <= 10 * WINDOW else 8.0)
    assert watch.has_diverged
    watch.go_back(back)
    for step in range(15 * WINDOW + 1, 25 * WINDOW + 1):
        watch.see(step, 6.0)
        assert not watch.is_worried
