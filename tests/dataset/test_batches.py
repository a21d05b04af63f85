from itertools import islice, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import BatchConfig
from seq2seq.dataset.batches import BatchLoader, Position, collate, pad, valid_batches
from seq2seq.errors import ConfigError
from seq2seq.vocabulary import BOS, EOS, PAD
from tests.dataset.epochs import micro_batches, planned, sides, start_after


class Pairs:
    """Pairs whose tokens say which pair they are of."""

    def __init__(self, src_lengths, tgt_lengths):
        self.src_lengths = np.array(src_lengths, dtype=np.int32)
        self.tgt_lengths = np.array(tgt_lengths, dtype=np.int32)

    def __len__(self):
        return len(self.src_lengths)

    def src(self, index):
        return np.full(self.src_lengths[index], 10 + index)

    def tgt(self, index):
        return np.full(self.tgt_lengths[index], 10_000 + index)


def some_pairs(n, seed=0):
    rng = np.random.default_rng(seed)
    return Pairs(rng.integers(1, 12, n), rng.integers(1, 12, n))


def members(batch):
    return [row - 10 for row in batch.src[:, 0].tolist()]


def test_ranks_get_equally_many_batches_of_about_the_same_work():
    pairs = some_pairs(3000)
    loaders = [BatchLoader(pairs, BatchConfig(max_tokens=100), seed=1, rank=rank, world_size=3) for rank in range(3)]
    shares = [[rows.numbers for rows in planned(loader)] for loader in loaders]
    assert len({len(share) for share in shares}) == 1
    assert sorted(np.concatenate([*shares[0], *shares[1], *shares[2]]).tolist()) == list(range(3000))
    work = [[len(rows) * (pairs.tgt_lengths[rows].max() + 1) for rows in share] for share in shares]
    steps = np.array(work)  # (ranks, steps)
    assert np.median(steps.max(0) / steps.min(0)) < 1.3


