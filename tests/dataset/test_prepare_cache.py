"""What is prepared again, and what is taken from the cache."""

import copy
import errno
import logging
import os
import pickle
import shutil
import threading
from collections import Counter

import pytest
from filelock import FileLock

from seq2seq.config import CleanConfig, TokenizerConfig
from seq2seq.corpus.compression import open_binary
from seq2seq.corpus.hashes import file_sha256
from seq2seq.corpus.named import library
from seq2seq.dataset import prepare as prepare_module
from seq2seq.dataset.prepare import prepare
from seq2seq.dataset.store import PairStore
from seq2seq.errors import CorpusError
from seq2seq.tokenizer import Tokenizer
from tests.dataset.small_corpus import sentence, stores, tokenizers


def test_a_second_run_opens_the_cache(config, caplog, monkeypatch):
    first = prepare(config)

    def not_again(*_, **__):
        raise AssertionError("prepared again")

    monkeypatch.setattr(prepare_module, "write_store", not_again)
    monkeypatch.setattr(Tokenizer, "train", not_again)
    monkeypatch.setattr(prepare_module, "locked", not_again)  # a whole cache may be read-only
    again = prepare(config)
    assert again.report == first.report
    assert again.train.manifest == first.train.manifest


def test_one_changed_byte_of_training_text_makes_everything_new(config, corpus, tmp_path):
    old = prepare(config)
    n_stores = len(stores(tmp_path))
    path = corpus / "train.en"
    data = bytearray(path.read_bytes())
    data[3] = ord("z")
    path.write_bytes(data)
    new = prepare(config)
    assert new.tokenizer.fingerprint != old.tokenizer.fingerprint
    assert len(stores(tmp_path)) == 2 * n_stores


@pytest.mark.parametrize(
    ("place", "name", "n_kept"),
    [("training a tokenizer", "train", (0, 0)), ("encoding train", "train", (1, 0)), ("encoding test", "test", (1, 2))],
)
def test_what_is_made_of_a_file_that_changes_meanwhile_is_not_kept(
    config, corpus, tmp_path, monkeypatch, place, name, n_kept
):
    file = corpus / f"{name}.fr"

    class Changing(logging.Handler):
        def emit(self, record):
            if record.getMessage().startswith(place):
                file.write_bytes(b"Z" + file.read_bytes()[1:])

    logger = logging.Logger("prepare", logging.INFO)
    logger.addHandler(Changing())
    monkeypatch.setattr(prepare_module, "logger", logger)
    with pytest.raises(CorpusError, match=f"^{file} changed while it was read; start again$"):
        prepare(config)
    assert (len(tokenizers(tmp_path)), len(stores(tmp_path))) == n_kept


def test_one_changed_byte_of_a_test_set_renews_that_set_only(config, corpus, tmp_path):
    old = prepare(config)
    path = corpus / "test.fr"
    path.write_bytes(b"Z" + path.read_bytes()[1:])
    new = prepare(config)
    assert new.tests["test"].src_text(0)[0] == "Z"
    assert new.train.directory == old.train.directory
    assert new.tests["test"].directory != old.tests["test"].directory
    assert len(tokenizers(tmp_path)) == 1


@pytest.mark.parametrize(
    ("section", "key", "value", "renewed"),
    [
        ("data", "max_sentence_tokens", 20, {"train"}),
        ("data", "max_length_ratio", 3.0, {"train"}),
        ("data", "drop_duplicates", True, {"train"}),
        ("data", "drop_overlap", "exact", {"tokenizer", "train", "valid", "test"}),
        ("data", "clean", CleanConfig(rules=["words"], words=7.0), {"tokenizer", "train", "valid", "test"}),
        ("data", "temperature", 5.0, set()),
        ("tokenizer", "subword_regularization", 0.1, {"train"}),
        ("tokenizer", "vocab_size", 390, {"tokenizer", "train", "valid", "test"}),
        ("tokenizer", "model_type", "unigram", {"tokenizer", "train", "valid", "test"}),
        ("optim", "lr", 0.5, set()),
    ],
)
def test_a_changed_setting_renews_what_depends_on_it(config, section, key, value, renewed):
    def parts(prepared):
        paths = {"train": prepared.train, "valid": prepared.valid, **prepared.tests}
        found = {name: store.directory.name for name, store in paths.items()}
        return found | {"tokenizer": prepared.tokenizer.fingerprint}

    old = parts(prepare(config))
    changed = copy.deepcopy(config)
    setattr(getattr(changed, section), key, value)
    new = parts(prepare(changed))
    assert {name for name in old if old[name] != new[name]} == renewed


