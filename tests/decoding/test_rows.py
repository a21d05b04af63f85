from hypothesis import given
from hypothesis import strategies as st

from seq2seq.decoding.rounding import round_up
from seq2seq.decoding.rows import Rows


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
        if (staying := rows.shrink()) is not None:
            assert staying == sorted(set(staying))
            assert len(staying) == round_up(n_open) < len(batch)
            batch = [batch[row] for row in staying]
        assert len(batch) <= max(round_up(n_open), n_open)
        assert {i for i, end in enumerate(ends) if end > step} <= set(batch)
    assert sorted(reported) == list(range(len(ends)))


def test_a_sentence_that_stays_to_fill_the_batch_is_not_reported_again() -> None:
    rows = Rows(12)
    assert rows.newly_done([True] * 3 + [False] * 9) == [(0, 0), (1, 1), (2, 2)]
    assert rows.shrink() == [0, *range(3, 12)]  # 9 are open, and batches have 10 rows
    assert rows.newly_done([True] * 10) == [(row, row + 2) for row in range(1, 10)]
    assert rows.all_done
