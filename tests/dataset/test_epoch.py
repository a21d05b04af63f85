import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from seq2seq.config import BatchConfig
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.epoch import AS_STORED, Copies, Draws, Epoch, Growth, copies
from seq2seq.dataset.plan import plan_epoch
from seq2seq.errors import ConfigError
from tests.dataset.epochs import micro_batches
from tests.dataset.test_batches import Pairs, members, some_pairs, steps_of

sources = st.lists(st.integers(0, 60), min_size=1, max_size=5).filter(any)
weights = st.one_of(st.just(1.0), st.floats(0, 4), st.sampled_from([0.0, 0.5, 2 / 3, 2.0]))
temperatures = st.one_of(st.just(1.0), st.floats(1, 200))


SHARES = {"join": 0.1, "join3": 0.05, "typos": 0.2, "upper": 0.1, "title": 0.3}


def growth(src, tgt):
    """From (times, more) of both sides."""
    return Growth(*np.array([src, tgt]).T[..., None])


GROWTHS = {
    "typos": growth((1.1, 2), (1, 0)),
    "upper": growth((1, 6), (1, 5)),
    "title": growth((1.5, 0), (1.5, 0)),
}
DRAWS = Draws(SHARES, GROWTHS, None, 30)


def epoch_of(n_pairs, temperature=1.0, seed=3, draws=AS_STORED):
    """An epoch of pairs of random lengths, and the pairs."""
    pairs = some_pairs(sum(n_pairs), seed)
    return Epoch(pairs, n_pairs, copies(n_pairs, temperature), seed, draws), pairs


def pairs_of(epoch, number):
    return epoch.pairs(np.arange(epoch.n_rows), number).tolist()


def kinds_of(epoch, number):
    """The augmentations of each row."""
    names = list(epoch.draws.shares)
    kinds = epoch.kinds(np.arange(epoch.n_rows), number).tolist()
    return [{name for bit, name in enumerate(names) if kind >> bit & 1} for kind in kinds]


def n_times(epoch, number):
    """How often each pair comes in an epoch."""
    return Counter(pairs_of(epoch, number))


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
    epoch = Epoch(pairs, n_pairs, expected, seed)
    epochs = [n_times(epoch, number) for number in range(9)]
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


def test_partial_copies_of_two_epochs_have_about_the_same_lengths_and_other_pairs():
    epoch, pairs = epoch_of([900, 400], 2)  # 1.5 times: 200 of the 400, half of them in each epoch
    first, second, third = (pairs_of(epoch, number)[1300:] for number in range(3))
    assert sorted(first + second) == list(range(900, 1300)) and third == first
    gaps = np.sort(pairs.tgt_lengths[first]) - np.sort(pairs.tgt_lengths[second])
    assert np.abs(gaps).max() <= 1
    starts = {tuple(pairs_of(Epoch(pairs, [900, 400], copies([900, 400], 2), seed), 0)) for seed in range(9)}
    assert len(starts) == 2


@given(sources, temperatures, st.integers(0, 9))
def test_lengths_without_draws_are_those_of_the_pairs(n_pairs, temperature, number):
    epoch, pairs = epoch_of(n_pairs, temperature)
    read = pairs_of(epoch, number)
    assert [side.tolist() for side in epoch.lengths(number)] == [
        pairs.src_lengths[read].tolist(),
        pairs.tgt_lengths[read].tolist(),
    ]


def test_pairs_may_have_large_numbers():
    far = 2**31 + 50
    epoch = Epoch(Pairs([], []), [far, 40], [Copies(0, 0), Copies(1, 0)], seed=0)
    assert pairs_of(epoch, 0) == list(range(far, far + 40))


def test_what_is_found_for_some_rows_is_what_is_found_for_all():
    epoch, _ = epoch_of([50, 20, 7], 9, draws=DRAWS)
    rows = np.array([120, 3, 77, 51])
    assert epoch.pairs(rows, 4).tolist() == [pairs_of(epoch, 4)[row] for row in rows]
    assert epoch.kinds(rows, 4).tolist() == epoch.kinds(np.arange(epoch.n_rows), 4)[rows].tolist()


