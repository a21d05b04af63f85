import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from seq2seq.config import DataConfig, RunConfig
from seq2seq.corpus.augmentation import AUGMENTATIONS
from seq2seq.corpus.report import render
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import CorpusError
from seq2seq.tokenizer import Tokenizer
from tests.dataset.small_corpus import sentence, tokenizers, write_split
from tests.places import SHARED

MULTI30K = SHARED / "multi30k"


def test_everything_that_training_needs_comes_out(config):
    prepared = prepare(config)
    assert prepared.tokenizer.vocab_size == 400
    assert len(prepared.train) == 301  # of 302, one blank
    assert len(prepared.valid) == 41
    assert {name: len(store) for name, store in prepared.tests.items()} == {"test": 62}
    assert prepared.tokenizer.decode([prepared.train.tgt(7).tolist()]) == [sentence(-8)]
    for store in (prepared.train, prepared.valid, *prepared.tests.values()):
        assert store.manifest.tokenizer == prepared.tokenizer.fingerprint


def test_held_out_text_is_complete_and_raw(config, corpus):
    raw = [("  Deux\u00a0espaces  ", "ﬁn\u2028\t."), ("", "blank source"), ("long " * 100, "")]
    write_split(corpus, "test", raw)
    store = prepare(config).tests["test"]
    assert [(store.src_text(i), store.tgt_text(i)) for i in range(len(store))] == raw


def test_the_report_counts_rejections_and_overlap(config):
    report = prepare(config).report
    assert json.loads(json.dumps(report)) == report
    splits = report["splits"]
    assert list(splits) == ["train", "valid", "test/test"]
    assert Counter(splits["train"]["rejected"]) == Counter(empty=1)
    assert splits["train"]["duplicate_pairs"] == 1
    assert splits["valid"]["overlap"] == {"sources_in_train": 1, "pairs_in_train": 1}
    assert splits["test/test"]["overlap"] == {"sources_in_train": 2, "pairs_in_train": 0}
    assert splits["test/test"]["without_tokens"] == {"src": 1, "tgt": 1}
    assert [Path(name).name for name in splits["valid"]["files"]] == ["valid.fr", "valid.en"]


def test_the_report_counts_characters_of_training_targets_that_no_translation_can_have(config, corpus):
    write_split(corpus, "train", [(sentence(i), f"{sentence(-i)} m²！") for i in range(300)])
    report = prepare(config).report
    found = report["splits"]["train"]["rewritten"]
    assert (found["rewritten"], found["examples"]) == (600, ["² as 2 (300×)", "！ as ! (300×)"])
    assert "rewritten" not in report["splits"]["valid"]
    config.tokenizer.normalization = "nfc"
    prepared = prepare(config)
    assert prepared.report["splits"]["train"]["rewritten"]["rewritten"] == 0
    assert prepared.tokenizer.decode([prepared.train.tgt(7).tolist()]) == [f"{sentence(-7)} m²！"]


def test_the_report_says_what_each_source_is_of_an_epoch(config, corpus):
    config.data.train = ["train", "valid", {"src": "test.fr", "tgt": "test.en"}]
    config.data.temperature = 2.0
    sources = prepare(config).report["splits"]["train"]["sources"]
    assert [[Path(file).name for file in source.pop("files")] for source in sources] == [
        ["train.fr", "train.en"],
        ["valid.fr", "valid.en"],
        ["test.fr", "test.en"],
    ]
    # Of 302, 41 and 62 pairs a blank one each in train and test; 41 x (301 / 41) ** 0.5 = 111.1, and 135.5 likewise.
    assert sources == [
        {"tag": "", "pairs": 301, "rejected": {"empty": 1}, "times": 1.0, "share": 301 / 548},
        {"tag": "", "pairs": 41, "rejected": {}, "times": 111 / 41, "share": 111 / 548},
        {"tag": "", "pairs": 61, "rejected": {"empty": 1}, "times": 136 / 61, "share": 136 / 548},
    ]


