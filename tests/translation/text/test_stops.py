"""End marks as training had them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seq2seq.corpus.sentences import sentence_ends
from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.rewriting import stop_edits, with_stop_of

ENGLISH, LEGAL, CHINESE, HINDI, ARABIC = ".?!", ".", "。？，", "।?", ".؟!"


def with_stops_of(training: str, text: str, language: str = "en") -> str:
    return Text.of(text).edited(stop_edits(text, lambda character: float(character in training), language)).text


@pytest.mark.parametrize(
    ("training", "text", "expected"),
    [
        (ENGLISH, "Il part‼ Elle reste… Non⁉", "Il part! Elle reste... Non!?"),
        (ENGLISH, "Il part！Elle reste。Tu viens？Oui", "Il part! Elle reste. Tu viens? Oui"),
        (ENGLISH, "«Il part।» Elle reste؟", "«Il part.» Elle reste?"),
        (ENGLISH, "Vraiment‽", "Vraiment?"),
        (LEGAL, "Il part ! Elle reste ? Oui", "Il part . Elle reste . Oui"),
        (LEGAL, "Il part !!! Elle reste?!", "Il part . Elle reste."),
        (".?", "Il part?! Non", "Il part? Non"),
        (CHINESE, "他走了！你呢?好", "他走了。你呢？好"),
        (CHINESE, "走吧!", "走吧。"),
        (HINDI, "वह गया! तुम؟ वह गया॥", "वह गया। तुम? वह गया।"),
        (ARABIC, "ذهب۔ أين؟ نعم!", "ذهب. أين؟ نعم!"),
        (ARABIC, "أين? نعم", "أين؟ نعم"),
        ("。", "すごい！行こう‼", "すごい。行こう。"),
        (".", "ฉันไป! คุณมา", "ฉันไป. คุณมา"),
        (ENGLISH, "Tôi đi！Bạn đến không？ Vâng", "Tôi đi! Bạn đến không? Vâng"),
        (ENGLISH, "Ես եկա։ Նա գնաց։", "Ես եկա. Նա գնաց."),
        (ENGLISH, "ሰላም ነው።እንዴት ነህ፧", "ሰላም ነው. እንዴት ነህ?"),
        (ENGLISH, "သူသွားသည်။ ငါလာသည်။", "သူသွားသည်. ငါလာသည်."),
        (ENGLISH, "ཡིག་ནི། ང་ཚོ།", "ཡིག་ནི. ང་ཚོ."),
    ],
)
def test_an_unseen_end_mark_becomes_one_that_training_had(training: str, text: str, expected: str) -> None:
    assert with_stops_of(training, text) == expected


def test_greek_asks_with_a_semicolon() -> None:
    assert with_stops_of(".;", "Τι κάνεις? Καλά.", "el") == "Τι κάνεις; Καλά."
    assert with_stops_of(".;", "Il part? Non.", "fr") == "Il part. Non."


@pytest.mark.parametrize(
    ("training", "text"),
    [
        (ENGLISH, "Il part. Elle reste ! Oui ?"),
        (LEGAL, "Oh ! dit-il."),  # no end of a sentence: it is taken out and comes back
        (LEGAL, "si a?b:c alors"),
        (LEGAL, "6 / 7 !"),  # comes out as it is
        ("", "Il part! Elle reste."),  # there is nothing to put there
        (ENGLISH, ""),
    ],
)
def test_other_marks_stay(training: str, text: str) -> None:
    assert with_stops_of(training, text) == text


@pytest.mark.parametrize(
    ("written", "read", "translation", "expected"),
    [
        ("!", ".", "He leaves.", "He leaves!"),
        ("?", "。", "“He leaves.”", "“He leaves?”"),
        ("！", "!", "He leaves.", "He leaves."),  # the model has read an exclamation
        (".", ".", "He leaves!", "He leaves!"),
        ("!", ".", "He leaves", "He leaves"),
        ("!", ".", "", ""),
    ],
)
def test_a_mark_of_another_kind_comes_back(written: str, read: str, translation: str, expected: str) -> None:
    assert with_stop_of(translation, written, read) == expected


@given(st.text("aB .!?…‼！。।؟»)走"), st.sampled_from([ENGLISH, LEGAL, CHINESE, HINDI, ""]))
def test_only_marks_and_the_spaces_after_them_change(text: str, training: str) -> None:
    found = with_stops_of(training, text)
    assert [c for c in found if c.isalpha()] == [c for c in text if c.isalpha()]
    assume(len(list(sentence_ends(found))) == len(list(sentence_ends(text))))  # BB。 is a sentence, and BB. may go on
    assert with_stops_of(training, found) == found
