import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.dataset import lengths as lengths_module
from seq2seq.dataset.lengths import PERCENTS, SentenceCounter, SourceLengths, TrainingLengths, training_lengths

NAMES = ["0", "1", "5", "25", "50", "75", "95", "99", "99.9", "100"]
ONE = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def source(src, tgt=(1,), sentences=ONE, times=1.0):
    return SourceLengths(np.array(src), np.array(tgt), sentences, times)


def test_lengths_counted_by_hand():
    # 1,000 sources: one of 2 tokens, 9 of 3, 989 of 7, one of 30; 1 target
    found = training_lengths([source([2] + [3] * 9 + [7] * 989 + [30], [4], [970, 20, 10, 0, 0, 0, 0, 0, 0, 0])])
    assert found == TrainingLengths(
        n_pairs=1000,
        src_tokens=dict(zip(NAMES, [2, 3, 7, 7, 7, 7, 7, 7, 7, 30], strict=True)),
        tgt_tokens=dict.fromkeys(NAMES, 4),
        sentences=[0.97, 0.02, 0.01, 0, 0, 0, 0, 0, 0, 0],
    )
    assert (found.longest_source, found.usual_sentences) == (7, 1)


def test_a_source_counts_as_often_as_an_epoch_repeats_it():
    # An epoch has 6 sources of 10 tokens and 2 x 2 of 20, so 60% do not exceed 10.
    found = training_lengths(
        [
            source([10] * 6, sentences=[6, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            source([20] * 2, sentences=[0, 1, 0, 0, 0, 0, 0, 0, 0, 0], times=2.0),
        ]
    )
    assert (found.n_pairs, found.src_tokens["50"], found.src_tokens["75"]) == (8, 10, 20)
    assert found.sentences[:3] == [0.6, 0.4, 0]
    assert found.usual_sentences == 2


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([1.0], 1),
        ([0.96, 0.04], 1),
        ([0.95, 0.05], 2),
        ([0.95, 0.02, 0.03], 2),  # two or more
        ([0.9, 0.0, 0.0, 0.1], 4),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0], 10),
        ([], 1),
    ],
)
def test_usual_is_what_one_line_in_twenty_has(shares, expected):
    lengths = training_lengths([source([1])])
    assert dataclasses.replace(lengths, sentences=shares).usual_sentences == expected


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 30), max_size=9), st.integers(1, 3)), min_size=1, max_size=4).filter(
        lambda sources: any(lengths for lengths, _ in sources)
    )
)
def test_percentiles_are_those_of_the_whole_epoch(sources):
    epoch = [length for lengths, times in sources for length in lengths * times]
    made = training_lengths(
        [
            source(np.array(lengths, dtype=int), np.array(lengths, dtype=int), times=float(times))
            for lengths, times in sources
        ]
    )
    expected = np.percentile(epoch, PERCENTS, method="inverted_cdf").tolist()
    assert list(made.src_tokens.values()) == list(made.tgt_tokens.values()) == expected


def test_json_gives_them_back():
    lengths = training_lengths([source([3, 5], [4, 8])])
    assert TrainingLengths.from_json(json.loads(json.dumps(dataclasses.asdict(lengths)))) == lengths


@pytest.mark.parametrize(
    "change", [{"src_tokens": {"0": 1}}, {"n_pairs": None}, {"sentences": ["x"]}, {"tgt_tokens": 3}]
)
def test_other_content_is_refused(change):
    content = dataclasses.asdict(training_lengths([source([3])]))
    others: list[object] = [content | change, {}, [], None, "text"]
    for damaged in others:
        with pytest.raises(ValueError, match="not the lengths of a training text"):
            TrainingLengths.from_json(damaged)


# --- sentences ---


def test_sentences_of_lines_are_counted():
    counter = SentenceCounter()
    counter.add(["Un chat dort.", "", "Il dort. Elle part.", "A. B. C.", "Oui ! Non. Bien. " * 7])
    counter.add(["Deux chats. Trois chiens."])
    assert counter.histogram() == [2, 2, 0, 0, 0, 0, 0, 0, 0, 1]


@given(blocks=st.lists(st.integers(0, 9), max_size=12), most=st.integers(2, 7))
def test_counted_lines_lie_evenly_spread(blocks, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lengths_module, "_MOST_LINES", most)
        counter, n_lines = SentenceCounter(), 0
        for size in blocks:
            counter.add([str(n_lines + i) for i in range(size)])
            n_lines += size
        step = counter._step
        assert counter._lines == [str(i) for i in range(0, n_lines, step)]
        assert len(counter._lines) <= most
        assert step == 1 or n_lines > most * step / 2  # no sparser than it must be
