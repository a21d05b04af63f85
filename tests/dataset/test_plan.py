"""The plan of an epoch, compared with a plain one (plain_plan.py), and what must hold for every plan."""

import hashlib
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.dataset import plan as plan_module
from seq2seq.dataset.plan import Plan, plan_epoch
from seq2seq.errors import ConfigError
from tests.dataset.plain_plan import plain_plan


def rows_of(plan: Plan):
    return [rows.numbers.tolist() for rows in plan]


def some_lengths(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 12, n), rng.integers(1, 12, n)


def plan(lengths, **changes):
    return plan_epoch(lengths[0], lengths[1], **{"max_tokens": 40, "seed": 3, "epoch": 0, **changes})


@st.composite
def arguments(draw):
    """Lengths of both sides, also some that need two bytes, and a budget that is just enough or ample."""
    longest, n = draw(st.sampled_from([0, 1, 5, 30, 255, 256, 70_000])), draw(st.integers(1, 300))
    src, tgt = np.random.default_rng(draw(st.integers(0, 999))).integers(0, longest + 1, (2, n))
    least = int(max(src.max(), tgt.max())) + 1
    return (src, tgt), {
        "max_tokens": draw(st.integers(least, least * draw(st.sampled_from([1, 4, 100])))),
        "seed": draw(st.integers(0, 9)),
        "epoch": draw(st.integers(0, 9)),
        "world_size": draw(st.integers(1, min(5, len(src)))),
    }


@given(arguments())
def test_a_plan_has_the_batches_of_the_plain_one(case):
    lengths, rest = case
    try:
        expected = plain_plan(*lengths, **rest)
    except ValueError:
        with pytest.raises(ConfigError, match="do not share out"):
            plan_epoch(*lengths, **rest)
        return
    assert rows_of(plan_epoch(*lengths, **rest)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 70, 900, 10_000])
def test_a_large_plan_has_the_batches_of_the_plain_one(block, monkeypatch):
    """Batches of more than 64 pairs, batches that span several lengths, both in turn, and a single batch."""
    monkeypatch.setattr(plan_module, "BLOCK", block)
    rng = np.random.default_rng(1)
    tgt = np.clip(rng.lognormal(2.5, 0.8, 4003).astype(int), 1, 300)
    src = np.clip((tgt * rng.normal(1.1, 0.3, len(tgt))).astype(int), 1, 300)
    for max_tokens, world_size in ((301, 1), (2000, 3), (9000, 2), (10**7, 1)):
        rest: dict[str, Any] = {"max_tokens": max_tokens, "seed": 5, "epoch": 2, "world_size": world_size}
        assert rows_of(plan_epoch(src, tgt, **rest)) == plain_plan(src, tgt, **rest)


def test_a_plan_is_that_of_older_versions():
    """So a run that one of them began goes on with the very next batch."""
    batches = rows_of(plan(some_lengths(500), max_tokens=90, epoch=4, world_size=3))
    assert len(batches) == 57
    assert hashlib.sha256(str(batches).encode()).hexdigest()[:16] == "94bc43e8384c04c7"


def test_a_plan_knows_the_longest_sides_of_its_batches():
    src, tgt = lengths = some_lengths(300)
    whole = plan(lengths, world_size=3)
    expected = [[int(side[rows.numbers].max()) for side in (src, tgt)] for rows in whole]
    assert whole.longest.tolist() == [list(rows[1:]) for rows in whole] == expected
    assert whole[2::3].longest.tolist() == expected[2::3]


def test_rows_are_sorted_in_place_and_equal_ones_keep_their_order(monkeypatch):
    monkeypatch.setattr(plan_module, "BLOCK", 64)
    rng = np.random.default_rng(0)
    minor, major = rng.integers(0, 5, (2, 500)).astype(np.uint8)
    rows = rng.permutation(500).astype(np.int32)
    expected = sorted(rows.tolist(), key=lambda row: (major[row], minor[row]))
    plan_module.sort_by(rows, minor, major)
    assert rows.tolist() == expected


