from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.dataset.augmentation import BLOCK, Augmentation, Growth, n_joined
from seq2seq.dataset.mixture import Copies, Mixture, copies
from seq2seq.dataset.plan import plan_epoch
from tests.dataset.test_batches import Pairs, some_pairs

SHARES = {"join": 0.1, "join3": 0.05, "typos": 0.2, "upper": 0.1, "title": 0.3}
GROWTHS = {"typos": (Growth(1.1, 2), Growth(1.0, 0)), "upper": (Growth(2.0, 1),) * 2, "title": (Growth(1.5, 0),) * 2}
LONGEST = 30


def augmented(n_pairs, seed=3, temperature=1.0, shares=SHARES, longest=LONGEST):
    """The augmentation of pairs of random lengths, and the mixture below it."""
    pairs = some_pairs(sum(n_pairs), seed)
    mixture = Mixture(pairs, n_pairs, copies(n_pairs, temperature), seed)
    growths = {name: GROWTHS[name] for name in shares if name in GROWTHS}
    return Augmentation(mixture, shares, growths, longest, seed), mixture, pairs


def counts(slots, epoch):
    return Counter(slots.pairs(epoch).tolist())


@pytest.mark.parametrize("n_pairs", [[5], [32], [150, 40]])
def test_the_pairs_of_a_block_move_on_together(n_pairs):
    augmentation, mixture, pairs = augmented(n_pairs, seed=7)
    by_length = sorted(
        range(len(pairs)),
        key=lambda i: (pairs.tgt_lengths[i], (-1) ** pairs.tgt_lengths[i] * pairs.src_lengths[i]),
    )
    blocks = [np.array(by_length[begin : begin + BLOCK]) for begin in range(0, len(pairs), BLOCK)]
    turns = np.random.default_rng((7, 2)).integers([len(block) for block in blocks])
    expected = [np.roll(block, -turn).tolist() for block, turn in zip(blocks, turns, strict=True)]
    assert augmentation.pairs(2).tolist() == [mixture.pairs(2)[i] for block in expected for i in block]


@given(st.lists(st.integers(1, 150), min_size=1, max_size=3), st.integers(0, 9), st.integers(0, 9), st.floats(1, 3))
def test_an_epoch_holds_the_pairs_of_the_mixture_and_there_is_room_for_each(n_pairs, seed, epoch, temperature):
    augmentation, mixture, pairs = augmented(n_pairs, seed, temperature)
    assert counts(augmentation, epoch) == counts(mixture, epoch)
    held = augmentation.pairs(epoch)
    assert (pairs.src_lengths[held] <= augmentation.src_lengths).all()
    assert (pairs.tgt_lengths[held] <= augmentation.tgt_lengths).all()
    assert max(augmentation.src_lengths.max(), augmentation.tgt_lengths.max()) <= LONGEST


def test_slots_have_augmentations_in_their_shares():
    augmentation, _, _ = augmented([30_000])
    drawn = [augmentation.augmentations(slot) for slot in range(30_000)]
    found = Counter(name for names in drawn for name in names)
    for name, share in SHARES.items():
        assert found[name] == pytest.approx(30_000 * share, abs=300)  # at most 4.3 standard deviations
    assert not any({"join", "join3"} <= set(names) or {"upper", "title"} <= set(names) for names in drawn)
    both = sum({"typos", "title"} <= set(names) for names in drawn)
    assert both == pytest.approx(30_000 * 0.2 * 0.3, abs=180)  # drawn apart from each other


def test_shares_of_one_group_may_add_up_to_everything():
    augmentation, _, _ = augmented([500], shares={"upper": 0.5, "title": 0.5})
    assert all(len(augmentation.augmentations(slot)) == 1 for slot in range(500))


def test_each_pair_meets_each_augmentation_as_often_as_its_share_says():
    n_pairs, n_epochs = BLOCK * 5, 400
    augmentation, _, _ = augmented([n_pairs])
    met = {name: np.zeros(n_pairs) for name in SHARES}
    for epoch in range(n_epochs):
        for slot, pair in enumerate(augmentation.pairs(epoch)):
            for name in augmentation.augmentations(slot):
                met[name][pair] += 1
    for name, share in SHARES.items():
        # A block of 32 has 6 or 7 slots for a share of 0.2. To meet one of them has a standard deviation of 0.02.
        assert np.abs(met[name] / n_epochs - share).max() < 1 / BLOCK + 0.07
        assert met[name].min() > 0


@pytest.mark.slow
def test_the_draw_is_a_function_of_seed_and_epoch():
    one, other, third = (augmented([400], seed=3)[0] for _ in range(3))
    third.seed = 4
    assert one.pairs(7).tolist() == other.pairs(7).tolist()
    assert one.pairs(7).tolist() != one.pairs(8).tolist()
    assert one.pairs(7).tolist() != third.pairs(7).tolist()
    drawn = [[augmented([400], seed=seed)[0].augmentations(slot) for slot in range(400)] for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_room_worked_out_by_hand():
    lengths = np.repeat([4, 7, 9], 9 * BLOCK)
    mixture = Mixture(Pairs(lengths, lengths), [len(lengths)], [Copies(1, 0)], seed=0)
    augmentation = Augmentation(mixture, SHARES, GROWTHS, 1000, seed=0)
    room = {}
    for slot in range(len(lengths)):
        names, block = tuple(augmentation.augmentations(slot)), slot // (9 * BLOCK)
        room[names, block] = (int(augmentation.src_lengths[slot]), int(augmentation.tgt_lengths[slot]))
    assert (room[(), 0], room[(), 1]) == ((4, 4), (7, 7))
    assert (room[("typos",), 0], room[("typos",), 1]) == ((7, 4), (10, 7))  # 1.1 x 4 + 2 and 1.1 x 7 + 2, rounded up
    assert (room[("title",), 0], room[("title",), 1]) == ((6, 6), (11, 11))
    # Beside a pair of the median length, or of the same.
    assert [room[("join",), block] for block in range(3)] == [(11, 11), (14, 14), (18, 18)]
    assert room[("join3",), 0] == (18, 18)


def test_no_slot_is_cut_to_less_than_its_pairs():
    lengths = np.full(70, 9)
    augmentation = Augmentation(
        Mixture(Pairs(lengths, lengths), [70], [Copies(1, 0)], seed=0), SHARES, GROWTHS, longest=5, seed=0
    )
    assert set(augmentation.src_lengths) == {9}


def test_blocks_cost_few_batches():
    rng = np.random.default_rng(0)
    tgt = np.clip(rng.lognormal(2.7, 0.5, 20_000).astype(int), 1, 200)
    src = np.clip((tgt * rng.normal(1.1, 0.15, len(tgt))).astype(int), 1, 200)
    augmentation = Augmentation(Mixture(Pairs(src, tgt), [20_000], [Copies(1, 0)], seed=0), {}, {}, 255, seed=0)
    lengths = {"max_tokens": 4096, "seed": 0, "epoch": 0}
    n_batches = len(plan_epoch(augmentation.src_lengths, augmentation.tgt_lengths, **lengths))
    assert n_batches <= 1.02 * len(plan_epoch(src, tgt, **lengths))


def test_the_number_of_joined_pairs_of_a_slot():
    assert [n_joined(names) for names in ([], ["upper"], ["join", "typos"], ["typos", "join3"])] == [1, 1, 2, 3]
