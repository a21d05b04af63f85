"""Prepared corpora as the batches of a run."""

import random
from typing import Any

import pytest
import torch

from seq2seq.dataset.batches import BatchLoader, collate
from seq2seq.dataset.pair_reader import PairReader
from seq2seq.dataset.plan import plan_epoch
from seq2seq.dataset.prepare import prepare
from seq2seq.training.data import TranslationData
from seq2seq.vocabulary import PAD
from tests.dataset.epochs import micro_batches, pairs_in, planned, sides
from tests.training.tiny_runs import reversed_pairs, tiny_config, write_split


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """300 pairs and 30 others."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, (split, n) in enumerate({"large": 300, "small": 30, "valid": 5, "test": 5}.items()):
        write_split(folder, split, reversed_pairs(n, seed))
    return folder


def loader_of(corpus, **changes: Any) -> BatchLoader:
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    config = tiny_config(corpus, corpus / "run", changes)
    return TranslationData(config, prepare(config)).train_dataloader()


@pytest.mark.parametrize(("train", "temperature"), [(["large", "small"], 1.0), ("large", 5.0), (["small"], 5.0)])
def test_one_source_or_a_temperature_of_1_changes_no_batch(corpus, train, temperature):
    loader = loader_of(corpus, data__train=train, data__temperature=temperature)
    store = loader.pairs
    for epoch in range(2):
        whole = plan_epoch(store.src_lengths, store.tgt_lengths, max_tokens=160, seed=1, epoch=epoch)
        plan = [rows.numbers for rows in whole]
        expected = [collate([store.src(i) for i in rows], [store.tgt(i) for i in rows]) for rows in plan]
        assert sides(micro_batches(loader)) == sides(expected)


TAGGED = ["large", {"source": "small", "tag": "few"}]
FEW = 4


def rows_of(loader: BatchLoader) -> list[tuple[int, ...]]:
    """The sources of one epoch, without padding and in the order of the pairs."""
    sources = [row for batch in micro_batches(loader) for row in batch.src]
    rows = [tuple(token for token in row.tolist() if token != PAD) for row in sources]
    order = pairs_in(loader, loader.n_done // len(loader) - 1)
    return [row for _, row in sorted(zip(order, rows, strict=True))]


def test_a_tag_that_is_left_out_changes_nothing_else(corpus):
    for sampling in (0.0, 0.3):
        whole, loader = (
            loader_of(corpus, data__train=TAGGED, data__tag_dropout=share, tokenizer__subword_regularization=sampling)
            for share in (0.0, 0.4)
        )
        both = zip(micro_batches(whole), micro_batches(loader), strict=True)
        assert all(torch.equal(a.tgt_out, b.tgt_out) for a, b in both)
        epochs = [(rows_of(whole), rows_of(loader)) for _ in range(2)]
        for expected, rows in epochs:
            assert rows[:300] == expected[:300]
            assert all(row in (tagged, tagged[1:]) for row, tagged in zip(rows[300:], expected[300:], strict=True))
        left_out = [[row[0] != FEW for row in rows[300:]] for _, rows in epochs]
        assert left_out[0] != left_out[1]
        assert 10 <= sum(map(sum, left_out)) <= 38  # of 60, 24 expected
        again = loader_of(corpus, data__train=TAGGED, data__tag_dropout=0.4, tokenizer__subword_regularization=sampling)
        again.n_done = 2 * len(again)
        assert rows_of(again) == epochs[1][1]


CAPITALS_AND_JOINS = {"data__augment__upper": 0.3, "data__augment__join": 0.3}


@pytest.mark.parametrize(
    "changes",
    [
        {"data__train": "large", "tokenizer__model_type": "unigram"},
        {"data__train": TAGGED, "data__temperature": 3.0, "data__tag_dropout": 0.3},
        {"data__train": TAGGED, "data__temperature": 3.0, **CAPITALS_AND_JOINS},
    ],
)
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_batches_of_drawn_segmentations_keep_their_budget_and_their_number(corpus, changes, rate):
    changes = {"tokenizer__vocab_size": 290, "model__max_length": 40, "data__max_sentence_tokens": 30, **changes}
    loader = loader_of(corpus, tokenizer__subword_regularization=rate, batch__max_tokens=200, **changes)
    n_batches, n_tokens = {len(loader)}, set()
    for _ in range(3):
        batches = micro_batches(loader)
        for batch in batches:
            assert max(batch.src.numel(), batch.tgt_in.numel()) <= 200
            assert max(batch.src.shape[1], batch.tgt_in.shape[1]) <= 40
        n_batches.add(len(batches))
        n_tokens.add(sum(int((batch.tgt_out != PAD).sum()) for batch in batches))
    assert len(n_batches) == 1
    assert len(n_tokens) > 1


@pytest.mark.parametrize("rate", [0.3, 0.1, 0.01])
def test_most_segmentations_fit_and_batches_are_full(corpus, rate):
    loader = loader_of(corpus, data__train="large", tokenizer__subword_regularization=rate, tokenizer__vocab_size=290)
    reader, store, n_epochs = loader.reader, loader.pairs, 4
    assert isinstance(reader, PairReader) and reader.segment is not None
    draw = random.Random(0).random
    read, n_drawn, n_expected, n_planned = [], 0, 0, 0
    for epoch in range(n_epochs):
        for rows in planned(loader, epoch):
            for pair, ids in zip(rows.numbers, reader.read(rows, epoch)[1], strict=True):
                n_drawn += ids != store.tgt(pair).tolist()
                n_expected += reader.segment(reader.store.tgt_text(pair), draw) != store.tgt(pair).tolist()
                read.append(ids)
            n_planned += len(rows.numbers) * rows.max_tgt
    assert 0.6 * n_expected < n_drawn <= 1.1 * n_expected
    assert sum(map(len, read)) <= n_planned < 1.4 * sum(map(len, read))


def test_a_temperature_repeats_the_small_source(corpus):
    loader = loader_of(corpus, data__train=["large", "small"], data__temperature=2.0)
    small = {tuple(loader.pairs.src(i).tolist()) for i in range(300, 330)}
    rows = [tuple(row.tolist()) for batch in micro_batches(loader) for row in batch.src]
    n_small = sum(tuple(token for token in row if token > 3) in small for row in rows)
    assert len(rows) == 395 and n_small == 95  # 30 x (300 / 30) ** 0.5 = 94.9
