from collections import Counter

import numpy as np
import pytest

from seq2seq.config import DataConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.judge import Judge, JudgeInOrder, good_pairs
from seq2seq.errors import CorpusError


def reasons(config, pairs, src_lengths=None, tgt_lengths=None, held_out=None):
    """The reason of each pair, or "" if it stays; by default a word is a token."""
    given = (src_lengths, tgt_lengths)
    lengths = [np.array(given[side] or [len(pair[side].split()) for pair in pairs], dtype=np.int32) for side in (0, 1)]
    judge = Judge(config, held_out)
    found = judge.judge(pairs, (lengths[0], lengths[1])).reasons
    named = [judge.reasons[number] if number >= 0 else "" for number in found]
    assert judge.counted(found) == Counter(filter(None, named))
    return named


def test_blank_text_and_text_without_tokens_are_empty():
    pairs = [("a", "b"), (" \u00a0", "b"), ("a", ""), ("\ufffd", "b")]
    assert reasons(DataConfig(), pairs, [1, 2, 1, 0], [1, 1, 0, 1]) == ["", "empty", "empty", "empty"]


def test_a_side_may_have_max_tokens_but_no_more():
    pairs = [("a a a", "b b b"), ("a a a a", "b"), ("a", "b b b b")]
    assert reasons(DataConfig(max_sentence_tokens=3), pairs) == ["", "too_long", "too_long"]


def test_the_ratio_is_of_the_longer_over_the_shorter_side():
    pairs = [("a a", "b"), ("a", "b b"), ("a a a", "b"), ("a", "b b b")]
    assert reasons(DataConfig(max_length_ratio=2.0), pairs) == ["", "", "length_ratio", "length_ratio"]
    assert reasons(DataConfig(), [("a", "b " * 200)]) == [""]


def test_the_first_of_equal_pairs_stays():
    pairs = [("a", "b"), ("a", "c"), ("a", "b"), ("d", "c"), *[(f"{i}", f"{i}") for i in range(9_997)], ("a", "c")]
    config = DataConfig(drop_duplicates=True)
    assert list(good_pairs(JudgeInOrder(config), iter(pairs))) == [
        *pairs[:2],
        *pairs[3:-1],
    ]  # the last is of another block
    assert list(good_pairs(JudgeInOrder(DataConfig()), iter(pairs))) == pairs


def test_the_first_reason_counts():
    config = DataConfig(
        max_sentence_tokens=9, max_length_ratio=2.0, drop_overlap="near", clean=CleanConfig(rules=["numbers"])
    )
    held_out = HeldOut([("le chat dort sur le lit ce soir", "the cat sleeps on the bed tonight")], near=True)
    pairs = {
        ("", "x x x"): "empty",
        ("il y a 5 chats", "a " * 30 + "6"): "numbers",
        ("a " * 30, "b"): "too_long",
        ("a", "b b b"): "length_ratio",
        ("le chat dort sur le lit ce soir !", "a cat sleeps there tonight"): "overlap",
        ("le chat dort sur le lit ce soirs !", "a cat sleeps there tonight"): "near_overlap",
        ("oui", "yes"): "",
    }
    assert reasons(config, list(pairs), held_out=held_out) == list(pairs.values())
    with pytest.raises(CorpusError, match=r"none of 1 pairs is left .*empty 1"):
        list(good_pairs(JudgeInOrder(config), iter([("", "x")])))
