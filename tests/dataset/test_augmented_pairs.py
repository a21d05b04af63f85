"""Pairs that are read with augmentation: from prepared text to the batches of an epoch."""

import dataclasses
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from seq2seq.config import RunConfig
from seq2seq.corpus.augmentation import AUGMENTATIONS
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.pair_reader import measured
from seq2seq.dataset.plan import Rows
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.dataset.subword_text import spelling_shares, subword_text
from seq2seq.segmentation import RandomSegmentation
from seq2seq.training.data import TranslationData
from seq2seq.vocabulary import BOS, EOS, PAD
from tests.dataset.epochs import micro_batches, pairs_in, planned, sides
from tests.dataset.small_corpus import write_split
from tests.training.tiny_runs import tiny_config

ALL = dict.fromkeys(("stop", "accents", "typos", "upper", "quotes", "spaces", "emoji", "urls", "numbers"), 0.2)
WORDS = ["un", "deux", "chien", "forêt", "garçon", "l'été", "marche", "près", "mange"]


def sentence(number: int) -> str:
    n_words = 2 + number % 7
    return f"{' '.join(WORDS[(number * 7 + k * (1 + number % 3)) % len(WORDS)] for k in range(n_words))} {number}."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("augmented")
    for split, first, n in (("train", 0, 300), ("more", 500, 40), ("valid", 300, 5), ("test", 310, 5)):
        write_split(folder, split, [(sentence(i), f"EN {sentence(i)}") for i in range(first, first + n)])
    return folder


def prepared(corpus, augment: dict[str, float], **changes: Any) -> tuple[Prepared, RunConfig]:
    keys = {f"data.augment.{name}": share for name, share in augment.items()}
    keys |= {"tokenizer.vocab_size": 400} | {name.replace("__", "."): value for name, value in changes.items()}
    config = tiny_config(corpus, corpus / "run", keys)
    return prepare(config), config


def loader_of(corpus, augment: dict[str, float], **changes: Any) -> BatchLoader:
    text, config = prepared(corpus, augment, **changes)
    return TranslationData(config, text).train_dataloader()


def read_of(corpus, augment: dict[str, float], **changes: Any) -> dict[int, tuple[str, str]]:
    """The texts of one epoch, by the number of the pair."""
    text, config = prepared(corpus, augment, **changes)
    tokenizer, loader = text.tokenizer, TranslationData(config, text).train_dataloader()
    batches = micro_batches(loader)
    rows = pairs_in(loader)
    sides = [
        tokenizer.decode([[token for token in row.tolist() if token not in (PAD, BOS, EOS)] for row in side])
        for side in (
            [row for batch in batches for row in batch.src],
            [row for batch in batches for row in batch.tgt_in],
        )
    ]
    return dict(zip(rows, zip(*sides, strict=True), strict=True))


def test_a_joined_pair_has_the_next_ones_of_its_source_in_order_on_both_sides(corpus):
    read = read_of(corpus, {"join": 0.5, "join3": 0.3}, data__train=["train", "more"])
    numbers = [*range(300), *range(500, 540)]
    found: Counter[int] = Counter()
    for i, (src, tgt) in read.items():
        members = [int(word[:-1]) for word in src.split() if word[:-1].isdigit()]
        assert members[0] == numbers[i]
        assert members == sorted(members) and members[-1] - members[0] <= 4  # within a source, numbers are consecutive
        assert src == " ".join(map(sentence, members))
        assert tgt == " ".join(f"EN {sentence(each)}" for each in members)
        found[len(members)] += 1
    assert found[2] > 0.4 * 340 and found[3] > 0.15 * 340 and found[1] > 0.15 * 340


def test_most_augmentations_fit(corpus):
    augment = dict.fromkeys(("stop", "typos", "upper", "emoji", "urls", "numbers"), 0.08)
    loader = loader_of(corpus, augment)
    n_augmented = n_plain = 0
    for rows in planned(loader):
        pairs, kinds = (found(rows.numbers, 0) for found in (loader.epoch.pairs, loader.epoch.kinds))
        for pair, kind, src, tgt in zip(pairs, kinds, *loader.reader.read(rows, 0), strict=True):
            if kind:
                is_plain = src == loader.pairs.src(pair).tolist() and tgt == loader.pairs.tgt(pair).tolist()
                n_augmented, n_plain = n_augmented + (not is_plain), n_plain + is_plain
    assert n_augmented > 80
    assert n_plain < 0.15 * n_augmented  # too long