def test_the_other_direction_is_another_corpus(config):
    there = prepare(config)
    config.data.src_lang, config.data.tgt_lang = "en", "fr"
    back = prepare(config)
    assert back.valid.src_text(3) == there.valid.tgt_text(3)
    assert back.valid.directory != there.valid.directory


def test_train_keeps_text_only_for_sampling(config):
    assert not prepare(config).train.has_text
    config.tokenizer.subword_regularization = 0.1
    sampled = prepare(config).train
    assert sampled.src_text(2) == sentence(2)


def test_a_given_tokenizer_is_used_and_none_trained(config, tmp_path):
    other = Tokenizer.train([sentence(i) for i in range(500, 900)], TokenizerConfig(vocab_size=350))
    prepared = prepare(config, tokenizer=other)
    assert prepared.tokenizer is other
    assert prepared.train.manifest.tokenizer == other.fingerprint
    assert tokenizers(tmp_path) == set()
    resumed = prepare(config, tokenizer=Tokenizer(other.proto))
    assert resumed.train.directory == prepared.train.directory


@pytest.mark.parametrize("damage", ["cut", "flipped", "stray file"])
def test_a_damaged_store_is_made_again_and_said(config, caplog, damage):
    first = prepare(config)
    path = first.train.directory / "tgt.ids.bin"
    data = bytearray(path.read_bytes())
    match damage:
        case "cut":
            path.write_bytes(data[:-2])
        case "flipped":
            before = path.stat()
            data[10] ^= 1
            path.write_bytes(data)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        case "stray file":
            directory = first.train.directory
            for file in directory.iterdir():
                file.unlink()
            (directory / "x").touch()
    again = prepare(config)
    again.train.verify()
    assert again.train.manifest == first.train.manifest
    assert "the cached text of train is damaged and is made again" in caplog.text


@pytest.mark.parametrize("change", [lambda data: data[:-7], lambda data: data.replace(b"abc", b"abd"), lambda _: b""])
def test_a_damaged_tokenizer_is_trained_again_and_said(config, caplog, tmp_path, change):
    fingerprint = prepare(config).tokenizer.fingerprint
    (name,) = tokenizers(tmp_path)
    path = tmp_path / "cache/tokenizers" / name
    damaged = change(path.read_bytes())
    path.write_bytes(damaged if damaged != path.read_bytes() else damaged[:-3] + b"   ")
    assert prepare(config).tokenizer.fingerprint == fingerprint
    assert f"the cached tokenizer is damaged and is made again ({path} was changed" in caplog.text


