import functools

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import pad_sources, search

from . import reference
from .toy import ToyModel

SOURCES = ((4, 5, 6), (5,), (6, 6, 4, 5, 4), (4, 4))


@given(
    seed=st.integers(0, 10**6),
    eos_bonus=st.sampled_from([-4.0, 0.0, 2.0, 6.0]),
    max_length=st.sampled_from([7, 50]),
)
def test_a_beam_of_1_takes_the_most_probable_token_each_time(seed: int, eos_bonus: float, max_length: int) -> None:
    model = ToyModel(seed, n_ids=12, eos_bonus=eos_bonus)
    config = DecodingConfig(beam_size=1, alpha=0.7, max_length_a=1.0, max_length_b=3)
    found = search(model, pad_sources(SOURCES, 100), config, max_length)
    limits = [min(len(source) + 3, max_length) for source in SOURCES]
    for source, limit, hypotheses in zip(SOURCES, limits, found, strict=True):
        next_log_probs = functools.partial(model.next_log_probs, source)
        expected = reference.greedy_search(next_log_probs, limit, "length", alpha=0.7)
        reference.assert_same(hypotheses, [expected])
    longest = max(len(hypothesis.tokens) + hypothesis.finished for (hypothesis,) in found)
    assert model.n_steps == longest
    assert model.n_announced == max(limits)
