from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.decoding import Hypothesis
from seq2seq.translation.line_parts import best_combinations, drawn_combinations
from seq2seq.translation.text.splitting import Part, n_cut_sentences
from tests.effort import no_hang


def hypotheses(scores: list[tuple[bool, int]]) -> list[Hypothesis]:
    """As a search returns them: complete ones first, each kind by score."""
    return [
        Hypothesis([], float(score), float(score), finished)
        for finished, score in sorted(scores, key=lambda each: (not each[0], -each[1]))
    ]


parts = st.lists(
    st.tuples(st.lists(st.tuples(st.booleans(), st.integers(-9, 0)), min_size=1, max_size=4), st.integers(1, 5)),
    min_size=1,
    max_size=4,
)


@given(parts, st.integers(1, 6))
def test_the_best_combinations_are_those_that_trying_all_finds(
    parts: list[tuple[list[tuple[bool, int]], int]], n: int
) -> None:
    found, weights = [hypotheses(scores) for scores, _ in parts], [weight for _, weight in parts]
    every = sorted(
        (
            sum(not each.finished for each in chosen),
            -sum(each.score * weight for each, weight in zip(chosen, weights, strict=True)) / sum(weights),
        )
        for chosen in product(*found)
    )
    best = best_combinations(found, weights, n)
    assert [each.n_cut for each in best] == [n_cut for n_cut, _ in every[:n]]
    assert [-each.score for each in best] == pytest.approx([cost for _, cost in every[:n]])
    assert len({tuple(each.ranks) for each in best}) == len(best)
    assert best[0].ranks == [0] * len(parts)


@given(st.integers(1, 6), st.integers(1, 5))
def test_each_sample_of_a_part_is_in_one_sample_of_the_line(n: int, n_parts: int) -> None:
    found = [hypotheses([(number > 1, -number) for number in range(n)]) for _ in range(n_parts)]
    drawn = drawn_combinations(found, range(1, n_parts + 1))
    for part in range(n_parts):
        assert sorted(each.ranks[part] for each in drawn) == list(range(n))
    assert [each[1:] for each in drawn] == sorted((each[1:] for each in drawn), key=lambda each: (each[0], -each[1]))


def test_a_line_of_very_many_parts_takes_no_time() -> None:
    found = [hypotheses([(True, -1), (True, -2)])] * 20_000
    best = best_combinations(found, [1] * 20_000, 3)
    assert [sum(each.ranks) for each in best] == [0, 1, 1]
    with no_hang():
        assert n_cut_sentences(range(1, 100_000), [Part("a", 2 * i) for i in range(50_000)]) == 0
