"""Scores of labels, by hand and by scikit-learn where it is installed."""

import random

import numpy as np
import pytest

from seq2seq.evaluation.labels import confusion, label_report, label_scores

LABELS = ["a", "b", "c", "unseen"]
TRUE = list("aaaabbbcc")
SAID = list("aaabbbabb")


def test_a_row_is_a_true_label_and_a_column_what_was_said() -> None:
    assert confusion(TRUE, SAID, LABELS).tolist() == [[3, 1, 0, 0], [1, 2, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]


def test_scores_are_those_worked_out_by_hand() -> None:
    scores = label_scores(confusion(TRUE, SAID, LABELS))
    np.testing.assert_allclose(scores["precision"], [3 / 4, 2 / 5, 0, 0])  # nobody said c
    np.testing.assert_allclose(scores["recall"], [3 / 4, 2 / 3, 0, 0])
    np.testing.assert_allclose(scores["f1"], [3 / 4, 1 / 2, 0, 0])
    assert scores["accuracy"] == pytest.approx(5 / 9)
    assert scores["macro_f1"] == pytest.approx((3 / 4 + 1 / 2 + 0) / 3), "a label that does not occur does not count"


def test_scores_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = random.Random(1)
    true, said = ([rng.choice("abcd") for _ in range(97)] for _ in range(2))
    scores = label_scores(confusion(true, said, list("abcde")))
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(true, said))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(true, said, average="macro"))
    expected = metrics.precision_recall_fscore_support(true, said, labels=list("abcd"))
    for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
        np.testing.assert_allclose(scores[name][:4], values)


def test_intervals_are_those_of_resampled_sentences() -> None:
    """The same by drawing sentences, which takes longer."""
    true, said = TRUE * 20, SAID * 20
    found = label_report(confusion(true, said, LABELS), LABELS)
    rng = np.random.default_rng(5)
    macro = []
    for _ in range(1000):
        chosen = rng.integers(len(true), size=len(true))
        counts = confusion([true[i] for i in chosen], [said[i] for i in chosen], LABELS)
        macro.append(float(label_scores(counts)["macro_f1"]))
    low, high = np.percentile(macro, [2.5, 97.5])
    assert found["macro_f1"].half_width == pytest.approx((high - low) / 2, rel=0.15)
    assert found["macro_f1"].mean == pytest.approx(np.mean(macro), abs=0.005)
    assert found["macro_f1"].signature == "labels:4|n:180|bs:1000|seed:12345"
    assert set(found) == {"accuracy", "macro_f1"} | {f"{m}/{x}" for m in ("precision", "recall", "f1") for x in LABELS}
