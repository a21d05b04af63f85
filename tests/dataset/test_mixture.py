import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from seq2seq.config import BatchConfig
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.mixture import Copies, Mixture, copies
from seq2seq.dataset.plan import plan_epoch
from seq2seq.errors import ConfigError
from tests.dataset.epochs import micro_batches
from tests.dataset.test_batches import Pairs, members, some_pairs

sources = st.lists(st.integers(0, 60), min_size=1, max_size=5).filter(any)
weights = st.one_of(st.just(1.0), st.floats(0, 4), st.sampled_from([0.0, 0.5, 2 / 3, 2.0]))
temperatures = st.one_of(st.just(1.0), st.floats(1, 200))


def mixed(n_pairs, temperature, seed=3):
    """A mixture of random lengths, and their pairs."""
    pairs = some_pairs(sum(n_pairs), seed)
    return Mixture(pairs, n_pairs, copies(n_pairs, temperature), seed), pairs


def n_times(mixture, epoch):
    """How often each pair stands in an epoch."""
    return Counter(mixture.pairs(epoch).tolist())


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1, [(1, 0), (1, 0), (1, 0), (0, 0)]),
        (2, [(1, 0), (3, 16), (10, 0), (0, 0)]),  # 10 ** 0.5 = 3.162, 100 ** 0.5 = 10
        (5, [(1, 0), (6, 31), (39, 8), (0, 0)]),  # 10 ** 0.8 = 6.310, 100 ** 0.8 = 39.81
        (math.inf, [(1, 0), (10, 0), (100, 0), (0, 0)]),  # equal shares
    ],
)
def test_copies_worked_out_by_hand(temperature, expected):
    assert copies([1000, 100, 10, 0], temperature) == expected


@given(sources, temperatures)
def test_shares_are_in_proportion_to_the_root_of_the_number_of_pairs(n_pairs, temperature):
    largest = max(n_pairs)
    for n, (n_whole, n_more) in zip(n_pairs, copies(n_pairs, temperature), strict=True):
        probability = (n / largest) ** (1 / temperature)  # in proportion to it, Arivazhagan et al. 2019
        assert n_whole * n + n_more == pytest.approx(probability * largest, abs=0.5 + 1e-6)


@pytest.mark.parametrize(
    ("temperature", "given_weights", "expected"),
    [
        (1, [1, 2, 0.55], [(1, 0), (2, 0), (0, 6)]),  # 5.5 is rounded to the even number
        (2, [1, 2, 0.5], [(1, 0), (6, 32), (5, 0)]),  # 2 x 3.162 and 0.5 x 10
        (2, [0, 1, 1], [(0, 0), (1, 0), (3, 2)]),  # the largest that is left counts as such
    ],
)
def test_weights_worked_out_by_hand(temperature, given_weights, expected):
    assert copies([1000, 100, 10], temperature, given_weights) == expected
    assert copies([1000, 100, 10, 0], temperature, [*given_weights, 3])[:3] == expected


@pytest.mark.parametrize(("n_pairs", "given_weights"), [([0, 5], [1, 0]), ([9], [0.01])])
def test_an_epoch_without_pairs_is_refused(n_pairs, given_weights):
    with pytest.raises(ConfigError, match=r"an epoch would have no pair: the sources that fill it have too few"):
        copies(n_pairs, 2.0, given_weights)


@given(st.lists(st.tuples(st.integers(0, 60), weights), min_size=1, max_size=4), temperatures, st.integers(0, 9))
def test_each_pair_comes_as_often_as_its_source_says(mix, temperature, seed):
    """In each epoch, and over any epochs in sequence: as many times as that makes, rounded up or down."""
    n_pairs, of_sources = zip(*mix, strict=True)
    try:
        expected = copies(n_pairs, temperature, of_sources)
    except ConfigError:
        reject()
    pairs = some_pairs(sum(n_pairs), seed)
    mixture = Mixture(pairs, n_pairs, expected, seed)
    epochs = [n_times(mixture, epoch) for epoch in range(9)]
    n_before = dict.fromkeys(range(len(pairs)), 0)
    for n_epochs, found in enumerate(epochs, start=1):
        begin = 0
        for n, of_source in zip(n_pairs, expected, strict=True):
            m = of_source.n_pairs(n)
            assert sum(found[pair] for pair in range(begin, begin + n)) == m
            for pair in range(begin, begin + n):
                n_before[pair] += found[pair]
                assert n_epochs * m // n <= n_before[pair] <= -(-n_epochs * m // n)
            begin += n


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_any_pair_of_a_slot_fits_and_slots_keep_their_place(n, n_slots, seed):
    """The longest pair of a slot is one that stands there in some epoch, where every turn comes."""
    n_slots = min(n, n_slots)
    pairs = some_pairs(n, seed)
    mixture = Mixture(pairs, [n], [Copies(0, n_slots)], seed)
    standing = np.stack([pairs.tgt_lengths[mixture.pairs(epoch)] for epoch in range(n)])
    assert (standing <= mixture.tgt_lengths).all()
    if math.gcd(n, n_slots) == 1:
        assert (standing.max(axis=0) == mixture.tgt_lengths).all()


