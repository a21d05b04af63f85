import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.groups import comparable, connected
from seq2seq.corpus.hashes import hash_lines

numbers = st.integers(0, 12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ça va ?", "ça va!"),
        ("Ça va\u202f?", "Ça  va?"),
        ("J'ai faim.", "J’ai faim"),
        ("« Oui. »", '"Oui"'),
        ("Straße", "STRASSE"),
        ("e\u0301te\u0301", "été"),
        ("\ufb01n ①", "fin 1"),
        ("co\u00adop", "\ufeffcoop\u200b"),
        ("?!", " ?! "),
    ],
)
def test_case_punctuation_space_and_compatibility_forms_make_no_difference(one: str, other: str) -> None:
    assert comparable(one) == comparable(other) != ""


@pytest.mark.parametrize(("one", "other"), [("ou", "où"), ("?", "!"), ("...", "?"), ("C++", "C"), ("1", "2")])
def test_other_sentences_stay_apart(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


def components(pairs: list[tuple[int, int]]) -> list[int]:
    """The first pair that each pair can reach, found by walking."""
    found = [-1] * len(pairs)
    for start in range(len(pairs)):
        waiting = [start] if found[start] < 0 else []
        while waiting:
            i = waiting.pop()
            found[i] = start
            waiting += [
                j for j, pair in enumerate(pairs) if found[j] < 0 and (pair[0] == pairs[i][0] or pair[1] == pairs[i][1])
            ]
    return found


@given(pairs=st.lists(st.tuples(numbers, numbers), max_size=30))
def test_groups_are_the_connected_components(pairs: list[tuple[int, int]]) -> None:
    src, tgt = np.array(pairs, dtype=np.uint64).reshape(-1, 2).T
    expected, found = components(pairs), connected(src, tgt).tolist()
    assert len(set(zip(expected, found, strict=True))) == len(set(expected)) == len(set(found))
    assert set(found) == set(range(len(set(found))))


def test_a_long_chain_is_one_group_however_it_is_shuffled() -> None:
    links = [(i // 2, (i + 1) // 2) for i in range(20_001)]
    random.Random(3).shuffle(links)
    src, tgt = np.array(links, dtype=np.uint64).T
    assert set(connected(src, tgt).tolist()) == {0}
    src, tgt = (hash_lines(map(str, side.tolist())) for side in (src, tgt))
    assert set(connected(src, tgt).tolist()) == {0}
