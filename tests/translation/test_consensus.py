"""The mean of sacreBLEU's own sentence scores, computed faster."""

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from seq2seq.translation.consensus import consensus
from seq2seq.translation.options import METRICS

SACREBLEU = {"chrf": CHRF(), "bleu": BLEU(effective_order=True)}
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


@pytest.mark.parametrize("metric", METRICS)
def test_of_two_texts_it_is_exactly_the_score_of_sacrebleu(metric: str) -> None:
    for one, other in itertools.product(TEXTS, repeat=2):
        scores = [SACREBLEU[metric].sentence_score(a, [b]).score for a, b in ((one, other), (other, one))]
        assert consensus([one, other], metric) == scores


@given(texts=texts, metric=st.sampled_from(METRICS))
def test_it_is_the_mean_over_all_others(texts: list[str], metric: str) -> None:
    expected = [
        statistics.mean(
            SACREBLEU[metric].sentence_score(text, [other]).score for j, other in enumerate(texts) if j != i
        )
        for i, text in enumerate(texts)
    ]
    assert consensus(texts, metric) == pytest.approx(expected, abs=1e-9)


def test_what_most_say_wins_and_what_is_alone_gets_nothing() -> None:
    texts = ["the cat sleeps", "a dog barks", "the cat sleeps", "the cat slept"]
    for metric in METRICS:
        scores = consensus(texts, metric)
        assert scores[0] == scores[2] == max(scores) and min(scores) == scores[1]
        assert consensus(["the cat"], metric) == [0.0] and consensus([], metric) == []


def test_other_metrics_are_unknown() -> None:
    with pytest.raises(ValueError, match="metric='comet' is not one of chrf, bleu"):
        consensus(["a", "b"], "comet")
