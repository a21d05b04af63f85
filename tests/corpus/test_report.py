import unicodedata
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus import report
from seq2seq.corpus.hashes import hash_lines, hash_pairs

TRAIN = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
TEST = [("a", "x"), ("a", "z"), ("c", "x"), ("a", "x")]


def ascending(pairs):
    return {"src": np.sort(hash_lines(src for src, _ in pairs)), "pair": np.sort(hash_pairs(pairs))}


def figures():
    sides = {"src": np.array([1, 2, 3, 40]), "tgt": np.array([0, 5, 5, 5])}
    return report.split_report(6, {"empty": 2, "too_long": 0}, sides, ascending(TRAIN)["pair"])


def test_a_split_is_described_by_hand_checked_figures():
    assert figures() == {
        "pairs_read": 6,
        "pairs_kept": 4,
        "rejected": {"empty": 2, "too_long": 0},
        "duplicate_pairs": 1,
        "tokens": {"src": 46, "tgt": 15},
        "length_percentiles": {
            "src": {"50": 2, "90": 40, "99": 40, "100": 40},
            "tgt": {"50": 5, "90": 5, "99": 5, "100": 5},
        },
        "without_tokens": {"src": 0, "tgt": 1},
    }


def test_overlap_counts_held_out_pairs():
    assert report.overlap_report(ascending(TRAIN), ascending(TEST)) == {
        "sources_in_train": 3,
        "pairs_in_train": 2,
    }


def test_what_the_tokenizer_writes_another_way_is_told():
    changes = {"？": "?", "\u0e33": "\u0e4d\u0e32", "\u200c": "▁", "\u0300": "", "\x01": ""}

    def normalized(text: str) -> str:
        return "▁" + "".join(changes.get(each, each) for each in unicodedata.normalize("NFC", text))

    targets = ["好？？", "น้ำ？", "می\u200cخواهم", "e\u0300 \u3000", "a", "\x01"]
    found = report.rewritten(Counter("".join(targets)), normalized)
    assert found == {
        "characters": sum(map(len, targets)),
        "rewritten": 6,
        "examples": ["？ as ? (3×)", "U+0001 as nothing (1×)", "ำ as ํา (1×)", "U+200C as a space (1×)"],
    }
    nothing = report.rewritten(Counter("été"), normalized)
    assert (nothing["rewritten"], nothing["examples"]) == (0, [])
    splits = {"train": figures() | {"rewritten": found}, "valid": figures() | {"rewritten": nothing}}
    splits["test"] = figures() | {"rewritten": {"share": 0.5, "examples": ["？ as ?"]}}  # of an older version
    text = report.render({"tokenizer": {"vocab_size": 300, "fingerprint": "0"}, "splits": splits})
    assert text.count("tgt: no translation can have 6 of 21 characters, which the") == 1
    assert text.count("(1×); tokenizer.normalization=nfc keeps them") == 1
    assert text.count("no translation") == 1


@given(values=st.lists(st.integers(0, 20)))
def test_distinct_hashes_are_counted_across_blocks(values):
    block, report._BLOCK = report._BLOCK, 3
    try:
        assert report.count_distinct(np.sort(np.array(values, dtype=np.uint64))) == len(set(values))
    finally:
        report._BLOCK = block


def test_the_text_says_what_several_sources_are_of_an_epoch():
    large = {"files": ["large.fr", "large.en"], "tag": "", "pairs": 3000, "times": 1.0, "share": 0.625}
    small = {"files": ["small.tsv"], "tag": "law", "pairs": 300, "times": 6.0, "share": 0.375}
    tokenizer = {"vocab_size": 8000, "fingerprint": "0123456789abcdef"}

    def text(*sources):
        return report.render({"tokenizer": tokenizer, "splits": {"train": figures() | {"sources": list(sources)}}})

    assert text(large, small).splitlines()[2:4] == [
        "  large.fr: 3,000 pairs, 1.00 times an epoch, 62.5% of it",
        "  small.tsv (tag law): 300 pairs, 6.00 times an epoch, 37.5% of it",
    ]
    assert text(large) == text()
    assert (
        text(small).splitlines()[2] == "  small.tsv (tag law): 300 pairs, 6.00 times an epoch, 37.5% of it"
    )  # a weight


def test_the_text_says_what_was_left_out_and_what_overlaps():
    test_split = figures() | {"overlap": {"sources_in_train": 3, "pairs_in_train": 2}}
    whole = {
        "tokenizer": {"vocab_size": 8000, "fingerprint": "0123456789abcdef"},
        "splits": {"train": figures(), "test/news": test_split},
    }
    assert report.render(whole).splitlines() == [
        "tokenizer: 8,000 pieces, fingerprint 0123456789ab",
        "train: 4 pairs of 6 read; left out 2 (empty 2)",
        "  src: 46 tokens; length 2 at 50%, 40 at 90%, 40 at 99%, 40 at 100%",
        "  tgt: 15 tokens; length 5 at 50%, 5 at 90%, 5 at 99%, 5 at 100%",
        "  tgt: 1 sentences without tokens",
        "  1 pairs repeat an earlier one",
        "test/news: 4 pairs of 6 read; left out 2 (empty 2)",
        "  src: 46 tokens; length 2 at 50%, 40 at 90%, 40 at 99%, 40 at 100%",
        "  tgt: 15 tokens; length 5 at 50%, 5 at 90%, 5 at 99%, 5 at 100%",
        "  tgt: 1 sentences without tokens",
        "  1 pairs repeat an earlier one",
        "  also in train: 3 sources, 2 whole pairs; data.drop_overlap=exact leaves such pairs out of train",
    ]