def test_a_weight_changes_an_epoch_and_not_what_is_prepared(config):
    config.data.train = ["train", "valid"]
    prepared = prepare(config)
    config.data.train = [{"source": "train", "weight": 0}, {"source": "valid", "weight": 2}]
    only_valid = prepare(config)
    sources = only_valid.report["splits"]["train"]["sources"]
    assert [(each["pairs"], each["times"]) for each in sources] == [(301, 0.0), (41, 2.0)]
    assert only_valid.train.directory == prepared.train.directory  # the same text is prepared once
    assert only_valid.seen.n_pairs == 41 and prepared.seen.n_pairs == 342


def test_lengths_are_those_that_an_epoch_of_training_has(config, corpus):
    pairs = [("Un chat dort. Un chien court. Il pleut.", "A cat."), ("Deux chats dorment.", "Two cats. They sleep.")]
    write_split(corpus, "two", [*pairs, ("", "left out"), ("also left out", "")])
    config.data.train = ["train", {"source": "two", "tag": "med"}]
    config.data.temperature = 100.0
    prepared = prepare(config)
    encode = prepared.tokenizer.encode
    small = 301 * (2 / 301) ** 0.01  # pairs of the small source in an epoch, hardly less than of the large one
    times = round(small) // 2
    assert (times, round(small) % 2) == (143, 0)
    train = [sentence(i) for i in range(300)] + [sentence(0)]
    epoch = np.array([len(ids) for ids in encode([*train, *[src for src, _ in pairs] * times])])  # without tags
    expected = np.percentile(epoch, [0, 1, 5, 25, 50, 75, 95, 99, 99.9, 100], method="inverted_cdf")
    assert list(prepared.seen.src_tokens.values()) == expected.tolist()
    assert prepared.seen.tgt_tokens["100"] == max(map(len, encode([sentence(-i - 1) for i in range(300)])))
    assert prepared.seen.n_pairs == 303
    n_lines = 301 + 2 * times
    assert prepared.seen.sentences[:3] == pytest.approx([(301 + times) / n_lines, 0, times / n_lines], abs=1e-6)
    assert prepared.seen.usual_sentences == 3
    assert "src: 75.6% of the lines have one sentence, 24.4% of 3" in render(prepared.report)


def test_tagged_text_comes_out_with_its_tag(config):
    config.data.train = ["train", {"source": "valid", "tag": "med"}]
    config.data.valid = {"source": "valid", "tag": "med"}
    config.data.test = {"plain": "test", "both": [{"source": "test", "tag": "med"}, "valid"]}
    prepared = prepare(config)
    assert prepared.tokenizer.tags == {"med": 4}
    begins = {"train": prepared.train, "valid": prepared.valid, **prepared.tests}
    n_tagged = {name: [int(4 in store.src(i)[:1]) for i in range(len(store))] for name, store in begins.items()}
    # Of the 62 pairs of test the second is blank.
    assert n_tagged["train"] == [0] * 301 + [1] * 41
    assert n_tagged["valid"] == [1] * 41
    assert n_tagged["plain"] == [0] * 62
    assert n_tagged["both"] == [1, 0] + [1] * 60 + [0] * 41
    assert prepared.tokenizer.decode([prepared.valid.src(5).tolist()]) == [sentence(304)]
    assert [source["tag"] for source in prepared.report["splits"]["train"]["sources"]] == ["", "med"]
    assert "valid.fr (tag med): 41 pairs" in render(prepared.report)


def test_another_tag_is_another_tokenizer_and_another_corpus(config, tmp_path):
    def prepared_with(tag):
        config.data.train = config.data.valid = {"source": "train", "tag": tag} if tag else "train"
        prepared = prepare(config)
        return prepared.tokenizer.fingerprint, prepared.train.directory, prepared.valid.directory

    found = [prepared_with(tag) for tag in ("", "law", "med")]
    assert all(len(set(column)) == 3 for column in zip(*found, strict=True))
    assert len(tokenizers(tmp_path)) == 3
    assert [prepared_with(tag) for tag in ("", "law", "med")] == found


