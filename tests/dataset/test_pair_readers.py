from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seq2seq.config import TokenizerConfig
from seq2seq.dataset.pair_readers import SampledSegmentation, TagDropout
from seq2seq.tokenizer import Tokenizer

SENTENCES = [f"le mot numéro {i} a été écrit souvent" for i in range(40)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SENTENCES, TokenizerConfig(vocab_size=340))


def segmentation(tokenizer, seed=1, alpha=0.3, max_length=200):
    ids = tokenizer.encode(SENTENCES)
    store = SimpleNamespace(
        src_text=SENTENCES.__getitem__,
        tgt_text=SENTENCES[::-1].__getitem__,
        src=lambda i: np.array(ids[i]),
        tgt=lambda i: np.array(ids[::-1][i]),
    )
    return SampledSegmentation(store, tokenizer, alpha, seed, max_length)  # type: ignore[arg-type]


def test_sampled_segmentations_are_a_function_of_seed_epoch_and_sentence(tokenizer):
    sample = segmentation(tokenizer)
    first = [sample(i, 2, i) for i in range(40)]
    torch.manual_seed(5)
    assert [segmentation(tokenizer)(i, 2, i) for i in reversed(range(40))] == first[::-1]
    for other in (segmentation(tokenizer, seed=2), sample):
        epoch = 3 if other is sample else 2
        assert sum(other(i, epoch, i) == first[i] for i in range(40)) < 10
    assert tokenizer.decode([src for src, _ in first]) == SENTENCES
    assert tokenizer.decode([tgt for _, tgt in first]) == SENTENCES[::-1]


def test_sampled_segmentations_that_the_model_cannot_hold_give_way_to_the_best_one(tokenizer):
    best = tokenizer.encode(SENTENCES)
    limit = max(map(len, best)) + 1
    for index in range(40):
        src, tgt = segmentation(tokenizer, alpha=0.9, max_length=limit)(index, 0, index)
        assert (src, tgt) == (best[index], best[39 - index])


TAG = 4


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