def test_padding_frames_each_row():
    rows = [[7, 8, 9], [5], []]
    assert pad(rows, begin=BOS).tolist() == [[BOS, 7, 8, 9], [BOS, 5, PAD, PAD], [BOS, PAD, PAD, PAD]]
    assert pad(rows, end=EOS).tolist() == [[7, 8, 9, EOS], [5, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    batch = collate([[4, 5]], [[6, 7, 8]])
    assert (batch.src.tolist(), batch.tgt_in.tolist()) == ([[4, 5, EOS]], [[BOS, 6, 7, 8]])
    assert batch.tgt_out.tolist() == [[6, 7, 8, EOS]]
    assert all(tensor.dtype == torch.int64 for tensor in batch[:3])
    assert collate([[4], [5, 6]], [[6, 7, 8], []]).n_tgt_tokens == 5  # with an eos each


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_step_has_so_many_micro_batches_and_knows_its_target_tokens(accumulate):
    pairs = some_pairs(200)
    loader = BatchLoader(pairs, BatchConfig(max_tokens=60, accumulate=accumulate), seed=0)
    steps = list(loader)
    assert len(steps) == len(loader)
    sizes = [len(step.micro_batches) for step in steps]
    assert set(sizes[:-1]) == {accumulate}
    assert accumulate == 1 or 0 < sizes[-1] < accumulate  # the last step is a short one
    read = [[i for batch in step.micro_batches for i in members(batch)] for step in steps]
    assert sorted(i for each in read for i in each) == list(range(200))
    assert [step.n_tgt_tokens for step in steps] == [sum(int(pairs.tgt_lengths[i]) + 1 for i in each) for each in read]


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(1, 3))
def test_a_resumed_run_continues_with_the_very_next_step(n_done, accumulate):
    pairs, config = some_pairs(150), BatchConfig(max_tokens=60, accumulate=accumulate)
    unbroken = BatchLoader(pairs, config, seed=5)
    expected = [sides(step.micro_batches) for _ in range(3) for step in unbroken]
    stopped = BatchLoader(pairs, config, seed=5)
    while stopped.n_done < n_done:
        list(islice(stopped, n_done - stopped.n_done))
    assert stopped.position == Position(n_done, len(unbroken), 1, 1)
    for start in (stopped.position, start_after(n_done)):
        resumed = BatchLoader(pairs, config, seed=5, start=start)
        rest: list[list[list[list[int]]]] = []
        while n_done + len(rest) < len(expected):
            rest += [sides(step.micro_batches) for step in resumed]
        assert rest == expected[n_done:]


@pytest.mark.parametrize("n_done", [2, 0], ids=["mid-epoch", "end-of-epoch"])
def test_workers_change_nothing(n_done):
    pairs = some_pairs(100)
    alone = BatchLoader(pairs, BatchConfig(max_tokens=60, accumulate=2), seed=5)
    helped = BatchLoader(pairs, BatchConfig(max_tokens=60, accumulate=2, n_workers=2), seed=5)
    assert len(alone) > 3
    alone.n_done = helped.n_done = len(alone) + n_done
    before = torch.get_rng_state()
    assert sides(micro_batches(alone)) == sides(micro_batches(helped))
    assert torch.equal(torch.get_rng_state(), before)  # iterating draws nothing from the global generator


def steps_of(pairs, config, *, began, ranks, state=None, n_steps=1000, epoch=None):
    """The pairs of each optimizer step of the rest of an epoch, and the position after the last one."""
    start = state or start_after(0, began, began)
    loaders = [
        BatchLoader(pairs, config, seed=5, rank=r, world_size=ranks, start=start, epoch=epoch) for r in range(ranks)
    ]
    shares = zip(*(islice(loader, n_steps) for loader in loaders), strict=True)
    steps = [sorted(i for step in share for batch in step.micro_batches for i in members(batch)) for share in shares]
    assert len({loader.position for loader in loaders}) == 1
    return steps, loaders[0].position


@pytest.mark.parametrize(("began", "accumulate"), [(2, 1), (1, 4), (4, 3), (3, 2)])
def test_the_steps_of_a_run_are_the_same_whatever_the_number_of_processes_that_go_on(began, accumulate):
    pairs, config = some_pairs(150), BatchConfig(max_tokens=60, accumulate=accumulate)
    whole, end = steps_of(pairs, config, began=began, ranks=began)
    assert sorted(i for step in whole for i in step) == list(range(150))
    following, _ = steps_of(pairs, config, began=began, ranks=began, state=end)
    assert following != whole
    possible = [n for n in range(1, 7) if began * accumulate % n == 0]
    assert len(possible) > 1
    for before, after in permutations(possible, 2):
        first, state = steps_of(pairs, config, began=began, ranks=before, n_steps=len(whole) // 2)
        rest, end = steps_of(pairs, config, began=began, ranks=after, state=state)
        assert first + rest == whole
        assert steps_of(pairs, config, began=began, ranks=before, state=end)[0] == following


def test_processes_that_cannot_share_a_step_are_refused():
    with pytest.raises(ConfigError) as caught:
        BatchLoader(
            some_pairs(50), BatchConfig(max_tokens=60, accumulate=3), seed=0, world_size=4, start=start_after(1, 2, 2)
        )
    assert str(caught.value) == (
        "each step of this run has 6 micro-batches, since 2 processes began it with batch.accumulate=3, and 4 "
        "processes cannot share them; resume with trainer.devices and trainer.n_nodes that make one of: 1, 2, 3, 6"
    )


def test_a_last_step_with_fewer_pairs_than_processes_is_refused():
    pairs = Pairs([5] * 7, [5] * 7)
    config = BatchConfig(max_tokens=6, accumulate=6)
    with pytest.raises(ConfigError, match="the last step of an epoch has 1 pairs, which 2 processes cannot share"):
        len(BatchLoader(pairs, config, seed=0, world_size=2, start=start_after(1)))


@pytest.mark.parametrize("world_size", [1, 2, 5])
def test_validation_covers_every_pair_once_with_a_batch_for_each_rank(world_size):
    pairs = some_pairs(23)
    shares = [list(valid_batches(pairs, 4096, rank, world_size)) for rank in range(world_size)]
    assert all(shares)
    for indices, batch in (each for share in shares for each in share):
        assert list(indices) == list(members(batch))
    assert sorted(i for share in shares for _, batch in share for i in members(batch)) == list(range(23))


def test_validation_on_more_ranks_than_pairs_is_refused():
    with pytest.raises(ConfigError, match=r"2 validation pairs cannot feed 3 processes"):
        valid_batches(some_pairs(2), 100, 0, 3)
