import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.evaluation.holm import holm


def test_adjusted_p_values_are_those_by_hand() -> None:
    # Sorted: 0.005, 0.01, 0.03, 0.04. Times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; none is below the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02, 0.02]) == pytest.approx([0.04, 0.04])
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.001, 0.999))
def test_what_is_rejected_is_what_the_steps_of_holm_reject(p_values: list[float], level: float) -> None:
    """Holm's own rule has no adjusted values: take the smallest first, stop at one that is too large."""
    rejected = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if (len(p_values) - rank) * p_values[i] > level:
            break
        rejected.add(i)
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected
    assert all(p <= corrected <= 1 for p, corrected in zip(p_values, adjusted, strict=True))
