import random
from collections import Counter
from statistics import correlation
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seq2seq.config import TokenizerConfig
from seq2seq.dataset.pair_readers import SampledSegmentation, TagDropout, _random
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer

SENTENCES = [f"le mot numéro {i} a été écrit souvent" for i in range(40)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SENTENCES, TokenizerConfig(vocab_size=340))


def sampled(tokenizer, seed=1, alpha=0.3, room=200):
    ids = tokenizer.encode(SENTENCES)
    store = SimpleNamespace(
        src_text=SENTENCES.__getitem__,
        tgt_text=SENTENCES[::-1].__getitem__,
        src=lambda i: np.array(ids[i]),
        tgt=lambda i: np.array(ids[::-1][i]),
    )
    rooms = SimpleNamespace(src_lengths=np.full(40, room), tgt_lengths=np.full(40, room))
    return SampledSegmentation(store, RandomSegmentation(tokenizer, alpha), rooms, seed)  # type: ignore[arg-type]


def test_sampled_segmentations_are_a_function_of_seed_epoch_and_slot(tokenizer):
    sample = sampled(tokenizer)
    first = [sample(i, 2, i) for i in range(40)]
    torch.manual_seed(5)
    assert [sampled(tokenizer)(i, 2, i) for i in reversed(range(40))] == first[::-1]
    for other, epoch, slot in ((sampled(tokenizer, seed=2), 2, 0), (sample, 3, 0), (sample, 2, 1)):
        assert sum(other(i, epoch, (i + slot) % 40) == first[i] for i in range(40)) < 10
    assert tokenizer.decode([src for src, _ in first]) == SENTENCES
    assert tokenizer.decode([tgt for _, tgt in first]) == SENTENCES[::-1]


def test_a_side_without_room_for_any_segmentation_gets_the_best_one(tokenizer):
    best = tokenizer.encode(SENTENCES)
    for index in range(40):
        src, tgt = sampled(tokenizer, alpha=0.95, room=max(map(len, best)))(index, 0, index)
        assert (src, tgt) == (best[index], best[39 - index])


def test_a_segmentation_that_does_not_fit_is_drawn_again(tokenizer):
    """What is read has the chances of the sampler, limited to what fits; after four draws it is the best one."""
    text, n = SENTENCES[0], 6000
    best = len(tokenizer.encode([text])[0])
    room = best + 5
    segment, draw = RandomSegmentation(tokenizer, 0.1), random.Random(0).random
    unlimited = Counter(len(segment(text, draw)) for _ in range(n))
    fitting = sum(times for length, times in unlimited.items() if length <= room) / n
    assert 0.3 < fitting < 0.7
    sample = sampled(tokenizer, alpha=0.1, room=room)
    found = Counter(len(sample(0, epoch, 0)[0]) for epoch in range(n))
    assert max(found) == room
    given_up = (1 - fitting) ** 4
    for length in range(best, room + 1):
        expected = (1 - given_up) * unlimited[length] / n / fitting + given_up * (length == best)
        assert found[length] / n == pytest.approx(expected, abs=0.03)


def test_purposes_draw_independently():
    """A slot's tag, its augmentation and its segmentation are not left to the same random numbers."""
    tag, augmentation = (
        [_random(1, purpose, 0, slot).random() for slot in range(2000)] for purpose in ("tag", "augmentation")
    )
    assert abs(correlation(tag, augmentation)) < 0.1
    assert len({_random(1, "tag", epoch, slot).random() for epoch in (0, 1) for slot in (0, 1_000_003)}) == 4


TAG = 4


@pytest.mark.slow
def test_tags_are_left_out_at_the_asked_rate():
    tokenizer = SimpleNamespace(tags={"few": TAG})
    store = SimpleNamespace(src=lambda i: np.array([TAG, 100 + i]), tgt=lambda i: np.array([7]))

    def left_out(seed, epoch):
        read = TagDropout(store, tokenizer, 0.1, seed)  # type: ignore[arg-type]
        return {i for i in range(20_000) if read(i, epoch, i)[0] == [100 + i]}

    found = left_out(1, 0)
    assert 1800 < len(found) < 2200  # 2,000 expected, standard deviation 42
    for other in (left_out(1, 1), left_out(2, 0)):
        assert 1800 < len(other) < 2200
        assert 130 < len(found & other) < 270  # independent: 200 expected, standard deviation 14
