"""Letters in the form that training had."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.rewriting import form_edits


def with_forms_of(training: dict[str, float], text: str) -> str:
    return Text.of(text).edited(form_edits(text, lambda character: training.get(character, 0.0))).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301te\u0301", "été"),
        ("la ﬁn, un ﬂeuve", "la fin, un fleuve"),
        ("Ｐａｒｉｓ！", "Paris!"),
        ("𝐮𝐧 𝑐ℎ𝑎𝑡", "un cℎat"),  # a sign of its own, and so no letter of the alphabet
        ("20 \u212b", "20 Å"),
        ("ｶﾀｶﾅとｶﾞ", "カタカナとガ"),
        ("\ufedb\ufe98\ufe8e\ufe8f", "كتاب"),  # from a PDF
        ("\ufb21\u05b7\u05bc\u05b7", "א\u05b7\u05b7\u05bc"),  # both another form and another order
        ("\ufb13 \ufb2a", "մն ש\u05c1"),
        ("\u1112\u1161\u11ab", "한"),
        ("\u0958लम", "क\u093cलम"),
        ("tie\u0323\u0302ng е\u0308", "tiệng ё"),
        ("\u03c9\u0301ρα", "\u03ceρα"),
    ],
)
def test_letters_get_the_usual_form(text: str, expected: str) -> None:
    assert with_forms_of({}, text) == expected


@pytest.mark.parametrize("text", ["x² + y³", "½ litre", "Marque™", "n° 5, №5", "H₂O", "Louis Ⅳ", "été"])
def test_signs_with_a_meaning_stay(text: str) -> None:
    assert with_forms_of({}, text) == text


def test_marks_apart_stay_if_training_had_them_so() -> None:
    assert with_forms_of({"\u0301": 0.3}, "e\u0301te\u0301") == "e\u0301te\u0301"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text("\ufb21\u05b7\u05bcｶﾞＡ\u030aﬁ\u0301 "))
def test_only_the_form_changes(text: str) -> None:
    once = with_forms_of({}, text)
    assert with_forms_of({}, once) == once
    assert unicodedata.normalize("NFKC", once) == unicodedata.normalize("NFKC", text)
    assert len(once.split()) == len(text.split())
