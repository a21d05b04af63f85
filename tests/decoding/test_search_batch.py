"""Which sentences are searched together, and which of them are still open."""

from collections import Counter
from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Rows, plan_batches, round_down, round_up


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


def test_rounded_sizes_by_hand() -> None:
    sizes = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
    assert sorted({round_up(n) for n in range(1, 41)}) == sizes
    assert sorted({round_down(n) for n in range(1, 41)}) == sizes
    assert (round_up(17), round_down(19), round_up(129), round_down(159)) == (20, 16, 160, 128)


@given(n=st.integers(1, 10**6))
def test_rounding_keeps_three_bits_and_is_never_far_off(n: int) -> None:
    for rounded in (round_up(n), round_down(n)):
        assert len(f"{rounded:b}".rstrip("0")) <= 3
        assert round_up(rounded) == round_down(rounded) == rounded
    assert round_down(n) <= n <= round_up(n) <= 1.25 * n
    assert round_down(n) > 0.8 * n
    assert round_up(n) <= round_up(n + 1) and round_down(n) <= round_down(n + 1)


@given(ends=st.lists(st.integers(0, 12), min_size=1, max_size=60), data=st.data())
def test_each_sentence_is_reported_once_and_stays_until_then(ends: list[int], data: st.DataObject) -> None:
    """ends: the step in which each sentence is done; a row that is done already may say so or not."""
    rows = Rows(len(ends))
    batch = list(range(len(ends)))  # which sentence each row is, kept apart from what `Rows` keeps
    reported: list[int] = []
    for step in range(13):
        is_done = [ends[i] == step or (ends[i] < step and data.draw(st.booleans())) for i in batch]
        newly_done = rows.newly_done(is_done)
        assert [batch[row] for row, _ in newly_done] == [sentence for _, sentence in newly_done]
        reported += [sentence for _, sentence in newly_done]
        n_open = sum(end > step for end in ends)
        assert rows.all_done == (n_open == 0)
        if rows.all_done:
            break
        if (staying := rows.drop_done()) is not None:
            assert staying == sorted(set(staying))
            assert len(staying) == round_up(n_open) < len(batch)
            batch = [batch[row] for row in staying]
        assert len(batch) <= max(round_up(n_open), n_open)
        assert {i for i, end in enumerate(ends) if end > step} <= set(batch)
    assert sorted(reported) == list(range(len(ends)))


def test_a_sentence_that_stays_to_fill_the_batch_is_not_reported_again() -> None:
    rows = Rows(12)
    assert rows.newly_done([True] * 3 + [False] * 9) == [(0, 0), (1, 1), (2, 2)]
    assert rows.drop_done() == [0, *range(3, 12)]  # 9 are open, and batches have 10 rows
    assert rows.newly_done([True] * 10) == [(row, row + 2) for row in range(1, 10)]
    assert rows.all_done