def test_the_cache_is_where_the_environment_says(config, tmp_path, monkeypatch):
    config.data.cache_dir = ""
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path / "by_variable"))
    assert prepare(config).train.directory.is_relative_to(tmp_path / "by_variable/stores")
    monkeypatch.delenv("SEQ2SEQ_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert prepare(config).train.directory.is_relative_to(tmp_path / "home/.cache/seq2seq/stores")


def test_who_wants_what_another_one_is_preparing_waits_for_it(config, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    waits, train = threading.Event(), Tokenizer.train
    second = threading.Thread(target=prepare, args=[config])

    class Lock(FileLock):
        def acquire(self, *args, **options):
            if threading.current_thread() is second:
                waits.set()
            return super().acquire(*args, **options)

    def train_while_another_one_waits(*args):
        second.start()
        assert waits.wait(60)
        return train(*args)

    monkeypatch.setattr(library, "FileLock", Lock)
    monkeypatch.setattr(Tokenizer, "train", train_while_another_one_waits)
    prepare(config)
    second.join()
    assert [caplog.text.count(what) for what in ("training a tokenizer", "encoding train", "data report")] == [1, 1, 2]


def test_a_augmentation_and_its_version_decide_the_store_and_plain_text_keeps_its_own(config, tmp_path, monkeypatch):
    plain = prepare(config)
    config.data.test = {"test": "test", "chat": {"source": "test", "augmentation": "upper"}}
    both = prepare(config)
    assert both.tests["test"].directory == plain.tests["test"].directory
    assert both.tests["chat"].src_text(0) == plain.tests["test"].src_text(0).upper()
    assert both.tests["chat"].references(0) == ["ANOTHER TARGET"]
    assert both.train.directory == plain.train.directory
    n_stores = len(stores(tmp_path))
    config.data.test["chat"]["augmentation"] = "lower"
    assert prepare(config).tests["chat"].references(0) == ["another target"]
    assert len(stores(tmp_path)) == n_stores + 1
    monkeypatch.setattr(prepare_module, "AUGMENTATIONS_VERSION", 0)
    assert prepare(config).tests["chat"].directory != both.tests["chat"].directory
    assert len(stores(tmp_path)) == n_stores + 2


@pytest.mark.parametrize("drop_overlap", ["off", "exact"])
def test_training_text_is_read_twice_and_other_text_once(config, corpus, monkeypatch, drop_overlap):
    """Once to learn subwords, and once to encode. To drop overlap, held-out text is read once more for both."""
    lines, hashed = Counter[str](), Counter[str]()

    def opened(path):
        lines[path.name] += 1
        return open_binary(path)

    def digest(path):
        hashed[path.name] += path.parent == corpus
        return file_sha256(path)

    monkeypatch.setattr("seq2seq.corpus.reader.open_binary", opened)
    monkeypatch.setattr(prepare_module, "file_sha256", digest)
    config.data.drop_overlap = drop_overlap
    prepare(config)
    assert set(hashed.values()) == {1} and hashed.keys() == lines.keys()
    once = 1 if drop_overlap == "off" else 2
    assert lines == {
        f"{split}.{lang}": n for split, n in (("train", 2), ("valid", once), ("test", once)) for lang in ("fr", "en")
    }
    before = lines.copy()
    prepare(config)
    assert lines == before


@pytest.mark.parametrize("place", ["cache", "cache/stores"])
def test_a_cache_that_disappears_while_it_is_opened_is_made_again(config, tmp_path, monkeypatch, place):
    first = prepare(config)

    def remove_and_verify(store):
        monkeypatch.undo()
        shutil.rmtree(tmp_path / place)
        store.verify()

    monkeypatch.setattr(PairStore, "verify", remove_and_verify)
    again = prepare(config)
    assert again.report == first.report
    again.train.verify()


def test_a_cache_that_disappears_after_it_is_opened_is_not_missed(config, tmp_path):
    store = prepare(config).valid
    expected = store.src_text(3), store.hashes["src"].tolist()
    shutil.rmtree(tmp_path / "cache")
    assert (store.src_text(3), store.hashes["src"].tolist()) == expected
    with pytest.raises(CorpusError, match=r"is not a whole store \(.*No such file or directory"):
        store.verify()
    with pytest.raises(CorpusError, match="is not a whole store"):  # as a worker does
        pickle.loads(pickle.dumps(store))


def test_what_another_machine_has_made_is_taken_though_nfs_hid_it_at_first(tmp_path):
    def make():
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    seen = iter([None, None, "there"])
    assert prepare_module._find_or_make(tmp_path / "x.lock", "text", lambda: next(seen), make) == "there"
    with pytest.raises(OSError, match="not empty"):
        prepare_module._find_or_make(tmp_path / "x.lock", "text", lambda: None, make)
