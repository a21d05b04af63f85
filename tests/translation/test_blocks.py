"""A text in blocks: the same cuts for whoever reads it, from wherever."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.blocks import Placed, block_size, placed
from seq2seq.translation.sharing import plan
from seq2seq.translation.sharing.plan import Part, cut

LINES = st.lists(st.text("ab ", max_size=9), max_size=40)
SIZES = st.sampled_from([0, 1, 2, 7, 30, 1000])


def cut_into_blocks(lines: list[str], size: int) -> list[Placed[str]]:
    return list(placed(lines, size, lambda line: len(line) + 1, lambda line: len(line) % 3))


@given(lines=LINES, size=SIZES)
def test_each_line_is_in_one_block_in_its_order(lines: list[str], size: int) -> None:
    found = cut_into_blocks(lines, size)
    assert [each.unit for each in found] == lines
    assert [each.number for each in found] == [*range(len(lines))]
    assert [each.first_text for each in found] == [*accumulate((len(line) % 3 or 1 for line in lines), initial=0)][:-1]
    assert all(after.block - before.block == before.ends_block for before, after in pairwise(found))
    lengths: dict[int, list[int]] = {}
    for each in found:
        lengths.setdefault(each.block, []).append(len(each.unit) + 1)
    if size:  # each block is as short as it can be, and only the last one is shorter than asked
        assert all(sum(block) - block[-1] < size for block in lengths.values())
        assert all(sum(block) >= size for block in [*lengths.values()][:-1])
    else:
        assert len(lengths) <= 1 and not any(each.ends_block for each in found)


@given(lines=LINES, size=SIZES)
def test_who_begins_at_a_block_cuts_as_who_begins_at_the_text(lines: list[str], size: int) -> None:
    whole = cut_into_blocks(lines, size)
    for before, first in pairwise(whole):
        if before.ends_block:
            ends = [each.ends_block for each in cut_into_blocks(lines[first.number :], size)]
            assert ends == [each.ends_block for each in whole[first.number :]]


@given(lines=LINES, size=SIZES, small=st.integers(0, 3), doubled=st.integers(1, 2))
def test_parts_are_runs_of_whole_blocks_that_have_each_line_once(
    lines: list[str], size: int, small: int, doubled: int
) -> None:
    before = plan._SMALL_PARTS, plan._DOUBLED_EVERY
    plan._SMALL_PARTS, plan._DOUBLED_EVERY = small, doubled
    try:
        units = cut_into_blocks(lines, size)
        parts, whole, n_blocks, n_texts = cut(units, str)
    finally:
        plan._SMALL_PARTS, plan._DOUBLED_EVERY = before
    assert parts and sum(part.n_units for part in parts) == whole.n_units == len(lines)
    assert n_blocks == (units[-1].block + 1 if units else 0)
    assert n_texts == (units[-1].first_text + 1 if units else 0)
    ends = list(accumulate(part.n_units for part in parts))
    assert all(units[end - 1].ends_block for end in ends[:-1])
    assert all(part.n_units for part in parts) or not lines
    for begin, end, part in zip([0, *ends], ends, parts, strict=False):
        ((alone,), *_) = cut(cut_into_blocks(lines[begin:end], 0), str)
        assert alone.source_sha256 == part.source_sha256


def test_later_parts_of_a_long_text_have_more_blocks() -> None:
    assert [plan._n_blocks_of(index) for index in (0, 2047, 2048, 2559, 2560, 3071, 3072)] == [1, 1, 2, 2, 4, 4, 8]
    assert sum(map(plan._n_blocks_of, range(6000))) * 100_000 > 20e9  # characters in 6,000 parts


def test_lines_that_go_with_the_text_have_their_own_digest() -> None:
    units = cut_into_blocks(["a", "b", "c"], 4)
    (first, second), whole, *_ = cut(units, str, iter(["x", "y", "z"]))
    ((other,), *_) = cut(cut_into_blocks(["x", "y", "z"], 0), str)
    assert (first.n_units, second.n_units) == (2, 1)
    assert whole.parallel_sha256 == other.source_sha256
    assert isinstance(first, Part) and first.parallel_sha256 != second.parallel_sha256


def test_a_block_has_text_for_some_batches() -> None:
    assert block_size(8192, 5) == 117_964
    assert block_size(1, 1000) == 1
