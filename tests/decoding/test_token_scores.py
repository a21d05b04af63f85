"""The log-probability of each token, as the search itself saw it."""

import functools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import gains
from seq2seq.decoding.search import pad_sources, search
from seq2seq.vocabulary import EOS

from . import reference
from .toy import ToyModel

SOURCES = ((4, 5, 6), (5,), (6, 6, 4, 5, 4), (4, 4), (5, 4, 6))
PREFIXES = ((7,), (), (5, 5, 5, 5), (8, 4), ())


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    n_ids=st.sampled_from([9, 17]),
    changes=st.sampled_from(
        [
            {"beam_size": 1},
            {"beam_size": 3, "n_best": 3},
            {"beam_size": 4, "n_best": 2},
            {"sampling": True, "n_best": 3, "temperature": 0.7, "top_p": 0.9},
        ]
    ),
    rules=st.sampled_from(
        [
            {},
            {"repetition_penalty": 1.7, "min_length_b": 4},
            {"no_repeat_ngram": 1, "min_length_b": 6, "max_length_b": 6, "max_length_a": 0.0},
            {"no_repeat_ngram": 2, "repetition_penalty": 0.7},
        ]
    ),
    prefixes=st.sampled_from([None, PREFIXES]),
    eos_bonus=st.sampled_from([-3.0, 1.0]),
)
@settings(max_examples=25)
def test_they_are_those_of_the_rules_and_add_up(
    seed: int,
    n_ids: int,
    changes: dict[str, Any],
    rules: dict[str, Any],
    prefixes: tuple[tuple[int, ...], ...] | None,
    eos_bonus: float,
) -> None:
    model = ToyModel(seed, n_ids, eos_bonus=eos_bonus)
    config = DecodingConfig(**changes, **rules)
    src = pad_sources(SOURCES, 100)
    found = search(model, src, config, 50, prefixes, token_scores=True)
    for source, prefix, hypotheses in zip(SOURCES, prefixes or [()] * 5, found, strict=True):
        next_logits = functools.partial(model.next_logits, source)
        next_log_probs = reference.constrained(next_logits, config, len(source), prefix)
        for hypothesis in hypotheses:
            whole = (*hypothesis.tokens, EOS) if hypothesis.finished else tuple(hypothesis.tokens)
            expected = [next_log_probs(whole[:i])[token] for i, token in enumerate(whole)]
            assert hypothesis.token_log_probs == pytest.approx(expected, abs=2e-5)
            assert sum(hypothesis.token_log_probs or []) == pytest.approx(hypothesis.log_prob, abs=1e-5)
    # To ask changes nothing else.
    plain = search(model, src, config, 50, prefixes)
    assert [[replace(each, token_log_probs=None) for each in hypotheses] for hypotheses in found] == plain


def test_rounding_makes_no_token_more_than_certain() -> None:
    assert gains([0.0, -1.5, -1.4999999, -4.0]) == pytest.approx([-1.5, 0.0, -2.5], abs=1e-6)
    assert max(gains([0.0, -1.5, -1.4999999, -4.0])) == 0.0