@pytest.mark.parametrize("lengths", [some_lengths(300_000), np.full((2, 300_000), 9)])
def test_to_make_a_plan_takes_twice_its_memory_and_little_more(lengths, monkeypatch):
    """Also where all pairs have one length."""
    monkeypatch.setattr(plan_module, "BLOCK", 10_000)
    src, tgt = (side.astype(np.uint8) for side in lengths)
    tracemalloc.start()
    try:
        plan((src, tgt), max_tokens=3000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 11 * 300_000  # two arrays of rows, lengths of one byte, and blocks


many_lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=8, max_size=120)


@given(many_lengths, st.integers(62, 300), st.integers(1, 3), st.integers(0, 40))
def test_a_plan_has_as_many_batches_as_it_is_asked_for_if_it_needs_no_more(pairs, max_tokens, world_size, n_more):
    src, tgt = (np.array(side) for side in zip(*pairs, strict=True))
    rest = {"max_tokens": max_tokens, "seed": 7, "epoch": 1, "world_size": world_size}
    needed = len(plan_epoch(src, tgt, **rest))
    n_batches = min(needed + n_more * world_size, len(pairs) // world_size * world_size)
    batches = rows_of(plan_epoch(src, tgt, n_batches=n_batches, **rest))
    assert len(batches) == n_batches
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    assert all(len(rows) * (max(src[rows].max(), tgt[rows].max()) + 1) <= max_tokens for rows in batches)
    assert len(plan_epoch(src, tgt, n_batches=world_size, **rest)) == needed


@given(many_lengths, st.integers(62, 300), st.integers(1, 3))
def test_each_epoch_has_as_many_batches_and_a_reserve_never_more_than_the_rows_give(pairs, max_tokens, world_size):
    src, tgt = (np.array(side) for side in zip(*pairs, strict=True))
    rest = {"max_tokens": max_tokens, "seed": 7, "world_size": world_size}
    needed, reserved = (
        {len(plan_epoch(src, tgt, epoch=epoch, reserve=reserve, **rest)) for epoch in range(3)}
        for reserve in (False, True)
    )
    assert len(needed) == len(reserved) == 1
    assert needed.pop() <= reserved.pop() <= len(pairs)


def test_the_reserve_worked_out_by_hand():
    src = np.full(400, 9)
    assert len(plan((src, src))) == 100  # 4 rows of 10 tokens
    assert len(plan((src, src), reserve=True)) == 111  # one, and 2 x 100 / 20, more
    assert len(plan((src, src), world_size=2, reserve=True)) == 112


def test_a_plan_is_a_function_of_its_arguments():
    lengths = some_lengths(200)
    flat = rows_of(plan(lengths))
    np.random.seed(99)
    assert rows_of(plan(lengths)) == flat
    for changes in ({"epoch": 1}, {"seed": 4}):
        other = rows_of(plan(lengths, **changes))
        assert other != flat and len(other) == len(flat)


def realistic_lengths():
    rng = np.random.default_rng(0)
    tgt = np.clip(rng.lognormal(2.7, 0.5, 20_000).astype(int), 1, 200)  # 15 tokens at the median, 34 at 95%
    return np.clip((tgt * rng.normal(1.1, 0.15, len(tgt))).astype(int), 1, 200), tgt


def test_realistic_lengths_leave_little_padding():
    src, tgt = realistic_lengths()
    batches = rows_of(plan((src, tgt), max_tokens=4096))
    cells = sum(len(rows) * (side[rows].max() + 1) for rows in batches for side in (src, tgt))
    assert 1 - (src + 1).sum() / cells - (tgt + 1).sum() / cells < 0.08
    tgt_cells = sum(len(rows) * (tgt[rows].max() + 1) for rows in batches)
    assert 1 - (tgt + 1).sum() / tgt_cells < 0.03


def test_too_few_pairs_for_the_ranks_are_refused():
    with pytest.raises(ConfigError, match=r"2 training pairs cannot feed 3 processes; lower trainer\.devices"):
        plan(some_lengths(2), world_size=3)
    with pytest.raises(ConfigError, match="3 batches of one pair do not share out over 2 processes"):
        plan(np.full((2, 3), 30), world_size=2)


def test_a_sentence_beyond_the_budget_is_refused():
    with pytest.raises(ConfigError, match=r"batch\.max_tokens=40 cannot hold a sentence of 41 tokens"):
        plan(np.array([[3, 40], [3, 4]]))