def test_rows_have_augmentations_in_their_shares():
    epoch, _ = epoch_of([30_000], draws=DRAWS)
    drawn = kinds_of(epoch, 0)
    found = Counter(name for names in drawn for name in names)
    for name, share in SHARES.items():
        assert found[name] == pytest.approx(30_000 * share, abs=4.3 * (30_000 * share * (1 - share)) ** 0.5)
    assert not any({"join", "join3"} <= names or {"upper", "title"} <= names for names in drawn)
    both = sum({"typos", "title"} <= names for names in drawn)
    assert both == pytest.approx(30_000 * 0.2 * 0.3, abs=180)  # drawn apart from each other
    neighbours = sum("title" in a and "title" in b for a, b in pairwise(drawn))
    assert neighbours == pytest.approx(30_000 * 0.3 * 0.3, abs=250)  # and from those of other rows


def test_shares_of_one_group_may_add_up_to_everything():
    shares = {"upper": 0.5, "title": 0.5}
    epoch, _ = epoch_of([500], draws=DRAWS._replace(shares=shares))
    assert all(len(names) == 1 for names in kinds_of(epoch, 0))


def test_each_pair_meets_each_augmentation_as_often_as_its_share_says():
    n_epochs = 400
    epoch, _ = epoch_of([100], draws=DRAWS)
    met = Counter(
        (row, name) for number in range(n_epochs) for row, names in enumerate(kinds_of(epoch, number)) for name in names
    )
    for name, share in SHARES.items():
        assert all(abs(met[row, name] / n_epochs - share) < 0.12 for row in range(100))  # 5 standard deviations


def test_augmentations_are_a_function_of_seed_and_epoch():
    one, again, other = (epoch_of([400], seed=seed, draws=DRAWS)[0] for seed in (3, 3, 4))
    assert kinds_of(one, 7) == kinds_of(again, 7)
    assert kinds_of(one, 7) != kinds_of(one, 8)
    assert kinds_of(one, 7) != kinds_of(other, 7)


def test_pairs_are_joined_within_their_source():
    epoch, _ = epoch_of([3, 4], draws=DRAWS)
    assert [epoch.n_joined(pair, ["join", "typos"]) for pair in range(7)] == [2, 2, 1, 2, 2, 2, 1]
    assert [epoch.n_joined(pair, ["join3"]) for pair in range(7)] == [3, 1, 1, 3, 3, 1, 1]
    assert epoch.n_joined(0, ["upper"]) == 1


def test_planned_lengths_worked_out_by_hand():
    src, tgt = [4, 5, 9, 2, 40, 3], [6, 5, 7, 2, 41, 3]
    n_pairs = [3, 3]

    def planned(shares, segmentation=None):
        draws = DRAWS._replace(shares=shares, segmentation=segmentation)
        return [side.tolist() for side in Epoch(Pairs(src, tgt), n_pairs, [Copies(1, 0)] * 2, 0, draws).lengths(0)]

    assert planned({"typos": 1.0}) == [[7, 8, 12, 5, 40, 6], tgt]  # 3 more, and 30 at most, but never less than stored
    assert planned({"join": 1.0}) == [[9, 14, 9, 2, 40, 3], [11, 12, 7, 2, 41, 3]]  # the last of a source stays alone
    assert planned({"join3": 1.0}) == [[18, 5, 9, 2, 40, 3], [18, 5, 7, 2, 41, 3]]
    assert planned({"join": 1.0, "upper": 1.0}, growth((1, 1), (1, 0))) == [
        [16, 21, 16, 9, 40, 10],
        [16, 17, 12, 7, 41, 8],
    ]
    assert planned({}, growth((1, 1), (1.1, 1))) == [[5, 6, 10, 3, 40, 4], [8, 7, 9, 4, 41, 5]]


@given(
    st.lists(st.integers(0, 80), min_size=1, max_size=3).filter(any),
    st.integers(0, 9),
    st.integers(0, 9),
    st.floats(1, 3),
)
def test_planned_lengths_are_never_below_the_stored_ones_nor_above_the_limit(n_pairs, seed, number, temperature):
    epoch, pairs = epoch_of(n_pairs, temperature, seed, DRAWS._replace(segmentation=growth((1, 4), (1.5, 0))))
    read, (src, tgt) = pairs_of(epoch, number), epoch.lengths(number)
    assert (pairs.src_lengths[read] <= src).all() and (pairs.tgt_lengths[read] <= tgt).all()
    assert max(src.max(), tgt.max()) <= 30


