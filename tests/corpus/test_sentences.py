"""Sentence boundaries: marked cases in sentence_cases/, of which `held_out` was written before the rules were."""

import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.sentences import n_sentences, sentence_ends
from tests.effort import n_steps, no_hang

CASES = Path(__file__).parent / "sentence_cases"
# No mark ends the first sentence, and an emoticon may also stand within one.
MISSED = {"That's great :)|See you.", "Super :-)|À demain."}


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in pairwise([0, *sentence_ends(text), len(text)])]


def marked(name: str) -> list[str]:
    """Cases, with a bar between two sentences."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_sentences_end_where_people_end_them() -> None:
    cases = marked("known.en") + marked("known.fr")
    assert len(set(cases)) > 180
    expected = [case.replace("|", " ") if case in MISSED else case for case in cases]
    assert ["|".join(sentences(case.replace("|", " "))) for case in cases] == expected


def test_decomposed_letters_are_the_same_letters() -> None:
    cases = [
        case.replace("|", " ") for case in marked("known.fr") + marked("held_out.fr") + ["Il vient. É. Zola écrit."]
    ]
    decomposed = ["|".join(sentences(unicodedata.normalize("NFD", case))) for case in cases]
    assert [unicodedata.normalize("NFC", text) for text in decomposed] == ["|".join(sentences(case)) for case in cases]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_cases_that_the_rules_were_not_made_for_are_right_as_well(language: str) -> None:
    cases = marked(f"held_out.{language}")
    wrong = [case for case in cases if sentences(case.replace("|", " ")) != case.split("|")]
    assert len(wrong) <= 0.03 * len(cases), wrong


@pytest.mark.parametrize(
    "case",
    [
        "Er kommt am 3. Januar.| Sie kommt z.B. am 4. März.",
        "¿Qué hora es?| ¡Qué tarde!",
        "«\u202fOui.\u202f»| Il part.",
        'Il a dit : " Viens. "| Puis il est parti.',
        "Il part (« Adieu ! Au revoir. ») ce soir.| Il revient.",
        "(«Oui.» Non.)| Il part.",
        "Bad :( He left.| Good :) Bye.",
        # Chinese, with its own stops and with others
        "他昨天走了。|我们没有听见他说什么！",
        "他说：「我走了。你呢？」|然后走了。",
        "他走了（真的。）|我们走。",
        '他走了。|"你好。"|他说。',
        "你好!|价格是3.5元.|走吧?|好",
        "他说...我走了……好",
        "我用。|iphone很好。",
        # Japanese
        "彼は「帰る。」と言った。|そして帰った。",
        "すごい‼|行こう！|はい．|３．５円です．|そうです。",
        # Arabic, with spaces and without
        "هل أنت هنا الآن؟|نعم أنا هنا۔| وأنت أين؟!| لا.",
        "यह एक वाक्य है।|यह दूसरा है॥| तीसरा",
        "Tôi đi.| Bạn đến không?| Vâng!",
        # Greek: ; asks, and small letters go on after half a stop
        "Τι κάνεις;| Είμαι καλά·| Εσύ; πήγα· ήρθα.",
        "«Πού πας;» είπε.| «Πού πας\u037e»| Είπε.",
        "Le chat; Il dort · Il mange.",
        # Georgian, without capitals
        "ეს არის Microsoft-ის პროდუქტი.| ის კარგია.| დიახ.",
        "Ես եկա։| Նա գնաց։|Մենք «եկանք։» ասաց նա։",
        "ሰላም ነው።| እንዴት ነህ፧|ደህና።",
        "သူသွားသည်။| ငါလာသည်။|သူက၊ ငါ",
        "བོད་ཡིག་ནི།| ང་ཚོའི་ཡིག་རེད། །|བོད་པ།།",
        "நான் போகிறேன்.| நீ வா?| ஆம்!",
        "אני הולך.| אתה בא?| כן!",
        "ฉันไป!| คุณมา ใช่ไหม?|ไม่",
        "ខ្ញុំទៅ។| អ្នកមក។|គាត់",
    ],
)
def test_other_writing(case: str) -> None:
    text = case.replace("|", "")
    assert "|".join(text[a:b] for a, b in pairwise([0, *sentence_ends(text), len(text)])) == case


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), (" \t\u2028", 0), ("...", 1), ("Un chat", 1), ("Oui. Non.  ", 2), ("。。", 1), ("• A • B", 2)],
)
def test_sentences_are_counted(text: str, expected: int) -> None:
    assert n_sentences(text) == expected


@given(
    st.text()
    | st.text(alphabet="aBM.!?…»\" '()1•。\u00a0é😀")
    | st.text(alphabet="走と．。?「」（）।क़यπ;·؟ه།བ ")
    | st.lists(st.sampled_from(["1. ", "2. ", "Ab. ", "a) "])).map("".join)
)
def test_every_sentence_has_text_and_nothing_is_lost(text: str) -> None:
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends))
    if text.strip():
        assert all(sentences(text))
        assert n_sentences(text) == len(ends) + 1
    assert list(sentence_ends(text + "  ")) == ends


@given(unit=st.text(alphabet='aB.!?…»()"1• 走と．。「」।क़π;·؟།\u0301', min_size=1, max_size=4))
def test_twice_the_text_is_twice_the_work(unit: str) -> None:
    single, double = (n_steps(lambda: n_sentences(unit * n)) for n in (60, 120))  # noqa: B023
    assert double <= 2 * single + 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        ".",
        ". »",
        "M. ",
        "? ",
        "a. ",
        "ab. cd! ",
        "a • ",
        "1. ",
        'a. " ',
        "! 😀 ",
        "。」",
        'a?" Abc Abc ',
        ". ((((((((",
        "(.) ",
        "「。",
        "।",
        "क़ा।",
        "π;",
        "走.走",
        "p. ex. A ",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    text = unit * (100_000 // len(unit))  # a tenth of a second; quadratic rules would take minutes
    with no_hang(30):
        assert n_sentences(text) > 0
