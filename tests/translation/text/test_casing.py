"""Headlines in sentence case, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.sentences import sentence_ends
from seq2seq.translation.text.casing import Style, given_back, in_sentence_case, styled_sentences

SMALL = (
    "a am and at au avec chapeau chat de deux dort en est et foot hat homme hommes il in is jouent l la le man on plan "
    "play qu red the two un with à i m don t"
)
KNOWN = {*SMALL.split(), "Paris", "USA", "TV"}


def count_pieces(word: str) -> int:
    return 1 if word in KNOWN else len(word)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("fr", "DEUX HOMMES JOUENT AU FOOT À PARIS.", "Deux hommes jouent au foot à Paris."),
        ("fr", "« L'HOMME DORT, ET QU'IL EST À LA USA »", "« L'homme dort, et qu'il est à la USA »"),
        ("en", "A MAN IS IN A HAT. I DON'T PLAY, I'M ON TV.", "A man is in a hat. I don't play, I'm on TV."),
        ("en", "THE PLAN B WITH LOUIS XIV AND MP3 4X4", "The plan B with louis XIV and MP3 4X4"),
        ("en", "THE U.S.A. PLAN, THE HAT OF J. R. R. TOLKIEN", "The U.S.A. plan, the hat of J. R. R. tolkien"),
        ("fr", "2 HOMMES ET LE CHAT", "2 hommes et le chat"),
        ("en", "iPhone 15 IN A HAT", "iPhone 15 in a hat"),
        ("de", "DIE STRAẞE IST LANG", "Die straße ist lang"),
        ("el", "Ο ΔΡΌΜΟΣ ΤΗΣ ΠΌΛΗΣ", "Ο δρόμος της πόλης"),
        ("ru", "БОЛЬШО\u0301Й ДОМ, Я И ОН", "Большо\u0301й дом, я и он"),
    ],
)
def test_capitals_become_small_but_for_names_and_signs(lang: str, text: str, expected: str) -> None:
    assert in_sentence_case(text, "capitals", count_pieces, lang) == expected


def test_titles_become_small_but_for_names() -> None:
    title = "Deux Hommes Jouent Au Foot À Paris Avec Un iPhone Et La BBC"
    expected = "Deux hommes jouent au foot à Paris avec un iPhone et la BBC"
    assert in_sentence_case(title, "title", count_pieces, "fr") == expected
    assert in_sentence_case("A Man And I Play", "title", count_pieces, "en") == "A man and I play"


@pytest.mark.parametrize(
    ("text", "styles"),
    [
        ("DEUX HOMMES JOUENT. LE CHAT DORT.", ["capitals", "capitals"]),
        ("DEUX HOMMES JOUENT. OUI. NON.", ["capitals"] * 3),  # the whole line is
        ("DEUX HOMMES JOUENT. Le chat dort.", ["capitals"]),
        ("Deux Hommes Jouent Au Foot", ["title"]),
        ("Jean Dupont, Marie Curie, Paul Martin", []),  # names
        ("USA", []),
        ("Le chat de l'ONU dort.", []),
    ],
)
def test_headlines_are_found(text: str, styles: list[str]) -> None:
    found = styled_sentences(text, [*sentence_ends(text)], count_pieces, ("capitals", "title"))
    assert [each.style for each in found] == styles
    assert styled_sentences(text, [*sentence_ends(text)], count_pieces, ()) == []


@pytest.mark.parametrize(
    ("style", "source", "text", "expected"),
    [
        ("capitals", "", "Two men, été, straße.", "TWO MEN, ÉTÉ, STRAẞE."),
        ("capitals", "", "Call the advocate general.", "CALL THE advocate general."),
        ("capitals", "", "Two advocate generals.", "TWO ADVOCATE GENERALS."),
        ("title", "Deux Hommes Et Un Chat", "two men and a cat.", "Two Men And A Cat."),
        ("title", "Deux Hommes et un Chat", "two horses and a (brown) donkey", "Two Horses and a (Brown) Donkey"),
        (
            "capitals",
            "UN iPhone ET error_reporting()",
            "An iPhone: error_reporting().",
            "AN iPhone: error_reporting().",
        ),
        (
            "title",
            "La Fonction error_reporting Est Là",
            "the error_reporting function is back",
            "The error_reporting Function Is Back",
        ),
        ("title", "Un Chat", "l'homme est rendez-vous", "L'homme Est Rendez-vous"),
        ("title", "A Good Day", "კარგი დღე", "კარგი დღე"),  # in Georgian, only whole headlines have capitals
    ],
)
def test_translations_become_headlines(style: Style, source: str, text: str, expected: str) -> None:
    assert given_back(text, style, source, ["advocate general"]) == expected


any_line = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(any_line, st.sampled_from(["capitals", "title"]))
def test_places_stay_places(text: str, style: Style) -> None:
    for changed in (in_sentence_case(text, style, len, "fr"), given_back(text, style, text)):
        assert len(changed) == len(text)
        assert [each.isspace() for each in changed] == [each.isspace() for each in text]
        assert given_back(changed, "capitals", "") == given_back(text, "capitals", "")


@given(st.text("abcé .,'", max_size=20))
def test_small_letters_are_no_headline(text: str) -> None:
    assert styled_sentences(text, [*sentence_ends(text)], len, ("capitals", "title")) == []