def test_held_out_pairs_that_the_model_cannot_hold_are_an_error(config, corpus):
    config.model.max_length = 30
    write_split(corpus, "train", [(sentence(i), sentence(-i - 1)) for i in range(300)])
    write_split(corpus, "valid", [(sentence(1), sentence(-2))])
    write_split(corpus, "test", [("a " * 31, "b"), ("a", "b")])
    with pytest.raises(CorpusError, match=r"test/test: 1 pairs .* more than 29 tokens.*raise model.max_length=30"):
        prepare(config)
    write_split(corpus, "test", [("a " * 12, "b"), ("a", "b")] * 3)
    config.data.robustness = True
    with pytest.raises(CorpusError, match=r"test/test/\w+: .* more than 29 tokens.*; leave data.robustness out, and"):
        prepare(config)


def test_the_tokenizer_learns_from_both_sides_of_the_training_text_and_from_no_other(config):
    prepared = prepare(config)
    lines = [line for i in [*range(300)] for line in (sentence(i), sentence(-i - 1))]
    lines += ["", "blank", sentence(0), sentence(-1)]
    assert Tokenizer.train(lines, config.tokenizer).fingerprint == prepared.tokenizer.fingerprint


def test_further_references_of_held_out_text_are_stored_and_reported(config, corpus, tmp_path):
    without = prepare(config)
    n = len(without.tests["test"])
    for split in ("train", "test"):
        (corpus / f"{split}.en.1").write_text("another\n" + "\n" * (n - 1))
    (corpus / "test.en.2").write_text("\n" * (n - 1) + "a third\n")
    prepared = prepare(config)
    test = prepared.tests["test"]
    assert test.references(0) == ["another target", "another"]
    assert test.references(n - 1) == [test.tgt_text(n - 1), "a third"]
    assert [test.references(i) for i in range(1, n - 1)] == [[test.tgt_text(i)] for i in range(1, n - 1)]
    splits = prepared.report["splits"]
    assert splits["test/test"]["references"] == n + 2
    files = {Path(file).name for file in splits["test/test"]["files"]}
    assert files == {"test.fr", "test.en", "test.en.1", "test.en.2"}
    assert f"  {n + 2} references, several for some sources" in render(prepared.report)
    # Nothing else is made again: training has one target a source.
    assert prepared.train.directory == without.train.directory
    assert prepared.valid.directory == without.valid.directory
    assert test.directory != without.tests["test"].directory
    assert "references" not in splits["valid"]


def test_the_report_says_where_targets_are_tokens(config, corpus):
    tokens, text = [("un chat .", "a cat ."), ("oui", "yes")], [("un chat.", "a cat."), ("deux .", "two cats!")]
    write_split(corpus, "valid", tokens)
    write_split(corpus, "test", text)
    report = prepare(config).report
    assert report["splits"]["valid"]["tokenised"] and not report["splits"]["test/test"]["tokenised"]
    assert render(report).count("  tgt: tokens with spaces between them, not text") == 1


@pytest.mark.parametrize("n", [1, 63])
def test_references_of_another_length_are_named(config, corpus, n):
    (corpus / "test.en.1").write_text("one\n" * n)
    with pytest.raises(CorpusError, match=rf"test\.en has 62 lines but .*test\.en\.1 has {n}; line n of one"):
        prepare(config)


def test_all_problems_of_all_splits_are_reported_before_any_work(config, corpus, tmp_path):
    (corpus / "train.en").unlink()
    config.data.valid = {"src": "train.fr", "tgt": "dev.en"}
    config.data.test = {"news": "news.tsv", "test": "test"}
    with pytest.raises(CorpusError) as caught:
        prepare(config)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["data.train", "data.valid", "data.test.news"]
    assert "train.en" in lines[0]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_faulty_file_leaves_no_half_entry(config, corpus, tmp_path, split):
    with (corpus / f"{split}.fr").open("ab") as file:
        file.write(b"\xff\n")
    with pytest.raises(CorpusError, match=rf"{split}\.fr:\d+: byte 1 of the line \(0xff\) is not UTF-8"):
        prepare(config)
    leftovers = [path for path in (tmp_path / "cache").rglob("*") if path.name.endswith(".tmp")]
    assert leftovers == []


