import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seq2seq.config import TokenizerConfig
from seq2seq.dataset.epoch import AS_STORED, Copies, Epoch
from seq2seq.dataset.pair_reader import PairReader
from seq2seq.dataset.plan import Rows
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer

SENTENCES = [f"le mot numéro {i} a été écrit souvent" for i in range(40)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SENTENCES, TokenizerConfig(vocab_size=340))


def reader_of(tokenizer, seed=1, rate=0.0, tag_dropout=0.0, shares=None):
    """Of sentences whose translations are the same ones in reverse."""
    ids = tokenizer.encode(SENTENCES)
    store: Any = SimpleNamespace(
        src_text=SENTENCES.__getitem__,
        tgt_text=SENTENCES[::-1].__getitem__,
        src=lambda i: np.array(ids[i]),
        tgt=lambda i: np.array(ids[::-1][i]),
        src_lengths=np.array([len(row) for row in ids]),
        tgt_lengths=np.array([len(row) for row in ids[::-1]]),
    )
    epoch = Epoch(store, [40], [Copies(1, 0)], seed, AS_STORED._replace(shares=shares or {}))
    segment = RandomSegmentation(tokenizer, rate) if rate else None
    return PairReader(store, tokenizer, epoch, seed, segment=segment, tag_dropout=tag_dropout)


def read(reader, epoch=0, rows=range(40), most=200):
    """The rows as (source, target)."""
    return list(zip(*reader.read(Rows(np.array(rows), most, most), epoch), strict=True))


def test_what_is_drawn_is_a_function_of_seed_epoch_and_row(tokenizer):
    reader = reader_of(tokenizer, rate=0.3)
    first = read(reader, 2)
    torch.manual_seed(5)
    assert read(reader_of(tokenizer, rate=0.3), 2, range(39, -1, -1)) == first[::-1]
    for others in (read(reader_of(tokenizer, seed=2, rate=0.3), 2), read(reader, 3)):
        assert sum(a == b for a, b in zip(first, others, strict=True)) < 10
    assert tokenizer.decode([src for src, _ in first]) == SENTENCES
    assert tokenizer.decode([tgt for _, tgt in first]) == SENTENCES[::-1]


def test_two_rows_of_a_pair_are_drawn_apart(tokenizer):
    reader = reader_of(tokenizer, rate=0.3)
    reader.epoch = Epoch(reader.store, [40], [Copies(2, 0)], 1)
    rows = read(reader, 2, range(80))
    assert sum(a == b for a, b in zip(rows[:40], rows[40:], strict=True)) < 10


def test_a_side_without_a_segmentation_that_fits_gets_the_best_one(tokenizer):
    best = tokenizer.encode(SENTENCES)
    rows = read(reader_of(tokenizer, rate=0.95), most=max(map(len, best)))
    assert rows == list(zip(best, best[::-1], strict=True))


def test_an_augmented_pair_is_read_as_it_is_stored_where_one_of_its_sides_does_not_fit(tokenizer):
    reader, best = reader_of(tokenizer, shares={"upper": 1.0}), tokenizer.encode(SENTENCES)
    upper = tokenizer.encode([sentence.upper() for sentence in SENTENCES])
    assert all(len(long) > len(short) for long, short in zip(upper, best, strict=True))
    most = int(np.median([len(row) for row in upper]))
    fits = [len(src) <= most and len(tgt) <= most for src, tgt in zip(upper, upper[::-1], strict=True)]
    assert 0 < sum(fits) < 40
    assert read(reader, most=most) == [
        (upper[i], upper[39 - i]) if fits[i] else (best[i], best[39 - i]) for i in range(40)
    ]


def test_a_segmentation_that_does_not_fit_is_drawn_again(tokenizer):
    """What is read has the chances of the sampler, limited to what fits; after four draws it is the best one."""
    text, n = SENTENCES[0], 6000
    best = len(tokenizer.encode([text])[0])
    most = best + 5
    segment, draw = RandomSegmentation(tokenizer, 0.1), random.Random(0).random
    unlimited = Counter(len(segment(text, draw)) for _ in range(n))
    fitting = sum(times for length, times in unlimited.items() if length <= most) / n
    assert 0.3 < fitting < 0.7
    reader = reader_of(tokenizer, rate=0.1)
    found = Counter(len(read(reader, epoch, [0], most)[0][0]) for epoch in range(n))
    assert max(found) == most
    given_up = (1 - fitting) ** 4
    for length in range(best, most + 1):
        expected = (1 - given_up) * unlimited[length] / n / fitting + given_up * (length == best)
        assert found[length] / n == pytest.approx(expected, abs=0.03)


TAG = 4


@pytest.mark.slow
def test_tags_are_left_out_at_the_asked_rate():
    tokenizer: Any = SimpleNamespace(tags={"few": TAG})
    store: Any = SimpleNamespace(src=lambda i: np.array([TAG, 100 + i]), tgt=lambda i: np.array([7]))

    def left_out(seed, number):
        reader = PairReader(store, tokenizer, Epoch(store, [20_000], [Copies(1, 0)], seed), seed, tag_dropout=0.1)
        rows = read(reader, number, range(20_000))
        return {i for i, (src, _) in enumerate(rows) if src == [100 + i]}

    found = left_out(1, 0)
    assert 1800 < len(found) < 2200  # 2,000 expected, standard deviation 42
    for other in (left_out(1, 1), left_out(2, 0)):
        assert 1800 < len(other) < 2200
        assert 130 < len(found & other) < 270  # independent: 200 expected, standard deviation 14
