from collections import Counter

import numpy as np

from seq2seq.config import DataConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.corpus.filters import PairFilter
from seq2seq.corpus.hashes import hash_pairs


def keep(filters, pairs, src_lengths=None, tgt_lengths=None):
    def lengths(given, side):
        return np.array(given or [len(pair[side].split()) for pair in pairs], dtype=np.int32)

    kept, rejected = filters.keep_alone(pairs, lengths(src_lengths, 0), lengths(tgt_lengths, 1))
    left = [pair for pair, stays in zip(pairs, kept, strict=True) if stays]
    kept[kept] = filters.keep_new(hash_pairs(left), filters.sketches(left), rejected)
    return kept.tolist()


def test_blank_text_and_text_without_tokens_are_empty():
    filters = PairFilter(DataConfig())
    pairs = [("a", "b"), (" \u00a0", "b"), ("a", ""), ("\ufffd", "b")]
    assert keep(filters, pairs, [1, 2, 1, 0], [1, 1, 0, 1]) == [True, False, False, False]
    assert filters.rejected["empty"] == 3


def test_a_side_may_have_max_tokens_but_no_more():
    filters = PairFilter(DataConfig(max_sentence_tokens=3))
    assert keep(filters, [("a a a", "b b b"), ("a a a a", "b"), ("a", "b b b b")]) == [True, False, False]
    assert filters.rejected["too_long"] == 2


def test_the_ratio_is_of_the_longer_over_the_shorter_side():
    filters = PairFilter(DataConfig(max_length_ratio=2.0))
    pairs = [("a a", "b"), ("a", "b b"), ("a a a", "b"), ("a", "b b b")]
    assert keep(filters, pairs) == [True, True, False, False]
    assert filters.rejected["length_ratio"] == 2


def test_without_a_ratio_any_is_kept():
    assert keep(PairFilter(DataConfig()), [("a", "b " * 200)]) == [True]


def test_the_first_of_equal_pairs_stays_within_and_across_blocks():
    filters = PairFilter(DataConfig(drop_duplicates=True))
    assert keep(filters, [("a", "b"), ("a", "c"), ("a", "b")]) == [True, True, False]
    assert keep(filters, [("a", "c"), ("d", "c")]) == [False, True]
    assert Counter(filters.rejected) == Counter(duplicate=2)


def test_alternative_translations_are_no_duplicates_and_repetitions_stay_by_default():
    assert keep(PairFilter(DataConfig(drop_duplicates=True)), [("Stop!", "Arrête !"), ("Stop!", "Stop !")]) == [
        True,
        True,
    ]
    assert keep(PairFilter(DataConfig()), [("a", "b"), ("a", "b")]) == [True, True]


def test_each_pair_counts_under_its_first_reason_only():
    filters = PairFilter(DataConfig(max_sentence_tokens=2, max_length_ratio=1.5, drop_duplicates=True))
    pairs = [("", "b b b"), ("a a a", "b"), ("a a", "b"), ("a", "b"), ("a", "b"), ("a a a", "b")]
    assert keep(filters, pairs) == [False, False, False, True, False, False]
    assert Counter(filters.rejected) == Counter(empty=1, too_long=2, length_ratio=1, duplicate=1)


def test_a_judgement_is_that_of_both_parts():
    config = DataConfig(
        max_sentence_tokens=9,
        max_length_ratio=2.0,
        drop_duplicates=True,
        drop_overlap="near",
        clean=CleanConfig(rules=["numbers", "near_duplicate"]),
    )
    held_out = [("le chat dort sur le lit ce soir", "the cat sleeps on the bed tonight")]
    pairs = [
        ("", "x"),
        ("a", "b b b"),
        ("le chat dort sur le lit ce soir !", "a cat sleeps there tonight"),
        ("la petite fille joue dans le grand jardin", "the little girl plays in the large garden"),
        ("la petite fille joue dans le grand jardin !", "the little girl plays in the large garden!"),
        ("la petite fille joue dans le grand jardin", "the little girl plays in the large garden"),
        ("il y a 5 chats", "there are 6 cats"),
        ("oui", "yes"),
    ]
    lengths = [np.array([len(side.split()) for side in sides], dtype=np.int32) for sides in zip(*pairs, strict=True)]
    whole, parts = PairFilter(config, held_out), PairFilter(config, held_out)
    judged = whole.judge(pairs, hash_pairs(pairs), whole.measured(pairs), (lengths[0], lengths[1]))
    assert keep(parts, pairs) == (judged < 0).tolist()
    assert parts.rejected == whole.rejected
    assert [whole.reasons[number] for number in judged if number >= 0] == [
        "empty",
        "length_ratio",
        "overlap",
        "near_duplicate",
        "duplicate",
        "numbers",
    ]