def test_a_cache_that_cannot_be_written_is_named(config, tmp_path):
    (tmp_path / "file").touch()
    config.data.cache_dir = str(tmp_path / "file/cache")
    with pytest.raises(CorpusError, match=r"cannot keep prepared text under .*file/cache: .*set data\.cache_dir"):
        prepare(config)


@pytest.mark.skipif(not MULTI30K.is_dir(), reason=f"no corpus in {MULTI30K}")
def test_multi30k_has_its_published_size(tmp_path):
    prepared = prepare(
        RunConfig(
            data=DataConfig(
                dir=str(MULTI30K), valid="val", test={"flickr": "test_2016_flickr"}, cache_dir=str(tmp_path)
            )
        )
    )
    assert (len(prepared.train), len(prepared.valid), len(prepared.tests["flickr"])) == (29_000, 1_014, 1_000)
    with gzip.open(MULTI30K / "test_2016_flickr.en.gz", "rt", encoding="utf-8", newline="\n") as file:
        references = [line.rstrip("\n") for line in file]
    assert [prepared.tests["flickr"].tgt_text(i) for i in range(1000)] == references
    # The corpus's own train and valid share one pair; no test pair is in train.
    assert prepared.report["splits"]["valid"]["overlap"] == {"sources_in_train": 3, "pairs_in_train": 1}
    assert prepared.report["splits"]["test/flickr"]["overlap"]["pairs_in_train"] == 0


def test_robustness_adds_stores_and_leaves_the_report_as_it_was(config, corpus):
    (corpus / "test.en.1").write_text("one more\n" * 62)
    plain = prepare(config)
    config.data.robustness = True
    robust = prepare(config)
    assert robust.report == plain.report
    assert list(robust.tests) == ["test", *(f"test/{name}" for name in AUGMENTATIONS)]
    assert {len(robust.tests[f"test/{name}"]) for name in AUGMENTATIONS} == {62, 31, 21}
    assert robust.tests["test/upper"].references(0) == ["ANOTHER TARGET", "ONE MORE"]
    assert robust.tests["test/typos"].references(0) == ["another target", "one more"]
    assert robust.tests["test/join"].references(1)[1] == "one more one more"


def test_a_missing_test_set_is_named_once_and_not_in_every_augmentation(config):
    config.data.test, config.data.robustness = ["nowhere", "test"], True
    with pytest.raises(CorpusError) as raised:
        prepare(config)
    assert [line.split(": ")[0] for line in str(raised.value).splitlines()] == ["data.test.nowhere"] * 2


def test_an_unknown_augmentation_is_named_with_its_test_set(config):
    config.data.test = {"chat": {"source": "test", "augmentation": "typo"}}
    with pytest.raises(CorpusError, match=r"^data\.test\.chat: there is no augmentation 'typo'; choose from upper, "):
        prepare(config)


def test_subwords_of_large_text_are_learned_from_a_sample_of_each_language(config, monkeypatch, caplog):
    caplog.set_level("INFO")
    learned, train = [], Tokenizer.train

    def noted(lines, *args):
        learned.append(list(lines))
        return train(learned[-1], *args)

    monkeypatch.setattr(Tokenizer, "train", noted)
    for config.tokenizer.max_sentences in (302, 100, 99, 100):  # 302: all
        config.data.cache_dir += "_"
        prepare(config)
    pairs, *samples = [list(zip(lines[::2], lines[1::2], strict=True)) for lines in learned]
    assert [len(sample) for sample in (pairs, *samples)] == [302, 100, 99, 100]
    assert pairs[:3] == [(sentence(i), sentence(-i - 1)) for i in range(3)]
    places = sorted(pairs.index(pair) for pair in samples[0])
    assert len(set(places)) >= 99 and samples[0] == samples[2]  # one pair comes twice
    assert all(10 < sum(begin <= place < begin + 75 for place in places) < 40 for begin in (0, 75, 150, 225))
    assert "learning from 100 of 302 pairs, which are drawn at random" in caplog.text
