import pytest

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


@pytest.mark.parametrize(
    ("n_src", "a", "b", "max_length", "n_forced", "expected"),
    [
        (5, 2.0, 10, 100, 0, 20),
        (5, 1.1, 0, 100, 0, 5),  # rounded down
        (50, 2.0, 10, 64, 0, 64),  # the model's own limit
        (1, 0.2, 0, 100, 0, 1),  # never less than one token
        (3, 2.0, 1, 100, 3, 7),  # longer than a prefix of 3
        (3, 2.0, 1, 100, 7, 8),  # one token can follow it
        (3, 2.0, 1, 7, 7, 7),
    ],
)
def test_the_limit_is_a_line_within_what_the_model_can_do(
    n_src: int, a: float, b: int, max_length: int, n_forced: int, expected: int
) -> None:
    assert length_limit(n_src, DecodingConfig(max_length_a=a, max_length_b=b), max_length, n_forced) == expected


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
