"""IBM model 1 against a slow one that follows the paper, and on a corpus whose alignment is known."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DataConfig
from seq2seq.inspection import paired_text
from seq2seq.inspection.paired_text import n_word_pairs, training_pairs
from seq2seq.inspection.word_aligner import TranslationTable, WordAligner
from tests.translating import LEXICON, sentences

# Knight's example (1999): "casa" and "verde" are told apart by the pair that has only one of them.
HOUSES = [("green house", "casa verde"), ("the house", "la casa")]


def slow_table(pairs: list[tuple[str, str]], n_iterations: int) -> dict[tuple[str, str], float]:
    """t(target | source) by dictionaries and loops; the source has the empty word, too."""
    t: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(n_iterations):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)
        for src, tgt in pairs:
            words = ["", *src.split()]
            for target in tgt.split():
                normal = sum(t[target, source] for source in words)
                for source in words:
                    counts[target, source] += t[target, source] / normal
                    totals[source] += t[target, source] / normal
        t = defaultdict(float, {pair: count / totals[pair[1]] for pair, count in counts.items()})
    return t


def probability(table: TranslationTable, target: str, source: str) -> float:
    found = table._lookup(np.array([table.src_words[source]]), np.array([table.tgt_words[target]]))
    return float(found[0, 0])


words = st.sampled_from(["a", "b", "c", "d", "e"])
lines = st.lists(words, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=30)
@given(pairs=st.lists(st.tuples(lines, lines), min_size=1, max_size=6), n_iterations=st.integers(1, 4))
def test_it_is_what_loops_over_the_paper_give(pairs: list[tuple[str, str]], n_iterations: int) -> None:
    table = TranslationTable.train(pairs, n_iterations)
    slow = slow_table(pairs, n_iterations)
    for target in table.tgt_words:
        for source in table.src_words:
            assert probability(table, target, source) == pytest.approx(slow[target, source], abs=1e-12)


def test_one_iteration_by_hand() -> None:
    # "casa" gets 1/3 of itself from each of NULL, green, house in the first pair, and from NULL, the, house in the
    # second; house gives 2/3 to casa, and 1/3 each to verde and la.
    table = TranslationTable.train(HOUSES, n_iterations=1)
    assert probability(table, "casa", "house") == pytest.approx(1 / 2)
    assert probability(table, "verde", "house") == pytest.approx(1 / 4)
    assert probability(table, "verde", "green") == pytest.approx(1 / 2)


def test_a_lexicon_is_found_from_sentences() -> None:
    pairs = sentences(300)
    aligner = WordAligner.train(pairs)
    for src, tgt in sentences(20, seed=4):
        sure, possible = aligner.links(src, tgt)
        assert sure == {(i, i) for i in range(len(src.split()))} <= possible
    assert len(aligner.forward.src_words) == len(LEXICON) + 1  # without case and full stops


def test_the_nearest_of_two_places_of_a_word_is_linked() -> None:
    pairs = [("un chat", "a cat"), ("un chien", "a dog"), ("dort", "sleeps"), ("et", "and")]
    sure, _ = WordAligner.train(pairs, n_iterations=20).links("un chat et un chien", "a cat and a dog")
    assert sure == {(i, i) for i in range(5)}


def test_room_is_counted_in_the_words_that_are_aligned() -> None:
    assert n_word_pairs(("医生看见", "a b")) == 5 * 3  # with the empty word


def test_unknown_words_and_blank_lines_have_no_links() -> None:
    aligner = WordAligner.train(HOUSES)
    assert aligner.links("zebra", "zèbre") == (set(), set())
    assert aligner.links("", "casa") == aligner.links("house", " ") == (set(), set())
    assert WordAligner.train([("", "")]).links("green house", "casa verde") == (set(), set())


def test_a_word_that_the_empty_word_explains_has_no_link() -> None:
    # "ne" comes with every sentence, whatever its source is.
    pairs = [("a", "A ne"), ("b", "B ne"), ("c", "C ne"), ("d", "D ne")]
    table = TranslationTable.train(pairs, n_iterations=10)
    assert table.links("a", "A ne") == {(0, 0)}


def test_an_aligner_learns_from_all_of_each_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_text, "_MOST_CELLS", 2 * 5 * 4)  # a pair of one word each costs 4
    for name in "ab":
        for language in ("fr", "en"):
            (tmp_path / f"{name}.{language}").write_text("".join(f"{name}{number}\n" for number in range(20)))
    pairs = training_pairs(DataConfig(dir=str(tmp_path), train=["a", "b"]))
    assert pairs == [(word, word) for word in ("a0", "a4", "a8", "a12", "a16", "b0", "b4", "b8", "b12", "b16")]
