"""Phrases that must come: against every sequence there is, and what happens where they cannot."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Required, share_out
from seq2seq.decoding.search import pad_sources, search
from seq2seq.vocabulary import EOS, UNK

from . import reference
from .toy import SOURCES, ToyModel

Phrases = Sequence[Sequence[int]]
phrases = st.lists(st.lists(st.integers(EOS + 1, EOS + 3), min_size=1, max_size=3), max_size=3)


def occurrences(tokens: Sequence[int], phrase: Sequence[int]) -> int:
    n = len(phrase)
    return sum(list(tokens[i : i + n]) == list(phrase) for i in range(len(tokens) - n + 1))


def n_missing(tokens: Sequence[int], required: Phrases) -> int:
    """A phrase that is listed k times must come k times."""
    distinct = {tuple(phrase) for phrase in required}
    return sum(max(0, [*map(tuple, required)].count(each) - occurrences(tokens, each)) for each in distinct)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    required=phrases,
    more=st.integers(1, 2),
    n_best=st.sampled_from([1, 3, 40]),
    normalization=st.sampled_from(["none", "length"]),
    eos_bonus=st.sampled_from([-2.0, 0.0, 3.0]),
    prefix=st.sampled_from([(), (5,)]),
)
@settings(max_examples=30)
def test_a_beam_that_holds_everything_finds_the_best_of_all_sequences_with_the_phrases(
    seed: int,
    required: list[list[int]],
    more: int,
    n_best: int,
    normalization: str,
    eos_bonus: float,
    prefix: tuple[int, ...],
) -> None:
    n_tokens = sum(map(len, required))
    if n_tokens + len(prefix) + more > 6:
        return
    model = ToyModel(seed, n_ids=EOS + 4, eos_bonus=eos_bonus)
    limit = n_tokens + len(prefix) + more
    config = DecodingConfig(beam_size=3**6, n_best=n_best, max_length_a=0.0, max_length_b=limit, alpha=0.7)
    config = replace(config, normalization=normalization)
    sources = SOURCES[:2]
    found = search(model, pad_sources(sources, 100), config, 50, [prefix, ()], required=[required, []])
    for source, forced, wanted, hypotheses in zip(sources, [prefix, ()], [required, []], found, strict=True):
        next_logits = functools.partial(model.next_logits, source)
        next_log_probs = reference.constrained(next_logits, config, len(source), forced)
        everything = reference.best_of_all(next_log_probs, range(EOS + 1, EOS + 4), limit, 10**6, normalization, 0.7)
        expected = [each for each in everything if each.finished and not n_missing(each.tokens, wanted)]
        cut = [each for each in everything if not each.finished]
        expected += sorted(cut, key=lambda each: (n_missing(each.tokens, wanted), -each.score))
        reference.assert_same(hypotheses, expected[:n_best])
        assert [each.missing for each in hypotheses] == [n_missing(each.tokens, wanted) for each in hypotheses]


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    all_required=st.tuples(*[phrases] * len(SOURCES)),
    beam_size=st.sampled_from([2, 3, 5]),
    rules=st.sampled_from([{}, {"no_repeat_ngram": 1}, {"no_repeat_ngram": 2, "repetition_penalty": 1.5}]),
    eos_bonus=st.sampled_from([-3.0, 0.0, 4.0]),
    data=st.data(),
)
@settings(max_examples=25)
def test_small_beams_have_all_phrases_and_right_scores_whatever_else_is_asked(
    seed: int,
    all_required: tuple[list[list[int]], ...],
    beam_size: int,
    rules: dict[str, Any],
    eos_bonus: float,
    data: st.DataObject,
) -> None:
    n_best = data.draw(st.integers(1, beam_size))
    prefixes = data.draw(st.sampled_from([((),) * 5, ((7,), (), (5, 5), (8, 4), ())]))
    model = ToyModel(seed, n_ids=13, eos_bonus=eos_bonus)
    config = DecodingConfig(beam_size=beam_size, n_best=n_best, max_length_a=1.0, max_length_b=3, **rules)
    src = pad_sources(SOURCES, 100)
    found = search(model, src, config, 50, prefixes, required=all_required)
    plain = search(model, src, config, 50, prefixes)
    for row, (source, prefix, required, hypotheses) in enumerate(
        zip(SOURCES, prefixes, all_required, found, strict=True)
    ):
        if not required:
            assert hypotheses == plain[row]
        # The room for the phrases is there, so the best always has them.
        assert hypotheses[0].missing == 0
        limit = max(len(source) + 3, len(prefix) + sum(map(len, required)) + 1)
        for each in hypotheses:
            assert each.missing == n_missing(each.tokens, required)
            assert not (each.finished and each.missing)
            assert tuple(each.tokens[: len(prefix)]) == prefix
            assert len(each.tokens) + each.finished <= limit
            assert math.isfinite(each.log_prob) and all(token > EOS for token in each.tokens)
            if not rules:  # phrases change no probability
                next_log_probs = functools.partial(model.next_log_probs, source)
                whole = each.tokens + [EOS] * each.finished
                assert each.log_prob == pytest.approx(reference.log_prob_of(next_log_probs, whole), abs=2e-5)
        if row == seed % len(SOURCES):
            alone = search(model, src[row : row + 1], config, 50, [prefix], required=[required])
            assert alone == [hypotheses]


def test_no_room_for_a_phrase_is_visible() -> None:
    model = ToyModel(seed=6, n_ids=14, eos_bonus=1.0)
    config = DecodingConfig(beam_size=3, n_best=2, max_length_a=0.0, max_length_b=9)
    required = [[[4, 5, 6, 7], [8, 9]], [[5], [UNK]], [], [[7] * 9], [[6]]]
    found = search(model, pad_sources(SOURCES, 100), config, 5, required=required)
    assert [hypotheses[0].missing for hypotheses in found] == [1, 1, 0, 1, 0]
    assert [hypotheses[0].finished for hypotheses in found] == [False, False, True, False, True]
    for hypotheses in found:
        assert all(token > EOS for each in hypotheses for token in each.tokens)


@given(required=phrases, tokens=st.lists(st.integers(EOS + 1, EOS + 3), max_size=9))
@example(required=[[4, 5, 4]] * 2, tokens=[4, 5, 4, 5, 4])  # the second begins where the first ends
def test_phrases_are_found_wherever_they_are(required: list[list[int]], tokens: list[int]) -> None:
    assert Required([required], torch.device("cpu")).phrases[0].n_missing(tokens) == n_missing(tokens, required)


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6), places=st.integers(0, 12))
def test_places_are_shared_out_fairly(counts: list[int], places: int) -> None:
    shares = share_out(counts, places)
    assert sum(shares) == min(places, sum(counts))
    assert all(share <= count for share, count in zip(shares, counts, strict=True))
    filled = [bank for bank, count in enumerate(counts) if count]
    if places and filled:
        assert shares[filled[-1]] > 0
    for low, high in itertools.combinations(filled, 2):  # who has less has no more candidates, or is lower by one
        assert shares[low] <= shares[high] or shares[high] == counts[high]
        assert shares[high] <= shares[low] + 1 or shares[low] == counts[low]
