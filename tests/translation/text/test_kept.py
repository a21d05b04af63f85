"""What comes through unchanged: markup, URLs, placeholders, emoji and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.kept import KINDS, letter_edits, numbers, things, unknown_things
from seq2seq.translation.text.origins import Text
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
        ("a&#1; &#x1F;b &#xFFFE;", ["&#1;", "&#x1F;", "&#xFFFE;"]),  # they stand for nothing
        ("<0>un</0> <1/> <12 /> <3 a < 4>", ["<0>", "</0>", "<1/>", "<12 />"]),
        ('<xliff:g id="x">un</xliff:g> <x n="A>B"/>', ['<xliff:g id="x">', "</xliff:g>", '<x n="A>B"/>']),
        ("<![CDATA[un <b>chat</b>]]>", ["<![CDATA[", "<b>", "</b>", "]]>"]),
        ("<%= nom %> <?php echo 1 ?> <!DOCTYPE html>", ["<%= nom %>", "<?php echo 1 ?>", "<!DOCTYPE html>"]),
        ("看见<b>面包</b>每天<br/>好", ["<b>", "</b>", "<br/>"]),
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
        ("医生看见https://example.org/a?b=1每天", ["https://example.org/a?b=1"]),
        ("请联系li@example.org。", ["li@example.org"]),
        ("『https://example.org/a』。（www.a.org）", ["https://example.org/a", "www.a.org"]),
        ("ดูhttps://example.org/aทุกวัน li@a.orgครับ", ["https://example.org/a", "li@a.org"]),
        ("これはwww.example.orgです", ["www.example.org"]),
        ("شاهدhttps://example.org/aكل يوم، li@a.org؟", ["https://example.org/a", "li@a.org"]),
        ("मैंने https://example.org/aपर देखा। li@a.orgसे", ["https://example.org/a", "li@a.org"]),
        ("https://example.org। https://example.org։ https://example.org።", ["https://example.org"] * 3),
        ("Δες https://example.org/α, дом@почта.рф", ["https://example.org/α", "дом@почта.рф"]),
        ("https://fa.org/wiki/گربه https://ja.org/wiki/猫", ["https://fa.org/wiki/گربه", "https://ja.org/wiki/"]),
        (r"Ouvrir C:\new\table.txt, puis 打开C:\a文件", [r"C:\new\table.txt", r"C:\a"]),
    ],
)
def test_urls_and_addresses_are_found_without_the_marks_of_the_sentence(text: str, expected: list[str]) -> None:
    assert found(text, "urls") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{name} {0:.2f} {} {{ x }} ${a}", ["{name}", "{0:.2f}", "{}", "{{ x }}", "${a}"]),
        ("%s, %(nom)s %(n)d %1$d %-5.2f %d%%", ["%s", "%(nom)s", "%(n)d", "%1$d", "%-5.2f", "%d", "%%"]),
        ("$VAR __X__ __MA_CLE__", ["$VAR", "__X__", "__MA_CLE__"]),
        ("50% de, 100 % sont, $5, 5 $, { a b }, _x_, a__b__ 50%s", []),
        ("吃了%d面包，%sさん、%1$sคน {n}个 $VAR是__X__的", ["%d", "%s", "%1$s", "{n}", "$VAR", "__X__"]),
        ("%@ %1$@ %lld", ["%@", "%1$@", "%lld"]),  # iOS
        ("%{nom} %<nom>s %<n>.2f", ["%{nom}", "%<nom>s", "%<n>.2f"]),  # Ruby
        ("%n %1 %L2 %12", ["%n", "%1", "%L2", "%12"]),  # Qt
        ("{0:N2} {0,10:C} {1}", ["{0:N2}", "{0,10:C}", "{1}"]),  # .NET
        ("${nom} $nom", ["${nom}", "$nom"]),  # JavaScript, Perl
        ("{{#if x}}un{{/if}} {{{x}}} {{> a}}", ["{{#if x}}", "{{/if}}", "{{{x}}}", "{{> a}}"]),  # Mustache
        (":nom_complet, il dit :oui a:b_c :b_c:", [":nom_complet"]),  # Laravel; :nom may be prose
        ("{n, number} {d, date, short} {a, b}", ["{n, number}", "{d, date, short}"]),
    ],
)
def test_placeholders_are_found(text: str, expected: list[str]) -> None:
    assert found(text, "placeholders") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"Un\nchat\t\"noir\" \\ \u00a0", [r"\n", r"\t", r"\"", r"\"", r"\\", r"\u00a0"]),
        (r"\textbf{un} \nu{a} \section*{b} d\u00e9j\u00e0 \o", []),
        ("$t(cat) $t(ns:cat, {'n': 1}) $t", ["$t(cat)", "$t(ns:cat, {'n': 1})"]),
        ("@:a.b. @.lower:a.b @:(a.b) a@:b @nom", ["@:a.b", "@.lower:a.b", "@:(a.b)"]),
        ("&amp;&lt;&nbsp;&quot;&inconnu; C&apos;&eacute;tait", ["&amp;", "&lt;", "&nbsp;", "&quot;", "&inconnu;"]),
        ("{n, plural, one {Un # chat} other {# chats}}", ["{n, plural, one {", "#", "} other {", "#", "}}"]),
        ("A # {g,select,m{Il # dort}other{Iel}} b", ["{g,select,m{", "}other{", "}}"]),
        ("{n, selectordinal, offset:1 =0 {a} few {#e}}.", ["{n, selectordinal, offset:1 =0 {", "} few {", "#", "}}."]),
        (
            "{g, select, m {Il a {n, plural, one {# ami {x}} other {des amis}}.} other {Rien '{' ici}}",
            ["{g, select, m {", "{n, plural, one {", "#", "} other {", "}}.", "} other {", "}}"],
        ),
        ("{n, plural, one {Un chat", []),
    ],
)  # fmt: skip
def test_what_only_programs_write_is_found(text: str, expected: list[str]) -> None:
    assert found(text, "code") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C&apos;&eacute;tait l&#39;&#xE9;t&#233;", "C'était l'été"),
        ("l&rsquo;&OElig;uvre &amp; &lt;b&gt; &quot;&semi;&eacutex;", "l’Œuvre &amp; &lt;b&gt; &quot;&semi;&eacutex;"),
        (r"d\u00e9j\u00E0 \u00a0 \ud83d", r"déjà \u00a0 \ud83d"),
    ],
)  # fmt: skip
def test_letters_and_apostrophes_in_code_are_read(text: str, expected: str) -> None:
    assert Text.of(text).edited(letter_edits(text)).text == expected


def test_own_patterns_are_found_without_white_space_around() -> None:
    text = "Le [[chat]] AB-12 voit http://AB-12.fr."
    own = [r"\[\[.*?\]\]", r"\s*\b[A-Z]{2}-\d+\s*"]
    assert [thing.text for thing in things(text, ["urls"], own)] == ["[[chat]]", "AB-12", "http://AB-12.fr"]


@pytest.mark.parametrize(
    "emoji",
    ["😀", "❤️", "👍🏽", "👩‍👩‍👧", "🧑🏿‍🚀", "🏳️‍🌈", "🇫🇷", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "#️⃣", "☀", "✅", "⌚", "©️", "↔️", "🫠", "🀄", "⭐"],
)
def test_an_emoji_of_many_code_points_is_one_thing(emoji: str) -> None:
    assert found(f"a{emoji}b {emoji}{emoji}.", "emoji") == [emoji] * 3


def test_letters_and_signs_are_no_emoji() -> None:
    assert found("© ™ ← 1 # * é 中 … — ‰ €", "emoji") == []


def test_short_codes_are_emoji_but_times_are_none() -> None:
    assert found("Oui :smile: :+1: 好:tada:", "emoji") == [":smile:", ":+1:", ":tada:"]
    assert found("10:30:45 a:b:c : oui : a::b :é: ratio 1:x:2", "emoji") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "En 2024, 1,500.00 ou 12 345 ou 12\u202f345\u202f678.",
            ["2024", "1,500.00", "12 345", "12\u202f345\u202f678"],
        ),
        ("à 12:30 le 01/02/2024, 3,5 % et 10km", ["12:30", "01/02/2024", "3,5", "10"]),
        ("3e, 1er, 21st, MP3, x.5, B2B, МП3", []),
        ("吃了12面包，１２个 กิน12ชิ้น و12 ۱۲٫۵ १२", ["12", "１２", "12", "12", "۱۲٫۵", "१२"]),
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
        [
            "{a,plural,b{",
            "{a,plural,b{}",
            "{a, number",
            ":a_",
            "@:a.",
            "$t(",
            r"\n",
            r"C:\\",
            "%<",
            "<![CDATA[",
            "a@b.",
        ],
        ["http://a/пр", "пр", "医", "ๆ", "\u0301", "a龘", "&amp;", "龘,", "12:", ":a:", "+1:", "a'"],
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(bits: list[str]) -> None:
    for bit in bits:
        text = bit * (100_000 // len(bit))
        with no_hang():  # 0.1 s mostly; 15 s if it were quadratic
            unknown_things(text, KINDS, (), str.isascii)
            letter_edits(text)
            list(numbers(text))