@pytest.mark.slow
@settings(max_examples=30)
@given(sources, temperatures, st.floats(0, 3), st.integers(1, 3), st.integers(31, 60), st.booleans())
def test_each_epoch_has_as_many_batches_within_the_budget_on_each_rank(
    n_pairs, temperature, weight, world_size, max_tokens, augmented
):
    n_pairs = [*n_pairs, 20]  # enough for three ranks
    pairs = some_pairs(sum(n_pairs), 3)
    of_sources = copies(n_pairs, temperature, [*[weight] * (len(n_pairs) - 1), 1.3])
    epoch = Epoch(pairs, n_pairs, of_sources, 3, DRAWS if augmented else AS_STORED)
    config = BatchConfig(max_tokens=max_tokens)
    loaders = [
        BatchLoader(pairs, config, seed=3, rank=rank, world_size=world_size, epoch=epoch) for rank in range(world_size)
    ]
    n_batches = set()
    for number in range(3):
        read = []
        for loader in loaders:
            batches = micro_batches(loader)
            n_batches |= {len(batches), len(loader)}
            assert all(max(batch.src.numel(), batch.tgt_in.numel()) <= max_tokens for batch in batches)
            read += [pair for batch in batches for pair in members(batch)]
        assert Counter(read) in (n_times(epoch, number), n_times(epoch, 0))
    assert len(n_batches) == 1


def test_a_run_of_drawn_epochs_goes_on_with_the_very_next_step_on_any_number_of_ranks():
    epoch, pairs = epoch_of([90, 40, 20], 3, draws=DRAWS)
    config = BatchConfig(max_tokens=60, accumulate=3)
    first, end = steps_of(pairs, config, began=2, ranks=2, epoch=epoch)
    whole = first + steps_of(pairs, config, began=2, ranks=2, epoch=epoch, state=end)[0]
    assert len(whole) == 2 * len(first) > 8 and whole[len(first) :] != first
    for n_done, before, after in ((3, 2, 6), (len(first), 3, 1), (len(first) + 2, 1, 2)):
        state, steps = None, list[list[int]]()
        while len(steps) < n_done:
            some, state = steps_of(
                pairs, config, began=2, ranks=before, epoch=epoch, state=state, n_steps=n_done - len(steps)
            )
            steps += some
        rest, _ = steps_of(pairs, config, began=2, ranks=after, epoch=epoch, state=state)
        assert (steps + rest)[: len(whole)] == whole[: n_done + len(rest)]


def test_an_epoch_whose_draws_need_more_batches_reads_the_rows_of_the_first_one():
    """Of 40 pairs, those that are augmented need a batch each. That is more luck than the reserve is made for."""
    pairs = Pairs([5] * 40, [5] * 40)
    epoch = Epoch(
        pairs,
        [40],
        [Copies(1, 0)],
        8,
        DRAWS._replace(shares={"typos": 0.3}, growths={"typos": growth((1, 25), (1, 0))}),
    )
    loader = BatchLoader(pairs, BatchConfig(max_tokens=31), seed=8, epoch=epoch)
    draws = {number: loader._plan_of(number)[0] for number in range(30)}
    assert 0 < sum(draw == 0 != number for number, draw in draws.items()) < 10
    assert all(draw in (0, number) for number, draw in draws.items())
    resumed = BatchLoader(pairs, BatchConfig(max_tokens=31), seed=8, epoch=epoch)
    for number in reversed(range(30)):
        draw, plan = resumed._plan_of(number)
        planned = epoch.lengths(draw)[0]
        assert (draw, len(plan)) == (draws[number], len(loader))
        assert all(len(rows.numbers) * (planned[rows.numbers].max() + 1) <= 31 for rows in plan)


def test_the_share_of_epochs_that_repeat_the_first_one_is_small():
    """Even with batches of three pairs, a third of which are augmented."""
    epoch, pairs = epoch_of([700], draws=DRAWS)
    loader = BatchLoader(pairs, BatchConfig(max_tokens=60), seed=3, epoch=epoch)
    draws = [loader._plan_of(number)[0] for number in range(40)]
    assert draws == list(range(40))
    assert len(loader) < 1.2 * len(plan_epoch(*epoch.lengths(0), max_tokens=60, seed=3, epoch=0))
