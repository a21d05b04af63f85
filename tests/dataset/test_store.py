import json
import pickle
import random
import re
from collections import Counter
from itertools import repeat
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DataConfig, TokenizerConfig
from seq2seq.corpus.hashes import hash_lines, hash_pairs
from seq2seq.corpus.judge import Judge
from seq2seq.dataset import store as store_module
from seq2seq.dataset.store import Manifest, PairStore, write_store
from seq2seq.errors import CorpusError, TokenizerError
from seq2seq.tokenizer import Tokenizer

PAIRS = [(f"le chat {i} dort près du feu", f"the cat {i} sleeps") for i in range(25)]
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)


def train(vocab_size=300, tags=()):
    rng = random.Random(0)
    text = ["".join(rng.choices("abcdefghilmnoprstuvé ", k=60)) for _ in range(200)]
    return Tokenizer.train(text, TokenizerConfig(vocab_size=vocab_size), tags)


@pytest.fixture(scope="module")
def tokenizer():
    return train()


@pytest.fixture
def store(tmp_path, tokenizer):
    return write_store(tmp_path / "store", [iter(PAIRS)], tokenizer, keep_text=True)


def contents(store):
    return [(store.src(i).tolist(), store.tgt(i).tolist()) for i in range(len(store))]


@given(pairs=st.lists(st.tuples(lines, lines), min_size=1, max_size=20))
@settings(max_examples=20)
def test_a_store_returns_what_was_written(tmp_path_factory, tokenizer, monkeypatch, pairs):
    monkeypatch.setattr(store_module, "BLOCK", 7)
    directory = tmp_path_factory.mktemp("written") / "store"
    store = write_store(directory, [iter(pairs)], tokenizer, keep_text=True)
    src, tgt = (tokenizer.encode(side) for side in zip(*pairs, strict=True))
    assert len(store) == len(pairs)
    assert contents(store) == list(zip(src, tgt, strict=True))
    assert [(store.src_text(i), store.tgt_text(i)) for i in range(len(pairs))] == pairs
    assert store.src_lengths.tolist() == list(map(len, src))
    assert store.tgt_lengths.tolist() == list(map(len, tgt))
    assert store.hashes["src"].tolist() == sorted(hash_lines(s for s, _ in pairs).tolist())
    assert store.hashes["pair"].tolist() == sorted(hash_pairs(pairs).tolist())


def test_further_references_are_kept_and_counted(tmp_path, tokenizer, monkeypatch, store):
    monkeypatch.setattr(store_module, "BLOCK", 7)
    further = [[f"a cat {i}"] * (i % 3) for i in range(25)]
    several = write_store(tmp_path / "s", [iter(PAIRS)], tokenizer, keep_text=True, references=iter(further))
    several.verify()
    several = PairStore.open(several.directory)
    assert [several.references(i) for i in range(25)] == [
        [tgt, *more] for (_, tgt), more in zip(PAIRS, further, strict=True)
    ]
    assert several.n_references == 25 + sum(map(len, further))
    assert store.references(3) == [PAIRS[3][1]]
    assert store.n_references == 25


def test_ids_are_small_read_only_views(store):
    assert store.src(3).dtype == np.dtype("<u2")
    assert store.src(3).base is not None
    with pytest.raises(ValueError, match="read-only"):
        store.src(3)[0] = 1


def test_ids_beyond_16_bits_are_stored_whole(tmp_path, tokenizer):
    class LargeVocabulary(Tokenizer):
        def __init__(self):
            super().__init__(tokenizer.proto)
            self.vocab_size = 2**16 + 1

        def encode(self, texts, *, n_threads=-1):
            return [[2**16, 5] for _ in texts]

    store = write_store(tmp_path / "store", [iter(PAIRS)], LargeVocabulary(), keep_text=False)
    assert store.tgt(0).tolist() == [2**16, 5]
    assert store.src(0).dtype == np.int32


def test_the_manifest_says_what_made_the_store(tmp_path, tokenizer):
    judge = Judge(DataConfig(drop_duplicates=True))
    made_from = {"x": [1]}
    store = write_store(tmp_path / "s", [iter(PAIRS)], tokenizer, judge=judge, keep_text=False, made_from=made_from)
    manifest = json.loads((tmp_path / "s/manifest.json").read_text())
    assert msgspec.convert(manifest, Manifest) == store.manifest
    assert (manifest["made_from"], manifest["vocab_size"]) == (made_from, 300)
    assert manifest["filters"]["drop_duplicates"] is True


