"""Diverse beam search against the same written from its definition, and its limits."""

import functools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.search import search
from seq2seq.decoding.sentences import pad_sources
from seq2seq.vocabulary import EOS

from . import reference
from .toy import ToyModel

SOURCES = ((4, 5, 6), (5,), (6, 6, 4, 5, 4), (4, 4), (5, 4, 6))


def diverse_beam_search(next_log_probs: reference.NextLogProbs, config: DecodingConfig, limit: int) -> list[Hypothesis]:
    """Vijayakumar et al. (2018), with Hamming diversity: one group after another at each step, up to the limit."""
    size = config.beam_size // config.diverse_groups
    live: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)] for _ in range(config.diverse_groups)]
    ended: list[list[Hypothesis]] = [[] for _ in live]
    cut: list[list[Hypothesis]] = [[] for _ in live]
    for _ in range(limit):
        chosen: Counter[int] = Counter()
        for group, beam in enumerate(live):
            extensions = [
                (log_prob + gain - config.diversity * chosen[token], (*tokens, token), log_prob + gain)
                for tokens, log_prob in beam
                for token, gain in next_log_probs(tokens).items()
            ]
            cut[group] += [hypothesis(each, config, False) for each in beam if not next_log_probs(each[0])]
            extensions.sort(key=lambda extension: -extension[0])
            for _, tokens, log_prob in extensions[:size]:
                if tokens[-1] == EOS:
                    ended[group].append(hypothesis((tokens, log_prob), config, True))
            live[group] = [(tokens, p) for _, tokens, p in extensions if tokens[-1] != EOS][:size]
            chosen.update(tokens[-1] for tokens, _ in live[group])
    found = []
    for beam, finished, unfinished in zip(live, ended, cut, strict=True):
        unfinished += [hypothesis(each, config, False) for each in beam]
        found += (reference.by_score(finished) + reference.by_score(unfinished))[: min(config.n_best, size)]
    distinct: list[Hypothesis] = []
    for each in sorted(found, key=lambda each: (-each.finished, -each.score)):
        if (each.tokens, each.finished) not in [(other.tokens, other.finished) for other in distinct]:
            distinct.append(each)
    return distinct[: config.n_best]


def hypothesis(found: tuple[tuple[int, ...], float], config: DecodingConfig, finished: bool) -> Hypothesis:
    tokens, log_prob = found
    score = log_prob / reference.penalty(max(1, len(tokens)), config.normalization, config.alpha)
    return Hypothesis(list(tokens[:-1] if finished else tokens), log_prob, score, finished)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ids=st.sampled_from([7, 12, 23]),
    groups=st.sampled_from([(1, 4), (2, 2), (2, 6), (3, 3), (2, 4)]),
    diversity=st.sampled_from([0.1, 0.9, 20.0]),
    rules=st.sampled_from([{}, {"no_repeat_ngram": 2, "repetition_penalty": 1.3}, {"min_length_b": 4}]),
    eos_bonus=st.sampled_from([-2.0, 0.0, 3.0]),
    data=st.data(),
)
@settings(max_examples=25)
def test_groups_find_what_their_definition_finds(
    seed: int,
    n_ids: int,
    groups: tuple[int, int],
    diversity: float,
    rules: dict[str, Any],
    eos_bonus: float,
    data: st.DataObject,
) -> None:
    n_groups, beam_size = groups
    n_best = data.draw(st.integers(1, beam_size))
    model = ToyModel(seed, n_ids, eos_bonus=eos_bonus)
    config = DecodingConfig(
        beam_size=beam_size, diverse_groups=n_groups, diversity=diversity, n_best=n_best, max_length_a=1.0, **rules
    )
    config = replace(config, max_length_b=4, alpha=0.8)
    found = search(model, pad_sources(SOURCES, 100), config, 50)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        next_log_probs = reference.constrained(functools.partial(model.next_logits, source), config, len(source))
        reference.assert_same(hypotheses, diverse_beam_search(next_log_probs, config, len(source) + 4))
        assert len({(tuple(h.tokens), h.finished) for h in hypotheses}) == len(hypotheses)


def test_the_first_group_is_a_beam_of_its_own_and_the_others_are_elsewhere() -> None:
    model = ToyModel(seed=6, n_ids=23, eos_bonus=1.0)
    src = pad_sources(SOURCES, 100)
    config = DecodingConfig(beam_size=2, n_best=2, max_length_a=1.0, max_length_b=4)
    alone = search(model, src, config, 50)
    config = replace(config, beam_size=6, n_best=6, diverse_groups=3, diversity=50.0)
    for hypotheses, first_group in zip(search(model, src, config, 50), alone, strict=True):
        assert all(each in hypotheses for each in first_group)
        assert len({each.tokens[0] for each in hypotheses}) >= 3


def test_groups_of_other_sentences_make_no_difference() -> None:
    model = ToyModel(seed=8, n_ids=20, eos_bonus=2.0)
    config = DecodingConfig(beam_size=6, n_best=6, diverse_groups=3, diversity=0.5)
    together = search(model, pad_sources(SOURCES, 100), config, 100)
    backwards = search(model, pad_sources(SOURCES[::-1], 100), config, 100)[::-1]
    alone = [search(model, pad_sources([source], 100), config, 100)[0] for source in SOURCES]
    assert together == backwards == alone
