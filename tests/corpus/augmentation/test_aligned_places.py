import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.augmentation.aligned_places import aligned_places

some_text = (st.text() | st.text(alphabet="Aab1 ,.!?，\u00a0'")).filter(str.strip)


def marked(*texts: str) -> list[tuple[str, ...]]:
    """The texts with a bar at each aligned place."""
    return [
        tuple(f"{text[:at]}|{text[at:]}" for text, at in zip(texts, place, strict=True))
        for place in aligned_places(texts)
    ]


def test_a_pair_with_everything_has_all_places() -> None:
    assert marked("Hier, à 14:30, Léa dort.", "Yesterday, at 14:30, Léa slept.") == [
        ("Hier, à 14:30, Léa dort.|", "Yesterday, at 14:30, Léa slept.|"),
        ("Hier, à 14:30, Léa dort|.", "Yesterday, at 14:30, Léa slept|."),
        ("|Hier, à 14:30, Léa dort.", "|Yesterday, at 14:30, Léa slept."),
        ("Hier,| à 14:30, Léa dort.", "Yesterday,| at 14:30, Léa slept."),
        ("Hier, à 14:30,| Léa dort.", "Yesterday, at 14:30,| Léa slept."),
        ("Hier, à 14:30|, Léa dort.", "Yesterday, at 14:30|, Léa slept."),
        ("Hier, à 14:30, Léa| dort.", "Yesterday, at 14:30, Léa| slept."),
    ]


@pytest.mark.parametrize(
    ("texts", "n_places"),
    [
        (("Oui", "Yes"), 2),  # the end and the beginning
        (("Oui.", "Yes!"), 2),  # different marks
        (("Oui !", "Yes!", "Sure!"), 3),
        (("Oui。", "Yes."), 3),
        (("Oui, non", "Yes, no", "Yes"), 2),  # not equally many commas
        (("Il a 3,5 km", "It has 3.5 km"), 2),  # no comma, and no number in common
        (("Il a 1,2 et 3, 4", "He has 1, 2 and 3,4"), 2),
        (("On y va", "On we go"), 2),  # a capital of the sentence
        (("je vais à Paris", "I go to Paris"), 2),  # after Paris is the end
        (("à Paris je vis", "in Paris I live"), 3),
        (("à Paris je vis", "in Paris I live", "I live there"), 2),
        (("de Paris à Paris je vis", "from Paris I go"), 2),  # twice on one side
        (("l'Italie et", "the Italie and"), 2),  # a part of a word
        (("et John's", "and John's"), 2),
        (("...", "!"), 2),
        (("...", "..."), 2),  # nothing before the mark
    ],
)
def test_places_need_the_same_in_all_texts(texts: tuple[str, ...], n_places: int) -> None:
    assert len(aligned_places(texts)) == n_places


def test_the_mark_of_french_has_a_space_before_it() -> None:
    assert ("Ça va| ?", "Are you well|?") in marked("Ça va ?", "Are you well?")


def test_white_space_at_the_ends_stays_outside() -> None:
    assert marked(" Oui. ", "Yes.\u00a0") == [
        (" Oui.| ", "Yes.|\u00a0"),
        (" Oui|. ", "Yes|.\u00a0"),
        (" |Oui. ", "|Yes.\u00a0"),
    ]


@given(st.lists(some_text, min_size=1, max_size=4))
def test_each_place_is_in_every_text_and_comes_once(texts: list[str]) -> None:
    places = aligned_places(texts)
    assert places[0] == tuple(len(text.rstrip()) for text in texts)
    assert len(set(places)) == len(places)
    assert all(0 <= at <= len(text) for place in places for text, at in zip(texts, place, strict=True))


@given(st.lists(some_text, min_size=1, max_size=3))
def test_no_place_is_inside_a_number(texts: list[str]) -> None:
    for place in aligned_places(texts):
        for text, at in zip(texts, place, strict=True):
            assert not re.search(r"\d[.,:]?$", text[:at]) or not re.match(r"[.,:]?\d", text[at:])


@given(st.lists(some_text, min_size=1, max_size=3), st.randoms())
def test_the_places_of_texts_in_another_order_are_the_same_places(texts: list[str], draw) -> None:
    order = draw.sample(range(len(texts)), len(texts))
    there = {tuple(place[i] for i in order) for place in aligned_places(texts)}
    assert set(aligned_places([texts[i] for i in order])) == there
