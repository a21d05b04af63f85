import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.augmentation.spaces import with_odd_spaces

ODD = "\u00a0\u202f\u2009\u200b"
texts = st.text() | st.text(alphabet="ab1 ,.!\u00a0é")


def squeezed(text: str) -> str:
    return "".join(text.replace("\u200b", "").split())


@given(texts, st.integers())
def test_only_spaces_change_and_they_do_change(text: str, seed: int) -> None:
    changed = with_odd_spaces(text, random.Random(seed))
    assert squeezed(changed) == squeezed(text)
    assert set(changed) <= set(text) | set(" " + ODD)  # neither tabs nor line ends
    assert (changed == text) == (not text.strip())
    assert abs(len(changed) - len(text)) <= 2


def test_an_oddity_that_a_text_cannot_have_is_not_replaced_by_a_trailing_space() -> None:
    changed = [with_odd_spaces("Il a bien plus de mots", random.Random(seed)) for seed in range(1000)]
    assert 250 < sum(text.endswith(" ") for text in changed) < 350  # one or two of five


def test_every_oddity_happens() -> None:
    changed = {with_odd_spaces("Oui, non.", random.Random(seed)) for seed in range(500)}
    alone = {"Oui,  non.", "Oui , non.", "Oui, non .", "Oui,non.", "Oui, \u200bnon.", " Oui, non.", "Oui, non. "}
    assert changed >= alone | {f"Oui,{space}non." for space in ODD[:3]}


@pytest.mark.parametrize("text", ["3,5 km", "3, 5", "12:30", "example.com"])
def test_numbers_and_names_of_sites_stay_whole(text: str) -> None:
    for seed in range(200):
        changed = with_odd_spaces(text, random.Random(seed)).replace("\u200b", "")
        assert changed.split() == text.split()