def test_the_pairs_that_are_kept_are_counted_by_source(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(store_module, "BLOCK", 4)
    judge = Judge(DataConfig(drop_duplicates=True))
    sources = [iter(pairs) for pairs in (PAIRS[:9], [("", "blank")], PAIRS[7:], PAIRS[:2])]
    store = write_store(tmp_path / "s", sources, tokenizer, judge=judge, keep_text=True)
    manifest = PairStore.open(store.directory).manifest
    assert manifest.n_pairs_of_sources == [9, 0, 16, 0]
    assert Counter(manifest.report["rejected"]) == Counter(empty=1, duplicate=4)
    assert [store.src_text(i) for i in range(len(store))] == [src for src, _ in PAIRS]


def test_the_sources_of_a_tagged_corpus_begin_with_its_tag(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "BLOCK", 4)
    tokenizer = train(tags=["law", "med"])
    sources = [[*PAIRS[:9], ("", "blank source")], PAIRS[9:15], PAIRS[15:]]
    texts = [pair for source in sources for pair in source]
    store = write_store(tmp_path / "s", list(map(iter, sources)), tokenizer, tags=["med", "", "law"], keep_text=True)
    tags = [*[[5]] * 9, [], *[[]] * 6, *[[4]] * 10]  # law is 4 and med 5; what is blank stays without tokens
    src, tgt = (tokenizer.encode(side) for side in zip(*texts, strict=True))
    assert contents(store) == [(tag + s, t) for tag, s, t in zip(tags, src, tgt, strict=True)]
    assert store.src_lengths.tolist() == [len(tag) + len(s) for tag, s in zip(tags, src, strict=True)]
    assert [(store.src_text(i), store.tgt_text(i)) for i in range(len(store))] == texts
    plain = write_store(tmp_path / "plain", [iter(texts)], tokenizer, keep_text=True)
    assert all((store.hashes[name] == plain.hashes[name]).all() for name in ("src", "pair"))


def test_filters_count_the_tokens_of_the_text_alone(tmp_path):
    tokenizer = train(tags=["law"])
    longest = max(len(ids) for side in zip(*PAIRS, strict=True) for ids in tokenizer.encode(side))
    judge = Judge(DataConfig(max_sentence_tokens=longest))
    pairs = iter([*PAIRS, ("\u200b", "no tokens")])
    store = write_store(tmp_path / "s", [pairs], tokenizer, tags=["law"], judge=judge, keep_text=False)
    assert len(store) == 25
    assert Counter(store.manifest.report["rejected"]) == Counter(empty=1)


def test_a_tag_that_the_tokenizer_does_not_have_leaves_nothing(tmp_path, tokenizer):
    with pytest.raises(TokenizerError, match="has no tag 'law', or any other"):
        write_store(tmp_path / "s", [iter(PAIRS)], tokenizer, tags=["law"], keep_text=False)
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_text_says_so(tmp_path, tokenizer):
    store = write_store(tmp_path / "store", [iter(PAIRS)], tokenizer, keep_text=False)
    assert not store.has_text
    assert not list((tmp_path / "store").glob("*text*"))
    with pytest.raises(CorpusError, match=r"store was written without text; prepare it with keep_text=True"):
        store.tgt_text(0)


@pytest.mark.parametrize("index", [-1, 25])
def test_an_index_outside_is_refused(store, index):
    for read in (store.src, store.tgt, store.src_text, store.tgt_text):
        with pytest.raises(IndexError, match=f"pair {index} of a store of 25"):
            read(index)


def test_pickling_passes_the_path_not_the_data(store):
    pickled = pickle.dumps(store)
    assert len(pickled) < 500
    assert contents(pickle.loads(pickled)) == contents(store)


def interrupted(error):
    yield from PAIRS
    raise error


@pytest.mark.parametrize("error", [CorpusError("train.fr:7: bad"), KeyboardInterrupt(), OSError(28, "full")])
def test_an_interrupted_write_leaves_nothing(tmp_path, tokenizer, error, monkeypatch):
    monkeypatch.setattr(store_module, "BLOCK", 10)
    with pytest.raises(type(error)) as caught:
        write_store(tmp_path / "store", [interrupted(error)], tokenizer, keep_text=True)
    assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_that_is_filtered_away_leaves_nothing_and_says_why(tmp_path, tokenizer):
    judge = Judge(DataConfig(max_sentence_tokens=1))
    pairs = [("", "x"), *repeat(("a long line", "another one"), 3)]
    with pytest.raises(
        CorpusError,
        match=r"none of 4 pairs is left .*\(empty 1, too_long 3\); .*data\.max_sentence_tokens.* data\.clean",
    ):
        write_store(tmp_path / "store", [iter(pairs)], tokenizer, judge=judge, keep_text=False)
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_never_overwritten(store, tokenizer):
    with pytest.raises(CorpusError, match=r"store exists already; delete it"):
        write_store(store.directory, [iter(PAIRS[:1])], tokenizer, keep_text=False)
    assert len(PairStore.open(store.directory)) == 25


@pytest.mark.parametrize("name", ["src.ids.bin", "tgt.offsets.bin", "src.text.bin", "pair.hashes.bin"])
def test_a_file_of_another_size_is_noticed_at_open(store, name):
    path = store.directory / name
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(CorpusError, match=rf"\({name} has {len(data) - 1} bytes instead of {len(data)}\); delete"):
        PairStore.open(store.directory)
    path.unlink()
    with pytest.raises(CorpusError, match=rf"No such file or directory: '{path}'\); delete it, and prepare the corpus"):
        PairStore.open(store.directory)


def test_verify_notices_a_changed_byte(store):
    store.verify()
    path = store.directory / "src.ids.bin"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"src\.ids\.bin was changed: its SHA-256 is another one"):
        PairStore.open(store.directory).verify()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        *(("(?s).*", content, ".*") for content in ("", "[]", "{}")),
        ('"n_pairs": 25', '"n_pairs": 24', r"manifest\.json was changed"),
        (r'"format_version": \d+', '"format_version": 99', r"it has format 99, this program reads \d+"),
    ],
)
def test_a_directory_without_a_whole_manifest_is_no_store(store, old, new, problem):
    path = store.directory / "manifest.json"
    path.write_text(re.sub(old, new, path.read_text(), count=1))
    expected = rf"store is not a whole store \({problem}\); delete it, and prepare the corpus again"
    with pytest.raises(CorpusError, match=expected):
        PairStore.open(store.directory)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="nothing counts the open files")
def test_a_small_store_keeps_no_file_open(tmp_path, tokenizer):
    write_store(tmp_path / "store", [iter([("a b", "c")])], tokenizer, keep_text=True)
    before = len([*Path("/proc/self/fd").iterdir()])
    store = PairStore.open(tmp_path / "store")
    assert len(store) == 1 and len([*Path("/proc/self/fd").iterdir()]) == before
