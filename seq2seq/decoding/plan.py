"""Which sentences are decoded together in one batch."""

from collections.abc import Iterator, Sequence

from seq2seq.config import DecodingConfig
from seq2seq.decoding.rounding import round_down

_SHARE = 1 / 2  # of what is left at the end of a text, in a batch
_SMALLEST = 1 / 8  # of a full batch: smaller ones cost more than they share out


def plan_batches(lengths: Sequence[int], config: DecodingConfig, *, is_split: bool = False) -> Iterator[list[int]]:
    """Indices of the sources decoded together, longest first. Sources without tokens are in no batch.

    The longest come first so that running out of memory happens at once. The size of a batch is

        sentences * (tokens of the longest source, eos counted) * hypotheses of a sentence <= max_batch_tokens

    but each batch has at least one sentence. The number of sentences is one that `round_down` gives, except that the
    last batch takes what is left.

    Args:
        is_split: make the last batches smaller and smaller, so that workers that share them end at about the same time.
    """
    by_length = sorted((i for i, n in enumerate(lengths) if n), key=lambda i: -lengths[i])
    n_left = sum(lengths[i] + 1 for i in by_length) * n_hypotheses(config)
    begin = 0
    while begin < len(by_length):
        budget = config.max_batch_tokens
        if is_split:
            budget = min(budget, max(int(n_left * _SHARE), int(budget * _SMALLEST)))
        cost = (lengths[by_length[begin]] + 1) * n_hypotheses(config)
        end = begin + round_down(max(1, budget // cost))
        yield by_length[begin:end]
        n_left -= sum(lengths[i] + 1 for i in by_length[begin:end]) * n_hypotheses(config)
        begin = end


def n_hypotheses(config: DecodingConfig) -> int:
    """How many hypotheses of a sentence are searched side by side."""
    return config.n_best if config.sampling else config.beam_size