def test_an_epoch_is_a_function_of_seed_and_epoch_in_every_process(corpus):
    loader, again = (loader_of(corpus, ALL | {"join": 0.3}) for _ in range(2))
    epochs = [sides(micro_batches(loader)) for _ in range(2)]
    assert epochs[0] != epochs[1]
    again.n_done = len(again) + 3
    assert sides(micro_batches(again)) == epochs[1][3:]
    rows = planned(loader)[3]
    assert pickle.loads(pickle.dumps(loader.reader)).read(rows, 1) == loader.reader.read(rows, 1)


def test_a_drawn_segmentation_changes_no_text(corpus):
    augment = {"lower": 0.3, "accents": 0.3, "join": 0.3}  # which always fit
    assert read_of(corpus, augment, tokenizer__subword_regularization=0.3) == read_of(corpus, augment)


def test_pairs_augmented_rows_are_segmented_at_random_too(corpus):
    loader = loader_of(corpus, {"upper": 1.0}, tokenizer__subword_regularization=0.3)
    epochs = [loader.reader.read(Rows(np.arange(300), 200, 200), epoch)[0] for epoch in range(3)]
    assert sum(len(set(map(tuple, sources))) == 3 for sources in zip(*epochs, strict=True)) > 270


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_augmented_sources_keep_their_tags(corpus, rate):
    tagged = [{"source": "train", "tag": "a"}, {"source": "more", "tag": "b"}]
    text, config = prepared(
        corpus,
        {"upper": 0.5, "join": 0.5},
        data__train=tagged,
        data__valid={"source": "valid", "tag": "a"},
        data__tag_dropout=0.0,
        tokenizer__subword_regularization=rate,
    )
    loader = TranslationData(config, text).train_dataloader()
    tags = {True: text.tokenizer.tag("a")[0], False: text.tokenizer.tag("b")[0]}
    for rows, batch in zip(planned(loader), micro_batches(loader), strict=True):
        for pair, row in zip(loader.epoch.pairs(rows.numbers, 0), batch.src, strict=True):
            assert row[0] == tags[bool(pair < 300)]
            assert not set(row[1:].tolist()) & set(tags.values())


def test_the_tokens_that_augmentations_and_segmentations_add_are_those_of_the_text(corpus):
    text, _ = prepared(corpus, {"upper": 0.05, "typos": 0.1})
    segment, draw = RandomSegmentation(text.tokenizer, 0.2), random.Random(5).random
    draws = measured(text.train, text.tokenizer, dict.fromkeys(["join", "upper", "stop", "typos"], 0.1), segment, 80)
    assert list(draws.growths) == ["upper", "stop", "typos"]
    assert [figures.ravel().tolist() for figures in draws.growths["stop"]] == [[1, 1], [0, 0]]
    assert [figures[1] for figures in draws.growths["typos"]] == [1, 0]  # targets have none
    lines = [(text.train.src_text(i), text.train.tgt_text(i)) for i in range(300)]
    stored = np.array([[len(ids) for ids in text.tokenizer.encode(pair)] for pair in lines])
    upper = np.array([[len(ids) for ids in text.tokenizer.encode([side.upper() for side in pair])] for pair in lines])
    drawn = np.array([[len(segment(side, draw)) for side in pair] for pair in lines])
    for growth, lengths in ((draws.growths["upper"], upper), (draws.segmentation, drawn)):
        assert growth is not None
        fitting = (lengths <= growth.of(stored.T).T).mean(axis=0)
        assert (fitting > 0.85).all()
    assert (fitting < 0.97).all()


def test_subwords_are_learned_from_augmented_text(corpus):
    plain, capitals = (prepared(corpus, augment)[0].tokenizer for augment in ({}, {"upper": 0.3}))
    text = sentence(5)
    assert len(capitals.encode([text.upper()])[0]) < 0.7 * len(plain.encode([text.upper()])[0])
    assert prepared(corpus, {"typos": 0.3})[0].tokenizer.fingerprint == plain.fingerprint


def test_the_text_of_subwords_has_the_shares():
    pairs = [(f"chien {i}", f"dog {i}") for i in range(2000)]
    lines = list(subword_text(pairs, {"upper": 0.25}))
    n_upper = sum(line.isupper() for line in lines[::2])
    assert 440 < n_upper < 560  # 500 expected, standard deviation 19
    assert [line.isupper() for line in lines[::2]] == [line.isupper() for line in lines[1::2]]
    assert list(subword_text(pairs, {})) == [line for pair in pairs for line in pair]
    assert spelling_shares({"typos": 0.1, "upper": 0.2, "emoji": 0.3}) == {"upper": 0.2}


def test_every_key_of_the_configuration_is_a_augmentation():
    from seq2seq.config.augment import AugmentConfig

    assert {field.name for field in dataclasses.fields(AugmentConfig)} == set(AUGMENTATIONS)