@given(sources, temperatures, st.integers(0, 9), st.integers(0, 9))
def test_each_pair_stands_in_each_epoch_about_as_often_as_its_source(n_pairs, temperature, seed, epoch):
    mixture, pairs = mixed(n_pairs, temperature, seed)
    found = n_times(mixture, epoch)
    assert len(mixture.src_lengths) == len(mixture.tgt_lengths) == found.total()
    begin = 0
    for n, (n_whole, n_more) in zip(n_pairs, copies(n_pairs, temperature), strict=True):
        of_source = [found[pair] for pair in range(begin, begin + n)]
        assert n_whole >= 1 or n == 0
        assert set(of_source) <= {n_whole, n_whole + 1}
        assert sum(of_source) == n_whole * n + n_more
        begin += n
    assert begin == len(pairs)


@given(sources, temperatures, st.integers(0, 9))
def test_planned_lengths_are_never_below_the_actual_ones(n_pairs, temperature, epoch):
    mixture, pairs = mixed(n_pairs, temperature)
    standing = mixture.pairs(epoch)
    assert (mixture.src_lengths >= pairs.src_lengths[standing]).all()
    assert (mixture.tgt_lengths >= pairs.tgt_lengths[standing]).all()
    whole = sum(n * n_whole for n, (n_whole, _) in zip(n_pairs, copies(n_pairs, temperature), strict=True))
    loose = (mixture.src_lengths > pairs.src_lengths[standing]).sum()
    assert loose <= len(standing) - whole  # exact in whole copies


@pytest.mark.slow
@settings(max_examples=30)
@given(sources, temperatures, st.floats(0, 3), st.integers(1, 3), st.integers(26, 60))
def test_each_epoch_has_as_many_batches_within_the_budget_on_each_rank(
    n_pairs, temperature, weight, world_size, max_tokens
):
    n_pairs = [*n_pairs, 20]  # enough for three ranks
    pairs = some_pairs(sum(n_pairs), 3)
    of_sources = copies(n_pairs, temperature, [*[weight] * (len(n_pairs) - 1), 1.3])
    mixture = Mixture(pairs, n_pairs, of_sources, 3)
    loaders = [
        BatchLoader(
            pairs,
            BatchConfig(max_tokens=max_tokens),
            seed=3,
            rank=rank,
            world_size=world_size,
            slots=mixture,
        )
        for rank in range(world_size)
    ]
    n_batches = set()
    for epoch in range(3):
        standing = []
        for loader in loaders:
            batches = micro_batches(loader)
            n_batches |= {len(batches), len(loader)}
            assert all(max(batch.src.numel(), batch.tgt_in.numel()) <= max_tokens for batch in batches)
            standing += [pair for batch in batches for pair in members(batch)]
        assert Counter(standing) == n_times(mixture, epoch)
    assert len(n_batches) == 1


def test_the_pairs_of_a_part_of_a_copy_take_turns():
    mixture, pairs = mixed([90, 40], 2)  # 1.5 times: in 20 slots, two pairs each
    first, second, third = (n_times(mixture, epoch) for epoch in range(3))
    assert all({first[pair], second[pair]} == {1, 2} for pair in range(90, 130))
    assert third == first
    starts = {tuple(Mixture(pairs, [90, 40], copies([90, 40], 2), seed).pairs(0).tolist()) for seed in range(9)}
    assert len(starts) == 2 and tuple(mixture.pairs(0).tolist()) in starts


def test_slots_of_a_part_of_a_copy_hold_pairs_of_about_one_length():
    rng = np.random.default_rng(0)
    tgt = np.clip(rng.lognormal(2.7, 0.5, 22_000).astype(int), 1, 200)  # 15 tokens at the median, 34 at 95%
    src = np.clip((tgt * rng.normal(1.1, 0.15, len(tgt))).astype(int), 1, 200)
    n_pairs = [20_000, 2_000]
    mixture = Mixture(Pairs(src, tgt), n_pairs, copies(n_pairs, 1.05), seed=0)  # 2,000 pairs take turns in 232 slots
    lengths = {"max_tokens": 4096, "seed": 0, "epoch": 0}
    standing = mixture.pairs(0)
    assert len(standing) == 22_232
    n_batches = len(plan_epoch(mixture.src_lengths, mixture.tgt_lengths, **lengths))
    assert n_batches <= 1.01 * len(plan_epoch(src[standing], tgt[standing], **lengths))


def test_a_temperature_of_1_leaves_every_pair_once():
    mixture, pairs = mixed([30, 7, 12], 1)
    assert mixture.pairs(5).tolist() == list(range(49))
    assert (mixture.src_lengths.tolist(), mixture.tgt_lengths.tolist()) == (
        pairs.src_lengths.tolist(),
        pairs.tgt_lengths.tolist(),
    )
