import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.augmentation.letters import lower, title, upper, without_accents

texts = st.text() | st.text(alphabet="aàÉœŒßİıﬁ l'’-.«» Ω й\u0301\u0308")


def titles(text: str) -> set[str]:
    """All titles of a text that chance can choose."""
    return {title([text], random.Random(seed))[0] for seed in range(20)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'été à l'œuvre", "L'ÉTÉ À L'ŒUVRE"),
        ("Die Straße, n° 12 !", "DIE STRASSE, N° 12 !"),
        ("iPhone 12b 😀", "IPHONE 12B 😀"),
        ("İstanbul", "İSTANBUL"),
        ("", ""),
    ],
)
def test_capitals(text: str, expected: str) -> None:
    assert upper([text, text], random.Random(1)) == [expected, expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("L'ÉTÉ À PARIS, USA 12", "l'été à paris, usa 12"), ("ŒUVRE", "œuvre"), ("İZMİR'de", "izmir'de"), (" ", " ")],
)
def test_lower_case(text: str, expected: str) -> None:
    assert lower([text, "NATO", ""], random.Random(1)) == [expected, "nato", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the USA and McDonald", "The USA And McDonald"),
        ("un porte-monnaie (très petit)", "Un Porte-monnaie (Très Petit)"),
        ("« elle dit » “so what” 'tis", "« Elle Dit » “So What” 'Tis"),
        ("don't o'clock 2nd 3-d", "Don't O'clock 2nd 3-d"),
        ("été œuvre ﬁn", "Été Œuvre Fin"),
        ("aujourd'hui", "Aujourd'hui"),
        ("", ""),
    ],
)
def test_a_title_gives_each_word_a_capital_and_leaves_the_other_letters(text: str, expected: str) -> None:
    assert titles(text) == {expected}


def test_an_elision_is_written_in_two_ways_and_always_alike_in_one_sentence() -> None:
    assert titles("l'eau qu'il boit (d’abord)") == {"L'eau Qu'il Boit (D’abord)", "L'Eau Qu'Il Boit (D’Abord)"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ça, c'était l'été à Noël, où ?", "Ca, c'etait l'ete a Noel, ou ?"),
        ("cœur, Œuvre, ŒUVRE, Œ", "coeur, Oeuvre, OEUVRE, OE"),
        ("Lætitia, ÆSIR", "Laetitia, AESIR"),
        ("ÇA ÉTÉ İ", "CA ETE I"),
        ("e\u0301te\u0301 u\u0302\u0301", "ete u"),
        ("Tiếng Việt, São, Čech", "Tieng Viet, Sao, Cech"),
        ("Đà Lạt, đẹp, Łódź, øl, Ǿ, kız", "Da Lat, dep, Lodz, ol, O, kiz"),
        ("мой ёж, 각, कि, Ἀθῆναι", "мой ёж, 각, कि, Ἀθῆναι"),
        ("и\u0306 stays, and so does 1\u0301", "и\u0306 stays, and so does 1\u0301"),
        ("Straße, 12 € 😀", "Straße, 12 € 😀"),
        ("", ""),
    ],
)
def test_only_latin_letters_lose_their_accents(text: str, expected: str) -> None:
    assert without_accents(text, random.Random(1)) == expected


@given(texts)
def test_without_accents_again_changes_nothing(text: str) -> None:
    once = without_accents(text, random.Random(1))
    assert without_accents(once, random.Random(1)) == once


@given(st.text(alphabet=st.characters(max_codepoint=0x17F)))
def test_composed_and_decomposed_letters_end_alike(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert without_accents(composed, random.Random(1)) == without_accents(decomposed, random.Random(1))


@given(texts)
def test_capitals_and_lower_case_again_change_nothing(text: str) -> None:
    for change in (upper, lower):
        once = change([text], random.Random(1))
        assert change(once, random.Random(1)) == once


@given(texts, st.integers(0, 9))
def test_a_title_of_a_title_is_the_title_and_differs_from_its_text_in_case_alone(text: str, seed: int) -> None:
    once = title([text], random.Random(seed))
    assert title(once, random.Random(seed)) == once
    assert once[0].upper() == text.upper()
