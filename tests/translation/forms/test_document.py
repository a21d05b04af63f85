"""Paragraphs of whole texts."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.translation.forms.document import read_document
from seq2seq.translation.forms.piece import SOFT_HYPHEN
from tests.effort import no_hang
from tests.translation.forms.reading import pieces_of, texts_of, translated


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("Un chat\ndort sur\nle lit.\n\nIl rêve.\n", ["Un chat dort sur le lit.", "Il rêve."]),
        ("Un chat dort.", ["Un chat dort."]),
        # Hyphens
        (f"Une exem{SOFT_HYPHEN}\nple.\n", ["Une exemple."]),
        ("À l'arrière-\nplan, donne-\nmoi 3 -\n4 ou 3-\n4.\n", ["À l'arrière-plan, donne-moi 3 - 4 ou 3- 4."]),
        ("日本語の\n文章です。\n", ["日本語の文章です。"]),
        # Lists
        ("Il faut :\n- du pain\n- du vin\n  rouge\n* de l'eau\n• du sel\n", [
            "Il faut :", "du pain", "du vin rouge", "de l'eau", "du sel"
        ]),
        ("1. Un\n2. Deux\n   et demi\n10) Dix\na) A\nb) B\n", ["Un", "Deux et demi", "Dix", "A", "B"]),
        ("Sie kommt am\n3. Januar an.\n", ["Sie kommt am 3. Januar an."]),
        ("M. Dupont et\nJ. K. Rowling.\n", ["M. Dupont et J. K. Rowling."]),
        ("— Où vas-tu ?\n—\u00a0À la gare.\n– Bon.\n", ["Où vas-tu ?", "À la gare.", "Bon."]),
        ("— Τι κάνεις;\n— Καλά.\n", ["Τι κάνεις;", "Καλά."]),
        ("– ما هذا؟\n– كتاب.\n", ["ما هذا؟", "كتاب."]),
        ("—「他走了。」\n—她呢？\n", ["「他走了。」", "她呢？"]),
        ("The man\n— who slept —\nwoke.\n", ["The man — who slept — woke."]),
        # Indentation
        ("    Un roi\nvivait là.\nIl dormait.\n    Une reine\naussi.\n", [
            "Un roi vivait là. Il dormait.", "Une reine aussi."
        ]),
        ("  Titre.\nTexte\n  Citation\n  longue\nFin\n", ["Titre.", "Texte", "Citation longue", "Fin"]),
        ("> Un chat\n> dort.\n>\n> > Il\n> rêve.\n", ["Un chat dort.", "Il", "rêve."]),
        # Headings and rules
        ("# Le chat\nIl dort.\n## Le chien\n\nTitre\n=====\nTexte\n---\n", [
            "Le chat", "Il dort.", "Le chien", "Titre", "Texte"
        ]),
        # Rows of tables
        ("Texte\n| a | b |\n|---|---|\n| c | d |\n", ["Texte", "a | b |", "c | d |"]),
        ("Pain     2 €\nVin rouge\t9 €\nEn tout,\n11 €\n", ["Pain     2 €", "Vin rouge\t9 €", "En tout, 11 €"]),
        ("-    du pain\n-\tdu vin\n\trouge\n", ["du pain", "du vin rouge"]),
        ("#chat et\n#chien\n", ["#chat et #chien"]),
    ],
)  # fmt: skip
def test_a_paragraph_is_one_text(text: str, texts: list[str]) -> None:
    assert texts_of(text, "document") == texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  1. Un chat dort. \r\n\r\n \t\r\nFin", "  1. UN CHAT DORT. \r\n\r\n \t\r\nFIN"),
        ("## Le chat ##\n* * *\n    - Il dort.\n\n\n", "## LE CHAT ##\n* * *\n    - IL DORT.\n\n\n"),
        ("\ufeff> Oui.\n>\n", "\ufeff> OUI.\n>\n"),
        ("- Un long\r\n  chat\r\n  dort", "- UN LONG\r\n  CHAT\r\n  DORT"),
        ("   Un\nroi vit ici.\n", "   UN ROI\nVIT ICI.\n"),
        ("> Un chat\n> dort bien\n", "> UN CHAT\n> DORT BIEN\n"),
    ],
)
def test_all_but_the_text_stays(text: str, expected: str) -> None:
    assert translated(text, "document", translate=str.upper) == expected


def test_a_wrapped_paragraph_is_wrapped_to_its_longest_line_and_any_other_is_one_line() -> None:
    longer = lambda text: f"{text} Et encore un mot !"  # noqa: E731
    assert translated("Un chat dort.\n", "document", translate=longer) == "Un chat dort. Et encore un mot !\n"
    wrapped = translated("Un chat dort\nsur un lit.\n", "document", translate=longer)
    assert wrapped == "Un chat dort\nsur un lit.\nEt encore un\nmot !\n"


def test_chinese_is_wrapped_between_characters_that_may_stand_at_an_edge() -> None:
    source = "Un chat dort sur\nle lit.\n"
    wrapped = translated(
        source, "document", translate=lambda _: "老师说：「你好，世界。」然后在 Wikipedia 上看了ちょっと。"
    )
    assert wrapped == "老师说：「你好，\n世界。」然后在\nWikipedia 上看了\nちょっと。\n"
    assert translated("一二三四五六\n七八\n", "document", translate=lambda _: "a b c d e f g") == "a b c d e f\ng\n"


def test_no_wrapped_line_begins_like_a_list_or_with_punctuation_alone() -> None:
    source = "aaaa bbbb ccc\nddd\n"
    wrapped = translated(source, "document", translate=lambda _: "aaaa bbbbbb 3. ccccc « dd » ! ee - fffff # gg")
    assert wrapped == "aaaa\nbbbbbb 3.\nccccc\n« dd » ! ee -\nfffff # gg\n"
    assert texts_of(wrapped, "document") == ["aaaa bbbbbb 3. ccccc « dd » ! ee - fffff # gg"]


# --- properties ---

words = st.text(st.sampled_from("abé1.-#>*»—)"), min_size=1, max_size=5)
unwrapped_line = st.builds("{}{}{}".format, st.sampled_from(["", " ", "    ", "> "]), words, st.sampled_from(["", " "]))
wrapped_line = st.builds(
    lambda indent, line: indent + " ".join(line),
    st.sampled_from(["", "", "  ", "- ", "1. ", "# "]),
    st.lists(words, max_size=6),
).filter(lambda line: not line.lstrip().startswith(">"))  # a quotation has a mark for each line that it has
ends = st.sampled_from(["\n", "\r\n"])


@given(lines=st.lists(wrapped_line), end=ends)
@example(lines=["a -", "b", "", "1. c", "2. d"], end="\n")
def test_nothing_but_white_space_changes_in_a_wrapped_document(lines: list[str], end: str) -> None:
    text = "".join(line + end for line in lines)
    found = translated(text, "document")
    assert "".join(found.split()) == "".join(text.split())
    is_blank = [not line.strip() for line in found.split(end)]
    assert sum(is_blank) == sum(not line.strip() for line in text.split(end))
    assert n_blocks(found.split(end)) == n_blocks(text.split(end))
    assert found.count(end) == found.count("\n")


def n_blocks(lines: list[str]) -> int:
    """How many runs of lines stand between blank lines."""
    are_blank = [True, *(not line.strip() for line in lines)]
    return sum(before and not after for before, after in pairwise(are_blank))


@given(lines=st.lists(st.tuples(unwrapped_line, st.sampled_from(["\n\n", "\n \n\n", "\r\n\r\n"]))), last=unwrapped_line)
def test_an_unwrapped_document_comes_back_as_it_was(lines: list[tuple[str, str]], last: str) -> None:
    text = "".join(line + blank for line, blank in lines) + last
    assert translated(text, "document") == text
    assert len(texts_of(text, "document")) == sum(any(map(str.isalnum, line)) for line, _ in [*lines, (last, "")])


@given(text=st.text(st.sampled_from("ab1.- \n\r\t>#*—\x0c\u2028\u00a0\ufeff")))
def test_any_text_is_cut_into_pieces_that_are_the_text(text: str) -> None:
    pieces_of(text, "document")


# --- memory and time ---


def test_a_file_without_blank_lines_is_read_in_bounded_memory() -> None:
    n_read = 0

    def endless() -> Iterator[str]:
        nonlocal n_read
        while True:
            n_read += 1
            yield "un chat dort sur le lit\n"

    pieces = read_document(endless())
    for _ in range(3):
        assert len(next(pieces).texts[0]) < 21_000
    assert n_read < 3_000


@pytest.mark.parametrize(
    "line", ["- " * 50_000 + "a", "a " * 50_000, "a" + " " * 200_000, "1. " * 40_000, "»" * 200_000 + "a"]
)
def test_a_huge_line_takes_linear_time(line: str) -> None:
    text = f"a\n{line}\n"
    with no_hang():
        assert "".join(translated(text, "document").split()) == "".join(text.split())
