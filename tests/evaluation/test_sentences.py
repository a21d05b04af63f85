import math

import pytest

from seq2seq.evaluation.scores import corpus_scores
from seq2seq.evaluation.sentences import sentence_bleu, sentence_chrf

HYPOTHESES = ["A dog runs.", "Nothing like it", "Two men sit on a bench.", ""]
REFERENCES = [["A dog runs."], ["A cat sleeps here."], ["Two men are on a bench.", "Two men sit."], ["A word"]]


def test_each_sentence_has_the_score_of_a_corpus_of_its_own():
    found = sentence_chrf(HYPOTHESES, REFERENCES)
    for score, hypothesis, known in zip(found, HYPOTHESES, REFERENCES, strict=True):
        assert score == pytest.approx(corpus_scores([hypothesis], [known], ["chrf"])["chrf"].score)
    assert found[0] == 100 and found[3] == 0 < found[1] < found[2] < 100


def test_the_most_similar_reference_counts_and_a_blank_one_is_similar_to_none():
    assert sentence_chrf(["A dog runs."] * 3, [["No.", "A dog runs."], ["A dog runs.", ""], ["", "Who?"]])[:2] == [
        100,
        100,
    ]
    assert sentence_chrf(["A", ""], [["", "A"], ["", " "]]) == sentence_chrf(["A", ""], [["A"], [""]])


def test_bleu_of_a_short_sentence_has_its_own_n_grams_and_the_length_of_a_reference_with_words():
    # By hand: both words and their pair match, longer n-grams there are none; 2 tokens for 6 give exp(1 - 6 / 2).
    found = sentence_bleu(["A dog", "A dog"], [["", "A dog runs fast here."], [" "]])
    assert found == pytest.approx([100 * math.exp(1 - 6 / 2), 0])


def test_a_sentence_without_spaces_is_no_single_word() -> None:
    assert sentence_bleu(["医生每天早上看见米饭。"], [["医生每天早上看见面包。"]])[0] > 50
