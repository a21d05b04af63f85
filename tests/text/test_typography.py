import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.text.typography import french

some_text = st.text() | st.text(alphabet="aB1 \n.;:!?«»\"'-)(/&\u00a0\u202f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Quoi ?! Non!", "Quoi\u202f?! Non\u202f!"),
        ('Il dit "oui".', "Il dit «\u202foui\u202f»."),
        ("aujourd'hui, l'eau", "aujourd’hui, l’eau"),
        *((same, same) for same in ["12:30", "3:1", "https://a.org/?b=1", "Bien :-)", "Bien :)", "a &amp; b", ": a"]),
        ("Oui\u00a0!", "Oui\u00a0!"),
        ('un 5" neuf', 'un 5" neuf'),
    ],
)
def test_french_examples(text, expected):
    assert french(text) == expected


@given(some_text)
def test_twice_is_once(text):
    assert french(french(text)) == french(text)


@given(some_text)
def test_only_spaces_quotes_and_apostrophes_change(text):
    def rest(text):
        return re.sub("[ \u00a0\u202f\"«»'’]", "", text)

    assert rest(french(text)) == rest(text)
