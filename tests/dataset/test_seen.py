import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.dataset import seen as seen_module
from seq2seq.dataset.seen import PERCENTS, LineSample, Looks, SeenSource, SeenText, seen_in_epoch

NAMES = ["0", "1", "5", "25", "50", "75", "95", "99", "99.9", "100"]
ONE = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]


PLAIN = Looks({}, 0.0, 0.0)


def source(src, tgt=(1,), sentences=ONE, times=1.0, looks=PLAIN):
    return SeenSource(np.array(src), np.array(tgt), sentences, looks, times)


def test_lengths_counted_by_hand():
    # 1,000 sources: one of 2 tokens, 9 of 3, 989 of 7, one of 30; 1 target
    found = seen_in_epoch([source([2] + [3] * 9 + [7] * 989 + [30], [4], [970, 20, 10, 0, 0, 0, 0, 0, 0, 0])])
    assert found == SeenText(
        n_pairs=1000,
        src_tokens=dict(zip(NAMES, [2, 3, 7, 7, 7, 7, 7, 7, 7, 30], strict=True)),
        tgt_tokens=dict.fromkeys(NAMES, 4),
        sentences=[0.97, 0.02, 0.01, 0, 0, 0, 0, 0, 0, 0],
        looks=PLAIN,
    )
    assert (found.longest_source, found.usual_sentences) == (7, 1)


def test_a_source_counts_as_often_as_an_epoch_repeats_it():
    # An epoch has 6 sources of 10 tokens and 2 x 2 of 20, so 60% do not exceed 10.
    found = seen_in_epoch(
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
    lengths = seen_in_epoch([source([1])])
    assert dataclasses.replace(lengths, sentences=shares).usual_sentences == expected


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 30), max_size=9), st.integers(1, 3)), min_size=1, max_size=4).filter(
        lambda sources: any(lengths for lengths, _ in sources)
    )
)
def test_percentiles_are_those_of_the_whole_epoch(sources):
    epoch = [length for lengths, times in sources for length in lengths * times]
    made = seen_in_epoch(
        [
            source(np.array(lengths, dtype=int), np.array(lengths, dtype=int), times=float(times))
            for lengths, times in sources
        ]
    )
    expected = np.percentile(epoch, PERCENTS, method="inverted_cdf").tolist()
    assert list(made.src_tokens.values()) == list(made.tgt_tokens.values()) == expected


def test_json_gives_them_back():
    lengths = seen_in_epoch([source([3, 5], [4, 8], looks=Looks({"’": 0.5, "\u00a0": 0.25}, 0.125, 0.25))])
    assert SeenText.from_json(json.loads(json.dumps(dataclasses.asdict(lengths)))) == lengths


@pytest.mark.parametrize(
    "change",
    [
        {"src_tokens": {"0": 1}},
        {"n_pairs": None},
        {"sentences": ["x"]},
        {"tgt_tokens": 3},
        {"looks": {"titles": 0}},
        {"looks": []},
    ],
)
def test_other_content_is_refused(change):
    content = dataclasses.asdict(seen_in_epoch([source([3])]))
    others: list[object] = [content | change, {}, [], None, "text"]
    for damaged in others:
        with pytest.raises(ValueError, match="not the lengths of a training text"):
            SeenText.from_json(damaged)


# --- sentences ---


def sample_of(*blocks):
    sample = LineSample()
    for lines in blocks:
        sample.add(len(lines), dict(enumerate(lines)))
    return sample


def test_sentences_of_lines_are_counted():
    first = ["Un chat dort.", "", "Il dort. Elle part.", "A. B. C.", "Oui ! Non. Bien. " * 7]
    sample = sample_of(first, ["Deux chats. Trois chiens."])
    assert sample.sentences() == [2, 2, 0, 0, 0, 0, 0, 0, 0, 1]


@given(blocks=st.lists(st.integers(0, 9), max_size=12), most=st.integers(2, 7))
def test_sampled_lines_lie_evenly_spread(blocks, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen_module, "_MOST_LINES", most)
        sample, n_lines = LineSample(), 0
        for size in blocks:
            sample.add(size, {i: str(n_lines + i) for i in range(size)})
            n_lines += size
        step = seen_module.step_after(n_lines)
        assert sample._lines == {i: str(i) for i in range(0, n_lines, step)}
        assert len(sample._lines) <= most
        assert step == 1 or n_lines > most * step / 2  # no sparser than it must be


# --- looks ---


def test_looks_are_shares_of_the_lines_that_are_not_blank():
    sample = sample_of(["L’été, l’hiver.", " ", "UN CHAT DORT !", "Un Chat Et Un Chien", "Il n'a rien."])
    assert sample.looks() == Looks({"’": 0.25, ",": 0.25, ".": 0.5, "!": 0.25, "'": 0.25}, 0.25, 0.25)
    assert LineSample().looks() == PLAIN


def test_looks_come_in_the_same_order_in_every_process():
    """Python draws the order of a set anew in each process, and the manifest of a store has a checksum."""
    assert list(sample_of(["».«,!?;:-()"]).looks().characters) == sorted("».«,!?;:-()")


def test_looks_of_an_epoch_count_a_source_as_often_as_it_is_repeated():
    # 6 lines of one source and 2 x 2 of another.
    found = seen_in_epoch([
        source([10] * 6, looks=Looks({"'": 0.5, ".": 1.0}, 0.0, 0.5)),
        source([10] * 2, looks=Looks({"’": 0.25, ".": 0.5}, 1.0, 0.0), times=2.0),
    ])  # fmt: skip
    assert found.looks == Looks({"'": 0.3, ".": 0.8, "’": 0.1}, 0.4, 0.3)


def test_a_model_of_an_older_version_does_not_say_how_its_lines_looked():
    content = dataclasses.asdict(seen_in_epoch([source([3])]))
    del content["looks"]
    assert SeenText.from_json(content).looks is None
