"""How many steps the epochs of a run have, where they differ from stage to stage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import TrainerConfig
from seq2seq.training.epochs import Epochs

THREE = Epochs([5, 2, 9], [3, 4])  # 5 5 5 2 9 9 ...


@pytest.mark.parametrize(
    ("epochs", "limits", "steps"),
    [
        (Epochs([5]), {"max_steps": 7}, 7),
        (Epochs([5]), {"max_epochs": 3}, 15),
        (Epochs([5]), {"max_steps": 7, "max_epochs": 1}, 5),
        (Epochs([5]), {}, 0),
        (THREE, {"max_epochs": 2}, 10),
        (THREE, {"max_epochs": 4}, 17),
        (THREE, {"max_epochs": 6, "max_steps": 90}, 35),
        (THREE, {"max_steps": 16}, 16),
    ],
)
def test_the_steps_of_a_run_are_those_of_its_first_limit(epochs, limits, steps):
    assert epochs.total_steps(TrainerConfig(**limits)) == steps


@pytest.mark.parametrize(
    ("total_steps", "steps"), [(35, [15, 2, 18]), (16, [15, 1, 0]), (7, [7, 0, 0]), (0, [15, 2, 9])]
)
def test_the_steps_of_a_run_by_stage(total_steps, steps):
    assert THREE.steps_of_stages(total_steps) == steps
    assert Epochs([5]).steps_of_stages(7) == [7] and Epochs([5]).steps_of_stages(0) == [5]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=4), st.integers(0, 20))
def test_steps_add_up_epoch_by_epoch(stages, n_epochs):
    of_each = [n for n, length in stages[:-1] for _ in range(length)] + [stages[-1][0]] * 20
    ends = [sum(length for _, length in stages[:k]) for k in range(1, len(stages))]
    epochs = Epochs([n for n, _ in stages], ends)
    assert epochs.steps_until(n_epochs) == sum(of_each[:n_epochs])


def test_they_are_told_in_one_line():
    assert str(Epochs([1500])) == "1,500 an epoch"
    assert str(THREE) == "5 an epoch, 2 from epoch 4 on, 9 from epoch 5 on"
