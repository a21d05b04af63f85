"""What is wrong with a translation, by its source and references."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.analysis.findings import (
    copied_words,
    find_all,
    invented_numbers,
    looping,
    lost,
    repeated_words,
    too_long,
    too_short,
    unaligned_words,
    unknown_characters,
)

WORDS = ["the", "dog", "Paris", "3,5", "2014", "l'homme", "«", "»", ".", "да", "⁇", "\u200b", "the the"]
WORDS += ["12万", "1.5百万3", "医生", "น้ำ"]
TEXTS = st.lists(
    st.sampled_from(WORDS) | st.text(st.sampled_from(string.printable + "éœ’\u00a0ж\ufffd"), max_size=6)
).map(" ".join)


@given(source=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=3), which=st.integers(0, 2))
def test_a_translation_that_is_a_reference_has_no_finding(source: str, references: list[str], which: int) -> None:
    hypothesis = references[which % len(references)]
    if hypothesis.strip():
        assert find_all(source, hypothesis, references, alignment=[]) == {}


@given(source=TEXTS | st.none(), hypothesis=TEXTS, references=st.lists(TEXTS, max_size=3))
def test_no_text_is_too_strange(source: str | None, hypothesis: str, references: list[str]) -> None:
    found = find_all(source, hypothesis, references)
    has_text = any(map(str.strip, references)) and (source is None or source.strip())
    assert ("empty" in found) == (not hypothesis.strip()) if has_text else not found
    if source is None:
        assert not found.keys() & {"copied words", "lost numbers", "invented numbers", "lost codes", "lost names"}


def test_each_finding_comes_under_its_kind() -> None:
    source = "Le 3 mai 1998, Anna et Ludmilla achètent 20 pommes jetables extraordinaires."
    hypothesis = "In May 1997 Anna buys jetables jetables ж."
    reference = "On 3 May 1998 Anna and Ludmilla buy 20 extraordinary throw-away apples at the market in town."
    alignment = [(2, 1), (3, 2), (4, 3), (7, 4), (10, 5), (10, 6)]
    assert find_all(source, hypothesis, [reference, ""], alignment) == {
        "too short": [],
        "repeated words": ["jetables"],
        "unknown characters": ["ж"],
        "copied words": ["jetables"],
        "lost numbers": ["3", "1998", "20"],
        "invented numbers": ["1997"],
        "lost names": ["Ludmilla"],
        "unaligned words": ["Ludmilla", "pommes", "extraordinaires."],
    }
    assert find_all(source, " ", [reference]) == {
        "empty": [],
        "lost numbers": ["3", "1998", "20"],
        "lost names": ["Anna", "Ludmilla"],
    }
    assert find_all(source, "", ["", " "]) == {} == find_all(" ", "", [reference])


@pytest.mark.parametrize(
    ("hypothesis", "others", "expected"),
    [
        ("A dog in a hat in a hat in a hat.", ["A dog in a hat."], ["in", "a", "hat"]),
        ("No no no no, he says.", ["Non non non non, dit-il."], None),  # as the source
        ("Ha ha ha ha!", ["He laughs."], ["ha"]),
        ("A dog in a hat.", ["A dog."], None),
    ],
)
def test_loops(hypothesis: str, others: list[str], expected: list[str] | None) -> None:
    assert looping(hypothesis, others) == expected


def test_lengths_are_far_from_all_references_by_a_factor_and_by_a_number() -> None:
    shorter, longer = "a" * 40, "a" * 60  # 1.5 times as long, 20 more
    assert too_long(longer, [shorter]) == [] == too_short(shorter, [longer])
    assert too_long(longer[1:], [shorter]) is None is too_short(shorter, [longer[1:]])
    assert too_long(longer, [shorter, shorter + "b"]) is None  # not by the longest reference
    assert too_short(shorter, [longer, longer[1:]]) is None  # not by the shortest
    assert too_long("a" * 29, ["a" * 10]) is None is too_short("a" * 10, ["a" * 29])  # fewer than 20 more
    assert too_long(" ".join(shorter), [shorter]) is None  # white space does not count
    assert too_short("", [longer]) is None  # that is another finding


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("A man stands in front of a video video store.", "A man is in front of a video store.", ["video"]),
        ("Il est dans dans la rue.", "Il est dans la rue.", ["dans"]),
        ("Sa femme, sa femme dort.", "Sa femme dort.", None),  # two words may come again
        ("A stand for his day for his day.", "A stand for his day.", ["for his day"]),
        ("A stand for his day, for his day.", "A stand for his day and for his day.", None),  # as in the reference
        ("The Video video is on.", "The video is on.", ["video"]),
        ("He had had enough.", "He had had it.", None),
        ("அம்மா பள்ளி", "அம்மா பள்ளி", None),
        ("அக்கா அப்பா", "அக்கா", None),  # doubled consonants
        ("நான் நான் வந்தேன்", "நான் வந்தேன்", ["நான்"]),
        ("דִּבֵּר לו", "דיבר לו", None),
        ("他天天看看书。", "他每日读书。", None),
        ("我们去北京的公园，我们去北京的公园。", "我们去北京的公园。", ["我们去北京的公园"]),
        ("ฉันไปโรงเรียน ฉันไปโรงเรียน", "ฉันไปโรงเรียน ฉันไปโรงเรียน", None),
    ],
)
def test_what_is_said_twice(hypothesis: str, reference: str, expected: list[str] | None) -> None:
    assert repeated_words(hypothesis, [reference]) == expected


def test_one_reference_that_repeats_is_enough() -> None:
    assert repeated_words("that that", ["which", "that that"]) is None
    assert repeated_words("that that", ["which", "that"]) == ["that"]


def test_long_words_that_nothing_comes_from() -> None:
    source, reference = "Un chien brun haletant court vite", "A panting brown dog runs fast"
    alignment = [(0, 0), (2, 1), (1, 2), (4, 3)]
    assert unaligned_words(source, "A brown dog runs", [reference], alignment) == ["haletant"]
    assert unaligned_words(source, "A brown dog runs", [reference, "A dog runs fast"], alignment) is None  # as long
    assert unaligned_words(source, "A brown dog runs", [reference], [*alignment, (3, 3)]) is None
    assert unaligned_words(source, "", [reference], []) is None
    # A sentence without spaces is no long word.
    assert unaligned_words("医生每天早上看见面包。", "The doctor", ["The doctor sees it"], [(0, 0)]) is None


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "expected"),
    [
        ("Un appareil photo jetable.", "A jetable camera.", "A disposable camera.", ["jetable"]),
        ("Jetable, cet appareil.", "Jetable camera.", "A disposable camera.", ["jetable"]),  # without case
        ("Une table verte.", "A table of green.", "A green desk.", None),  # both languages have it
        ("Elle voit Ludmilla.", "She sees Ludmilla.", "She sees her friend.", None),  # a name
        ("Un animal orange.", "An animal orange.", "An orange animal.", None),
        ("Il a 20 ans.", "He has 20 ans.", "He is twenty.", ["ans"]),
        ("A 12 de la on.", "A 12 de la on.", "There.", None),  # of one or two letters, and numbers
        ("She wears a hat.", "Elle porte un hat.", "Elle porte un chapeau.", ["hat"]),
    ],
)
def test_words_that_stay_as_they_are(source: str, hypothesis: str, reference: str, expected: list[str] | None) -> None:
    assert copied_words(source, hypothesis, [reference], known_words={"table"}) == expected


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "missing", "invented"),
    [
        ("Il y en a 12.", "There are some.", "There are 12.", ["12"], None),
        ("Il y en a 12.", "There are 21.", "There are 12.", ["12"], ["21"]),
        ("Il y en a 2.", "There are some.", "There are two.", None, None),  # as the reference
        ("Il y en a deux.", "There are 2.", "There are two.", None, ["2"]),
        ("Il y en a deux.", "There are 2.", "There are 2.", None, None),
        ("Il coûte 3,50 euros.", "It costs 3.50 euros.", "It costs 3.50 euros.", None, None),
        ("1\u202f000 et 2 000 et 3\u00a0000", "1,000 and 2000 and 3.000", "1,000, 2,000, 3,000", None, None),
        ("En 2014 300 ans.", "In 2014 300 years.", "In 2014, 300 years.", None, None),
        ("It was 2014.", "C'était en ２０１４.", "C'était en 2014.", None, None),
        ("1 2", "1", "1 2", ["2"], None),
        ("人口是12万。", "It has 120,000 people.", "It has 120,000 people.", None, None),
        ("人口是12万。", "It has 12 people.", "It has 120,000 people.", ["12万"], ["12"]),
        ("It has 120,000.", "有12万人。", "有120000人。", None, None),
        ("3億5000万円", "350,000,000 yen", "350 million yen", None, None),
        ("1万2500人", "12,500", "many", None, None),
        ("1.5百万 2千万", "1.5 million, 20000000", "1,500,000, 20,000,000", None, ["1.5"]),
        ("12만 명, 1.25억", "120,000, 125 000 000", "many", None, None),
        ("12만 2014년", "120,000 in 2014", "many then", None, None),
        ("5千克", "5 kg", "five kilograms", None, None),  # a unit of weight
        ("三百人", "300", "300 people", None, None),  # a number in words is none
        ("ราคา ๑๒๐ บาท", "It costs 120.", "It costs 120 baht.", None, None),
        ("١٬٠٠٠ و ٣٫٥", "1,000 and 3.5", "a thousand, and more", None, None),
        ("第３章", "Chapter 4", "Chapter 3", ["3"], ["4"]),
    ],
)
def test_numbers(
    source: str, hypothesis: str, reference: str, missing: list[str] | None, invented: list[str] | None
) -> None:
    assert lost("numbers", source, hypothesis, [reference]) == missing
    assert invented_numbers(source, hypothesis, [reference]) == invented


def test_a_number_that_one_reference_leaves_out_is_not_lost() -> None:
    assert lost("numbers", "12 et 7", "a", ["12 7", "7"]) == ["7"]


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "expected"),
    [
        ("Un bâtiment peint en Union Jack.", "A Jackionion building.", "A union jack building.", ["Union", "Jack"]),
        (
            "Paris est belle.",
            "It is beautiful.",
            "Paris is beautiful.",
            None,
        ),  # its capital may be that of the sentence
        ("Il dort. Paris est belle.", "It is beautiful.", "He sleeps. Paris is beautiful.", None),
        ("Il dit : « Paris est belle. »", "He says it is.", "He says Paris is.", None),
        ('Il dit "Paris est belle"', "He says it is.", "He says Paris is.", None),
        ("Il voit Paris.", "He sees PARIS.", "He sees Paris.", None),
        ("Il part lundi avec M. Obama", "He leaves", "He leaves on Monday with Mr Obama", None),  # after a full stop
        ("Il part avec l'ami d'Obama", "He leaves", "He leaves with the friend of Obama", ["Obama"]),
        ("IL VOIT ANNA ICI", "He is here", "He sees Anna here", None),  # all have capitals
        ("Yesterday I saw Anna.", "Hier je la vis.", "Hier, je vis Anna.", ["Anna"]),
        ("Il est à Londres", "He is here", "He is in London", None),  # no name of the reference
        ("我和Ludmilla去北京。", "I go there.", "I go to Beijing with Ludmilla.", ["Ludmilla"]),
        ("我住在USA。", "I live here.", "I live in the USA.", ["USA"]),  # most letters have no case
        ("我在北京。", "I am here.", "I am in Beijing.", None),
    ],
)
def test_names(source: str, hypothesis: str, reference: str, expected: list[str] | None) -> None:
    assert lost("names", source, hypothesis, [reference]) == expected


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "expected"),
    [
        ("Appelez strlen() ici.", "Call it here.", "Call strlen() here.", ["strlen()"]),
        ("Appelez strlen().", "Call (strlen()).", "Call strlen().", None),
        ("l’E_ALL, d'E_NOTICE", "E_ALL; E_NOTICE", "E_ALL, E_NOTICE", None),
        ("L'alinéa 9(1)a) et 9(2)", "Paragraph 9(1)(b)", "Paragraph 9(1)(a), 9(2)", ["9(1)a)", "9(2)"]),
        ("L'alinéa 9(1)a)", "Paragraph 9(1)(a)", "Paragraph 9(1)(a)", None),
        ("$x->id --help &lt; php.ini x86 iPod", "x", "$x->id --help &lt; php.ini x86 iPod",
         ["$x->id", "--help", "&lt", "php.ini", "x86", "iPod"]),
        ("l'arc-en-ciel 3,50 12:30 12/5 : fin. -- A.", "", "l'arc-en-ciel 3,50 12:30 12/5 : fin. -- A.", None),
        ("snake_case ici", "snake_cases here", "snake_case here", ["snake_case"]),
        ("le et/ou là", "here", "and/or there", None),  # as the reference
        ("调用strlen()函数。", "Call it.", "Call the function strlen().", ["strlen()"]),
        ("Вызовите E_ALL.", "调用函数。", "调用E_ALL函数。", ["E_ALL"]),
        ("调用 strlen()、E_ALL，然后看 php.ini。", "Call it.", "Call strlen(), E_ALL; see php.ini.",
         ["strlen()", "E_ALL", "php.ini"]),
        ("استخدم x86، E_ALL؟", "Use it.", "Use x86 and E_ALL.", ["x86", "E_ALL"]),
    ],
)  # fmt: skip
def test_codes(source: str, hypothesis: str, reference: str, expected: list[str] | None) -> None:
    assert lost("codes", source, hypothesis, [reference]) == expected


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [
        ("A ⁇ dog", ["⁇"]),
        ("A \ufffd dog", ["\ufffd"]),
        ("A \x07dog", ["\x07"]),
        ("A дog", ["д"]),
        ("A naïve dœg – “yes” 5 € ", None),  # Latin letters, and signs of all kinds
        ("ψ", None),  # an alphabet that another text has
    ],
)
def test_characters(hypothesis: str, expected: list[str] | None) -> None:
    assert unknown_characters(hypothesis, ["A dog", "Un α"]) == expected


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("トムは学生です。", "彼は学生だ。", None),  # Japanese is written with all three
        ("人々ー", "彼は", None),
        ("ｺｰﾋｰ nº ｆ", "彼は nf", None),
        ("他是学生。ж", "他是学生。", ["ж"]),
        ("ฉันไป", "ຂ້ອຍໄປ", ["ฉ", "น", "ไ", "ป"]),
    ],
)
def test_what_is_one_writing_is_one_alphabet(hypothesis: str, reference: str, expected: list[str] | None) -> None:
    assert unknown_characters(hypothesis, [reference]) == expected


def test_a_length_is_far_by_fewer_characters_where_they_are_wide() -> None:
    assert too_short("医生看见面包。", ["医生每天早上在这里看见面包和水果。"]) == []  # 7 of 17, of which 10 are 5 words
    assert too_short("看见面包。", ["医生看见面包。"]) is None
    assert too_short("หมอเห็นขนม", ["หมอเห็นขนมปังทุกเช้า"]) is None  # 10 of 20 letters are two words


def test_phrases_are_of_words_if_only_a_few_characters_have_no_spaces() -> None:
    reference = "A stand for his day 犬."
    assert repeated_words("A stand for his day for his day 犬.", [reference]) == ["for his day"]


def test_characters_that_stay_as_they_are() -> None:
    assert copied_words("我住在北京。", "I live in 北京.", ["I live in Beijing."]) == ["北", "京"]
    assert copied_words("我住在北京。", "北京に住んでいる", ["ペキンに住んでいる"]) is None
    assert copied_words("वह दिल्ली में है", "He is in दिल्ली", ["He is in Delhi"]) == ["दिल्ली"]
