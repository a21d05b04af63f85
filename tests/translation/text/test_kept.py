"""What comes through unchanged: markup, URLs, placeholders, emoji and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.kept import KINDS, numbers, things
from tests.effort import no_hang


def found(text: str, *kinds: str) -> list[str]:
    return [thing.text for thing in things(text, kinds)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Un <b>chat</b><br/>noir", ["<b>", "</b>", "<br/>"]),
        ('<a href="a>b" class=\'c\'>lien</a>', ['<a href="a>b" class=\'c\'>', "</a>"]),
        ("<x:y-z id='1' /> <!-- non --> <?xml?>", ["<x:y-z id='1' />", "<!-- non -->", "<?xml?>"]),
        ("Tom &amp; Léa&nbsp;! &#160; &#xA0;", ["&amp;", "&nbsp;", "&#160;", "&#xA0;"]),
        ("caf&eacute; &#233; & ; &;", []),  # letters belong to their words
        ("a < b > c, x <3, <é>, < b>, <b", []),
        ("<b\u2028>", []),  # a translation is one line
    ],
)  # fmt: skip
def test_markup_is_found(text: str, expected: list[str]) -> None:
    assert found(text, "markup") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Voir http://a.fr/b?c=d#e, puis HTTPS.", ["http://a.fr/b?c=d#e"]),
        ("(https://fr.wikipedia.org/wiki/Loi_(droit)).", ["https://fr.wikipedia.org/wiki/Loi_(droit)"]),
        ("« www.a.fr » www.b.fr...", ["www.a.fr", "www.b.fr"]),
        ("jean.dupont+x@mail.exemple.fr.", ["jean.dupont+x@mail.exemple.fr"]),
        ("http:// http://. www. a@b @nom a.b", []),
        ("http://a.fr😀", ["http://a.fr"]),
    ],
)
def test_urls_and_addresses_are_found_without_the_marks_of_the_sentence(text: str, expected: list[str]) -> None:
    assert found(text, "urls") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{name} {0:.2f} {} {{ x }} ${a}", ["{name}", "{0:.2f}", "{}", "{{ x }}", "${a}"]),
        ("%s, %(nom)s %1$d %-5.2f %d%%", ["%s", "%(nom)s", "%1$d", "%-5.2f", "%d", "%%"]),
        ("$VAR __X__ __MA_CLE__", ["$VAR", "__X__", "__MA_CLE__"]),
        ("50% de, 100 % sont, $5, 5 $, { a b }, _x_, a__b__", []),
    ],
)
def test_placeholders_are_found(text: str, expected: list[str]) -> None:
    assert found(text, "placeholders") == expected


@pytest.mark.parametrize(
    "emoji",
    ["😀", "❤️", "👍🏽", "👩‍👩‍👧", "🧑🏿‍🚀", "🏳️‍🌈", "🇫🇷", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "#️⃣", "☀", "✅", "⌚", "©️", "↔️", "🫠", "🀄", "⭐"],
)
def test_an_emoji_of_many_code_points_is_one_thing(emoji: str) -> None:
    assert found(f"a{emoji}b {emoji}{emoji}.", "emoji") == [emoji] * 3


def test_letters_and_signs_are_no_emoji() -> None:
    assert found("© ™ ← 1 # * é 中 … — ‰ €", "emoji") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "En 2024, 1,500.00 ou 12 345 ou 12\u202f345\u202f678.",
            ["2024", "1,500.00", "12 345", "12\u202f345\u202f678"],
        ),
        ("à 12:30 le 01/02/2024, 3,5 % et 10km", ["12:30", "01/02/2024", "3,5", "10"]),
        ("3e, 1er, 21st, MP3, x.5, B2B", []),
    ],
)
def test_numbers_have_their_separators_and_are_no_parts_of_words(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in numbers(text)] == expected


def test_tags_know_their_partners() -> None:
    tags = things("<p>a <b>b <br>c</B></i> <u>d</p></u>", ["markup"])
    assert [(tag.text, tag.partner) for tag in tags] == [
        ("<p>", 6), ("<b>", 3), ("<br>", None), ("</B>", 1), ("</i>", None), ("<u>", None), ("</p>", 0), ("</u>", None)
    ]  # fmt: skip


@given(st.lists(st.sampled_from([*"<>{}%$&;@_:/.a1 \"'#😀", "http://", "<b", "</"]), max_size=30).map("".join))
def test_things_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for thing in things(text, KINDS):
        assert text[thing.start : thing.end] == thing.text and thing.start >= end
        end = thing.end


@pytest.mark.slow
@pytest.mark.parametrize(
    "bits",
    [
        [*"<{%:&$_#@(a"],
        ["{{", "<a", '<a "', "<!", "&a", "a@", "a.", "http://", "http://)", "www.", "__a", "%(", "1 ", "1 234"],
        ["😀\u200d", "<b>", "</b>"],
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(bits: list[str]) -> None:
    for bit in bits:
        text = bit * (100_000 // len(bit))
        with no_hang():  # 0.1 s mostly; 15 s if it were quadratic
            things(text, KINDS)
            list(numbers(text))
