import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.translation.text.typography import french

some_text = st.text() | st.text(alphabet="aB1 \n.;:!?«»\"'-)(/&\u00a0\u202f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Quoi ?! Non!", "Quoi\u202f?! Non\u202f!"),
        ("Quoi ? ! Non", "Quoi\u202f?\u202f! Non"),
        ("Non!!!", "Non\u202f!!!"),
        ("Note: a ; b", "Note\u202f: a\u202f; b"),
        ("(oui!) [non?]", "(oui\u202f!) [non\u202f?]"),
        ("d'accord?\nOui!", "d’accord\u202f?\nOui\u202f!"),
        ("aujourd'hui, l'eau", "aujourd’hui, l’eau"),
        ('Il dit "oui".', "Il dit «\u202foui\u202f»."),
        ('le "mot"; fin', "le «\u202fmot\u202f»\u202f; fin"),
        ("Il dit: \"Elle a dit 'oui'.\"", "Il dit\u202f: «\u202fElle a dit 'oui'.\u202f»"),
        ('« Elle dit "oui" »', "«\u202fElle dit «\u202foui\u202f»\u202f»"),
        ('l\'"un" et l\'"autre"', "l'«\u202fun\u202f» et l'«\u202fautre\u202f»"),
        ('voir "https://a.org/?q=1" ici!', "voir «\u202fhttps://a.org/?q=1\u202f» ici\u202f!"),
        ("Super :D !", "Super :D\u202f!"),
        ("dans C:\\a\\b ; oui", "dans C:\\a\\b\u202f; oui"),
    ],
)
def test_french_examples(text: str, expected: str) -> None:
    assert french(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "12:30",
        "3:1",
        "a:b",
        ": a",
        "https://a.org/?b=1",
        'http://a.org/?q="x" oui',
        "voir www.a.fr? oui",
        "a.b@c.fr",
        "C:\\dossier\\fichier",
        "Bien :-)",
        "Bien :)",
        "Super :D",
        ":D",
        "a &amp; b",
        "&eacute;",
        'un 5" neuf',
        'Il dit "oui',  # quotes that do not pair up
        '"a "b" c"',
        "Oui\u00a0!",
        "«\u202foui\u202f»\u202f: l’eau\u202f; quoi\u202f?",  # set already
        "«\u00a0oui\u00a0»\u00a0: non\u00a0?",  # as some printers do
        "",
    ],
)
def test_what_is_right_or_is_no_prose_stays(text: str) -> None:
    assert french(text) == text


@given(some_text)
@example(text='«"0"')
def test_twice_is_once(text: str) -> None:
    assert french(french(text)) == french(text)


@given(some_text)
def test_only_spaces_quotes_and_apostrophes_change(text: str) -> None:
    def rest(text: str) -> str:
        return re.sub("[ \u00a0\u202f\"«»'’]", "", text)

    assert rest(french(text)) == rest(text)
