"""Which sentences are decoded together in one batch."""

from collections.abc import Iterator, Sequence

from seq2seq.config import DecodingConfig
from seq2seq.decoding.rounding import round_down


def plan_batches(lengths: Sequence[int], config: DecodingConfig) -> Iterator[list[int]]:
    """Indices of the sources decoded together, longest first. Sources without tokens are in no batch.

    The longest come first so that running out of memory happens at once. The size of a batch is

        sentences * (tokens of the longest source, eos counted) * hypotheses of a sentence <= max_batch_tokens

    but each batch has at least one sentence. The number of sentences is one that `round_down` gives, except that the
    last batch takes what is left.
    """
    by_length = sorted((i for i, n in enumerate(lengths) if n), key=lambda i: -lengths[i])
    begin = 0
    while begin < len(by_length):
        cost = (lengths[by_length[begin]] + 1) * n_hypotheses(config)
        end = begin + round_down(max(1, config.max_batch_tokens // cost))
        yield by_length[begin:end]
        begin = end


def n_hypotheses(config: DecodingConfig) -> int:
    """How many hypotheses of a sentence are searched side by side."""
    return config.n_best if config.sampling else config.beam_size
