"""Scores of parts of a test set."""

from dataclasses import replace

import pytest
import sacrebleu

from seq2seq.analysis.slices import tables
from seq2seq.analysis.test_set import AnalysedSentence, Slice
from seq2seq.evaluation.scores import Scoring

BARE = AnalysedSentence(1, None, "A dog runs.", ("A dog ran.",), 0.0, 0.0)


def of_words(n: int) -> AnalysedSentence:
    return replace(BARE, source=" ".join("a" * n))


def names_and_sizes(rows: list[Slice]) -> list[tuple[str, int]]:
    return [(row.name, row.n_sentences) for row in rows]


def test_sentences_are_grouped_by_the_words_of_their_source() -> None:
    found = tables([of_words(n) for n in (51, 5, 6, 1, 0, 10, 30, 31, 50, 12)])
    assert found.keys() == {"source length"}
    assert names_and_sizes(found["source length"]) == [
        ("0 words", 1),
        ("1 to 5 words", 2),
        ("6 to 10 words", 2),
        ("11 to 15 words", 1),
        ("21 to 30 words", 1),
        ("31 to 50 words", 2),
        ("more than 50 words", 1),
    ]


def test_two_characters_are_a_word_where_there_are_no_spaces() -> None:
    sources = ["医生每天早上看见面包。", "หมอเห็นขนมปังทุกเช้า", "a b c d e f"]
    found = tables([replace(BARE, source=source) for source in sources])
    assert names_and_sizes(found["source length"]) == [("6 to 10 words", 3)]


def test_sentences_are_grouped_by_the_count_of_their_rarest_word() -> None:
    found = tables([replace(BARE, rarest_count=n) for n in (101, 0, 3, 1, 4, 20, 100, 21, None)])
    assert found.keys() == {"rarest word"}
    assert names_and_sizes(found["rarest word"]) == [
        ("0", 1), ("1 to 3", 2), ("4 to 20", 2), ("21 to 100", 2), ("more than 100", 1)
    ]  # fmt: skip


def test_sentences_are_grouped_by_domain_and_by_whether_train_has_them() -> None:
    sentences = [replace(BARE, domain=domain) for domain in ("news", "", "captions", "news")]
    sentences = [
        replace(each, is_in_train=known) for each, known in zip(sentences, (True, False, False, None), strict=True)
    ]
    found = {table: names_and_sizes(rows) for table, rows in tables(sentences).items()}
    assert found == {
        "domain": [("news", 2), ("none", 1), ("captions", 1)],
        "source in train": [("yes", 1), ("no", 2)],
    }
    assert tables([replace(BARE, domain="news")] * 2) == {}  # a table of one row


def test_a_slice_is_scored_as_a_corpus_with_an_interval_if_it_is_large_enough() -> None:
    texts = [("The dog runs in the park.", "A dog runs in the park."), ("Two men sit.", "Two men are sitting there.")]
    pairs = [texts[i % 2] for i in range(30)]
    many = [replace(of_words(3), hypothesis=hypothesis, references=(known, "")) for hypothesis, known in pairs]
    (row,) = tables(many)["source length"]
    for metric, score, width in (
        (sacrebleu.BLEU(), row.bleu, row.bleu_half_width),
        (sacrebleu.CHRF(), row.chrf, row.chrf_half_width),
    ):
        hypotheses, references = zip(*pairs, strict=True)
        expected = metric.corpus_score(hypotheses, [references], n_bootstrap=1000)
        assert score == pytest.approx(expected.score, abs=0.006)
        assert width is not None and width == pytest.approx(expected._ci, abs=0.006) and width > 1
    (few,) = tables(many[:29])["source length"]
    assert few.bleu > 0 and few.bleu_half_width is None is few.chrf_half_width


def test_slices_ignore_case_as_the_test_set_does() -> None:
    sentences = [replace(of_words(3), hypothesis="A DOG RUNS FAST.", references=("A dog runs fast.",))] * 30
    for some in (sentences, sentences[:3]):
        with_case, without = (tables(some, Scoring(ignore_case=each))["source length"][0] for each in (False, True))
        assert with_case.bleu < without.bleu == 100
