"""Glossaries: files of terms, and where a text has them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from seq2seq.translation.text.glossary import Demands, Glossary, n_times, read_terms
from tests.translation.engines.models import tokenizer

TERMS = [
    ("avocat", "lawyer"), ("avocat général", "advocate general"), ("général de division", "major general"),
    ("OTAN", "NATO"), ("Aujourd'hui", "today"), ("arc", "bow"), ("arc-en-ciel", "rainbow"), ("C++", "C++"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'avocat, l’AVOCAT GÉNÉRAL.", ["avocat", "AVOCAT GÉNÉRAL"]),
        ("Avocat général de division", ["Avocat", "général de division"]),  # the longest first
        ("OTAN, otan, aujourd’hui", ["OTAN", "aujourd’hui"]),
        ("arcs, arc-boutant, cet arc-en-ciel, un arc", ["arc-en-ciel", "arc"]),
        ("avocats avocate", []),
        ("c++ avocat ge\u0301ne\u0301ral", ["c++", "avocat ge\u0301ne\u0301ral"]),
        ("", []),
    ],
)
def test_terms_are_whole_words(text: str, expected: list[str]) -> None:
    assert [text[match.start : match.end] for match in Glossary(TERMS).find(text)] == expected


@pytest.mark.parametrize(
    ("term", "text", "expected"),
    [
        ("法律", "中国法律与法学", ["法律"]),
        ("法律", "iPhone法律", ["法律"]),
        ("iPhone", "我的iPhone很好", ["iPhone"]),
        ("カード", "このカードです", ["カード"]),
        ("が", "か\u3099 が", ["か\u3099", "が"]),
        ("กฎหมาย", "ประเทศกฎหมายไทย", ["กฎหมาย"]),
        ("นา", "นาน้ำนำ", ["นา"]),  # with all marks
        ("ນໍ້າ", "ດື່ມນໍ້າ", ["ນໍ້າ"]),
        ("ខ្ញុំ", "ខ្ញុំទៅ", ["ខ្ញុំ"]),
        ("မြန်မာ", "သူမြန်မာပါ", ["မြန်မာ"]),
        ("ཡིག", "བོད་ཡིག་", ["ཡིག"]),
        ("नल", "नली नल नल-कूप।", ["नल"]),
        ("सच", "क्या सच।", ["सच"]),
        ("நீ", "நீர் நீ", ["நீ"]),
        ("של", "שֶׁל של", ["של"]),
        ("شجر", "شجرة شَجر شجر؟", ["شجر"]),
        ("cafe\u0301", "Café cafe\u0301s cafe\u0301", ["Café", "cafe\u0301"]),
        ("nước", "Nước nu\u031bo\u031b\u0301c", ["Nước", "nu\u031bo\u031b\u0301c"]),
        ("ώρα", "Ώρα ώρα; ώρας", ["Ώρα", "ώρα"]),
        ("տուն", "տուն։ տունը", ["տուն"]),
        ("ቤት", "ቤት። ቤቶች", ["ቤት"]),
    ],
)
def test_terms_of_every_script(term: str, text: str, expected: list[str]) -> None:
    assert [text[match.start : match.end] for match in Glossary([(term, "x")]).find(text)] == expected
    composed = unicodedata.normalize("NFC", text)
    assert len(Glossary([(unicodedata.normalize("NFD", term), "x")]).find(composed)) == len(expected)


def test_a_term_with_capitals_counts_before_one_in_any_case() -> None:
    glossary = Glossary([("us", "nous"), ("US", "États-Unis")])
    assert [match.translation for match in glossary.find("us Us US")] == ["nous", "nous", "États-Unis"]


@given(st.lists(st.sampled_from(["a", "b", "c", "a b", "b c", "a b c", "c c", ",", "x"]), max_size=12).map(" ".join))
def test_matches_do_not_overlap_and_none_is_left(text: str) -> None:
    glossary = Glossary([(term, term) for term in ("a", "a b", "b c", "a b c", "c c")])
    matches = glossary.find(text)
    assert all(text[start:end] == translation for start, end, translation in matches)
    covered = [i for start, end, _ in matches for i in range(start, end)]
    assert len(covered) == len(set(covered))
    assert {i for i, letter in enumerate(text) if letter == "a"} <= set(covered)


def test_a_file_has_two_columns() -> None:
    lines = ["# terms", "", "avocat\tlawyer", "  OTAN \t NATO  pact ", "Avocat\tlawyer"]
    assert read_terms(lines, "t.tsv") == (("avocat", "lawyer"), ("OTAN", "NATO pact"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tb", "c d"], r"t\.tsv:2: expected a term, a tab and its translation, found 'c d'; correct this line"),
        (["a\tb\tc"], r"t\.tsv:1: expected a term"),
        (["a\t "], r"t\.tsv:1: expected a term"),
        (["a\tb", "#", "A\tc"], r"t\.tsv:3: 'A' is 'c' here and 'b' in line 1; keep one of them"),
    ],
)
def test_a_wrong_line_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(TranslationError, match=message):
        read_terms(lines, "t.tsv")


def test_terms_are_counted_letter_by_letter() -> None:
    assert n_times("law", "Law law lawyer, law. the-law's") == 3
    assert n_times("C++", "C+++ C++ (C++)") == 3
    assert n_times("法律", "中国法律与法律") == 2
    assert n_times("नल", "नली नल") == 1
    assert n_times("caf\u00e9", "cafe\u0301") == 1
    assert n_times("서울", "서울에 서울은 남서울") == 2


@pytest.mark.parametrize(("lang", "written"), [("zh", "我法律"), ("ja_JP", "我法律"), ("en", "我 法律")])
def test_a_term_has_a_space_before_it_where_the_language_has_spaces(lang: str, written: str) -> None:
    demands = Demands(tokenizer(), lang, [("loi", "法律")], keeps_numbers=False)
    demands.check()
    (ids,) = demands.encoded(["法律"])
    assert tokenizer().decode([[*tokenizer().encode(["我"])[0], *ids]]) == [written]
