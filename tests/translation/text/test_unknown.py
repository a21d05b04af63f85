"""What a model has never seen is found, as whole words and signs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.kept import is_foreign, unknown_things


def has_piece(character: str) -> bool:
    return character.isascii() or character in "éà’"


def found(text: str, *kinds: str) -> list[str]:
    return [thing.text for thing in unknown_things(text, kinds, has_piece)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Un chat dort.", []),
        ("Un e\u0301te\u0301 a\u0300 12,50.", []),  # composed, they are known
        ("Il dit Привет, мир à moi.", ["Привет", "мир"]),
        ("Antonín Dvořák joue.", ["Antonín", "Dvořák"]),  # in one piece, never í alone
        ("Un naïf-né chat", ["naïf-né"]),
        ("★★★ 12 € → ٣ chats", ["★★★", "€", "→"]),  # a number belongs to its sentence
        ("Un ch\ufffdt dort.", ["ch\ufffdt"]),
        ("Привет, un chat", ["Привет,"]),  # nothing begins with a comma
        ("Un chat dort. Привет мир! Un chat, мир.", ["Привет", "мир!", "мир"]),
        ("<b>Привет</b> {naïf} %s", ["Привет"]),  # no sign of a placeholder
        ("你好 नमस्ते", ["你好", "नमस्ते"]),
    ],
)
def test_words_and_signs_without_a_piece(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_addresses_emoji_and_tags_are_found_with_them() -> None:
    text = "<i>Voir</i> http://a.fr/é?ß 😀, Привет"
    assert found(text, "urls", "emoji", "markup") == ["<i>", "</i>", "http://a.fr/é?ß", "😀", "Привет"]
    tags = unknown_things("ß <i>a ß b</i>", {"markup"}, has_piece)
    assert [(thing.text, thing.partner) for thing in tags] == [("ß", None), ("<i>", 3), ("ß", None), ("</i>", 1)]


def test_foreign_words_were_to_be_read_but_addresses_were_not() -> None:
    assert is_foreign("Привет") and is_foreign("naïf")
    assert not any(map(is_foreign, ["http://a.fr", "a@b.fr", "😀", "★★"]))


@given(st.text("aé 1.,ßя😀★<>{}\u0301", max_size=20))
def test_they_are_in_order_and_stand_in_the_text(text: str) -> None:
    things = unknown_things(text, ("urls", "emoji"), has_piece)
    assert all(text[thing.start : thing.end] == thing.text for thing in things)
    assert all(a.end <= b.start for a, b in pairwise(things))
