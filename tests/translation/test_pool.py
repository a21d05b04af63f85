from hypothesis import given
from hypothesis import strategies as st

from seq2seq.decoding.rounding import round_down
from seq2seq.translation.pool import FULL_BATCHES, Pool

lengths = st.lists(st.integers(1, 40), min_size=1, max_size=60)


def filled(lengths: list[int], max_batch_tokens: int, n_hypotheses: int = 1) -> Pool[int]:
    pool: Pool[int] = Pool(max_batch_tokens, n_hypotheses)
    for key, length in enumerate(lengths):
        pool.add(key, length - 1)  # eos counts
    return pool


def test_the_oldest_goes_with_its_neighbours_in_length() -> None:
    pool = filled([10, 3, 11, 30, 9, 2], max_batch_tokens=33)
    assert pool.take() == [2, 0, 4]  # 11 * 3 = 33 tokens, longest first
    assert pool.oldest == 1
    assert pool.take() == [1, 5]  # with 30 they would be 90
    assert pool.take() == [3]
    assert len(pool) == 0


def test_a_sentence_beyond_the_size_of_a_batch_goes_alone() -> None:
    pool = filled([50, 50, 2], max_batch_tokens=20)
    assert [pool.take() for _ in range(3)] == [[0], [1], [2]]


def test_hypotheses_count() -> None:
    assert len(filled([10] * 9, max_batch_tokens=100, n_hypotheses=5).take()) == 2


@given(lengths, st.integers(1, 200), st.integers(1, 5), st.integers(0, 4))
def test_each_sentence_leaves_once_in_a_batch_that_fits(
    lengths: list[int], max_batch_tokens: int, n_hypotheses: int, n_sharing: int
) -> None:
    pool = filled(lengths, max_batch_tokens, n_hypotheses)
    batches = []
    while pool:
        oldest = pool.oldest
        batches.append(pool.take(n_sharing))
        assert oldest in batches[-1]
        assert len(pool) == len(lengths) - sum(map(len, batches))
    assert sorted(key for batch in batches for key in batch) == list(range(len(lengths)))
    for batch in batches:
        found = [lengths[key] for key in batch]
        assert found == sorted(found, reverse=True)
        assert len(batch) == 1 or len(batch) * found[0] * n_hypotheses <= max_batch_tokens
        assert len(batch) == round_down(len(batch)) or batch is batches[-1]


def test_at_the_end_the_workers_share_what_is_left() -> None:
    assert len(filled([10] * 16, max_batch_tokens=160).take()) == 16
    pool = filled([10] * 16, max_batch_tokens=160)
    sizes = []
    while len(pool) > 0:
        sizes.append(len(pool.take(n_sharing=2)))
    assert sizes[0] == 8 and sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= 2  # an eighth of a full batch


def test_a_pool_is_full_with_enough_for_many_batches() -> None:
    assert [filled([10] * n, max_batch_tokens=100).is_full for n in (0, FULL_BATCHES * 10 - 1, FULL_BATCHES * 10)] == [
        False, False, True
    ]  # fmt: skip
    pool = filled([10] * (FULL_BATCHES * 10), max_batch_tokens=100)
    pool.take()
    assert not pool.is_full
