"""The mean of sacreBLEU's own sentence scores, computed faster."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from seq2seq.translation.consensus import consensus, nearest

SACREBLEU = CHRF()
TEXTS = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "A man in blue shirt stands on a ladder, cleaning the window.",
    "A man cleans windows.",
    "Oh !",
    "",
    "   ",
    "ça  va, l'été ?",
    "a a a a a a a",
    "A man in a blue shirt is standing on a ladder cleaning a window.",
]
texts = st.lists(st.text(alphabet="ab .,é", max_size=12), min_size=2, max_size=6) | st.lists(
    st.sampled_from(TEXTS), min_size=2, max_size=6
)


@given(texts=texts)
def test_it_is_the_mean_over_all_others(texts: list[str]) -> None:
    expected = [
        statistics.mean(SACREBLEU.sentence_score(text, [other]).score for j, other in enumerate(texts) if j != i)
        for i, text in enumerate(texts)
    ]
    assert consensus(texts) == pytest.approx(expected, abs=1e-9)


def test_what_is_alone_gets_nothing() -> None:
    assert consensus(["the cat"]) == [0.0] and consensus([]) == []


@given(texts=texts, reference=st.sampled_from(TEXTS))
def test_the_nearest_has_the_highest_score_of_sacrebleu(texts: list[str], reference: str) -> None:
    scores = [SACREBLEU.sentence_score(text, [reference]).score for text in texts]
    assert scores[nearest(texts, reference)] == pytest.approx(max(scores), abs=1e-9)
