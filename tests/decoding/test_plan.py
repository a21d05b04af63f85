from collections import Counter
from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.plan import plan_batches
from seq2seq.decoding.rounding import round_up


@given(lengths=st.lists(st.integers(0, 40)), max_batch_tokens=st.integers(1, 400), beam_size=st.integers(1, 5))
def test_batches_hold_every_source_once_within_the_budget(
    lengths: list[int], max_batch_tokens: int, beam_size: int
) -> None:
    config = DecodingConfig(beam_size=beam_size, max_batch_tokens=max_batch_tokens)
    batches = list(plan_batches(lengths, config))
    assert Counter(chain.from_iterable(batches)) == Counter(i for i, n in enumerate(lengths) if n)

    def cost(batch: list[int]) -> int:
        return len(batch) * (max(lengths[i] for i in batch) + 1) * beam_size

    assert all(len(batch) == 1 or cost(batch) <= max_batch_tokens for batch in batches)
    for batch, following in pairwise(batches):
        more = round_up(len(batch) + 1) - len(batch)  # no batch could have been a size larger
        assert len(following) < more or cost([*batch, *following[:more]]) > max_batch_tokens
