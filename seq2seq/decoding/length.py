"""The rules about length in a search: what divides a log-probability, and how long a hypothesis may and must be.

They are integers and floats, so that every engine can use them.
"""

from seq2seq.config import DecodingConfig


def length_penalty(n_tokens: int, normalization: str, alpha: float) -> float:
    """Divisor that keeps a search from preferring short hypotheses.

    none:    1
    length:  n ** alpha
    gnmt:    ((5 + n) / 6) ** alpha        (Wu et al. 2016, section 7; Vaswani et al. 2017 take alpha = 0.6)

    None of them falls as n grows. The stopping rule of `beam.py` relies on it.

    Args:
        n_tokens: of the hypothesis, `eos` counted and `bos` not; at least 1.
        normalization: one of the names above.
        alpha: at least 0; 0 makes all three equal.
    Returns:
        What to divide a hypothesis's summed log-probability (nats) by.
    Raises:
        ValueError: a length below 1, an alpha below 0, or a name that is none of the three.
    """
    if n_tokens < 1 or alpha < 0:
        raise ValueError(f"expected n_tokens >= 1 and alpha >= 0, found {n_tokens} and {alpha}")
    if normalization == "none":
        return 1.0
    if normalization == "length":
        return float(n_tokens**alpha)
    if normalization == "gnmt":
        return float(((5 + n_tokens) / 6) ** alpha)
    raise ValueError(f"normalization={normalization!r} is not one of none, length, gnmt")


def length_limit(n_src: int, config: DecodingConfig, max_length: int, n_forced: int = 0) -> int:
    """Most tokens that a hypothesis may have, `eos` counted: a * n_src + b, within what the model can do.

    A forced prefix and required phrases raise the limit, so that there is room for them and for one more token.

    Args:
        n_src: source tokens, `eos` not counted.
        max_length: the model's own limit, in decoder steps; at least 1.
        n_forced: tokens of the prefix and of the phrases that the hypothesis must have.
    Returns:
        At least 1.
    """
    return min(max(int(config.max_length_a * n_src + config.max_length_b), n_forced + 1), max_length)


def min_length(n_src: int, config: DecodingConfig, limit: int) -> int:
    """Fewest tokens that a hypothesis must have, `eos` not counted: a * n_src + b, at least 1.

    Args:
        n_src: source tokens, `eos` not counted.
        limit: what `length_limit` gives for the same source. The result is not above it.
    """
    return min(max(int(config.min_length_a * n_src + config.min_length_b), 1), limit)
