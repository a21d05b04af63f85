import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding import length_limit, length_penalty, min_length


@pytest.mark.parametrize(
    ("n_tokens", "normalization", "alpha", "expected"),
    [
        (9, "none", 0.6, 1.0),
        (9, "length", 0.5, 3.0),
        (7, "length", 1.0, 7.0),
        (1, "gnmt", 0.6, 1.0),  # (5 + 1) / 6 = 1
        (7, "gnmt", 1.0, 2.0),
        (19, "gnmt", 0.5, 2.0),
    ],
)
def test_penalties_match_their_formulas_by_hand(
    n_tokens: int, normalization: str, alpha: float, expected: float
) -> None:
    assert length_penalty(n_tokens, normalization, alpha) == pytest.approx(expected)


@given(
    n_tokens=st.integers(1, 500),
    normalization=st.sampled_from(["none", "length", "gnmt"]),
    alpha=st.floats(0, 3),
)
def test_no_penalty_falls_as_a_hypothesis_grows(n_tokens: int, normalization: str, alpha: float) -> None:
    assert length_penalty(n_tokens, normalization, alpha) <= length_penalty(n_tokens + 1, normalization, alpha)


@pytest.mark.parametrize(
    ("n_src", "a", "b", "max_length", "expected"),
    [
        (5, 2.0, 10, 100, 20),
        (5, 1.1, 0, 100, 5),  # rounded down
        (50, 2.0, 10, 64, 64),  # the model's own limit
        (1, 0.2, 0, 100, 1),  # never less than one token
    ],
)
def test_the_limit_is_a_line_within_what_the_model_can_do(
    n_src: int, a: float, b: int, max_length: int, expected: int
) -> None:
    assert length_limit(n_src, DecodingConfig(max_length_a=a, max_length_b=b), max_length) == expected


@pytest.mark.parametrize(
    ("n_prefix", "max_length", "expected"),
    [
        (3, 100, 7),  # 2 * 3 + 1, longer than the prefix
        (7, 100, 8),  # one token can follow
        (7, 7, 7),  # the model's own limit
    ],
)
def test_a_prefix_raises_the_limit_by_what_it_needs(n_prefix: int, max_length: int, expected: int) -> None:
    assert length_limit(3, DecodingConfig(max_length_a=2.0, max_length_b=1), max_length, n_prefix) == expected


@pytest.mark.parametrize(
    ("n_src", "a", "b", "limit", "expected"),
    [
        (5, 0.5, 2, 100, 4),  # rounded down
        (5, 0.0, 0, 100, 1),  # never less than one token
        (50, 0.5, 2, 9, 9),  # never more than the limit
    ],
)
def test_the_least_length_is_a_line_within_the_limit(n_src: int, a: float, b: int, limit: int, expected: int) -> None:
    assert min_length(n_src, DecodingConfig(min_length_a=a, min_length_b=b), limit) == expected
