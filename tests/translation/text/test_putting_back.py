"""Things that are taken out of a line and put back into its translation."""

import random
import re
from collections import Counter
from itertools import chain, pairwise
from typing import NamedTuple

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from seq2seq.characters import split_words
from seq2seq.translation.aligning import pairs_of_line
from seq2seq.translation.text.kept import KINDS, things, unknown_things
from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.putting_back import Links, Place, Restored, put_back, units
from seq2seq.translation.text.taking_out import Item, take_out
from tests.effort import n_steps

BITS = [
    "un", "Chat", "l'avocat", "arc-en-ciel", "12.5", "是的。", "été", "😀", "👩‍👩‍👧", "<b>", "</b>", "<i>", "</i>",
    "<p>", "</p>", "<br/>", "&nbsp;", "http://a.b/c", "{x}", "%s", "a@b.fr", ",", ".", " .", "«", "»", '"', "(", ")",
    "ขนม", "नमस्ते", "שָׁלוֹם", "كَلْب", "{n, plural, one {", "} other {", "}}", r"\n", "&amp;", ":ok:", "e\u0301", "\u0301",
    "。", "؟", "१२", "龘", "ß", "★", "!", "…", " ", " ", " ", " ", "  ", "\t", "\u00a0", "'",
]  # fmt: skip
lines = st.lists(st.sampled_from(BITS), max_size=24).map("".join)
# Well-formed elements, words and other things.
words = st.sampled_from(["un", "chat", "noir", "dort,", "(là)", "ici."])
nested = st.recursive(
    st.one_of(words, st.sampled_from(["😀", "{x}", "<br/>"])),
    lambda inner: st.tuples(st.sampled_from("bip"), st.lists(inner, max_size=4)).map(
        lambda element: f"<{element[0]}>{' '.join(element[1])}</{element[0]}>"
    ),
    max_leaves=12,
)
documents = st.lists(nested, max_size=5).map(" ".join)


def identical(text: str) -> Links:
    return [[i] for i in range(len(units(text)))]


class Taken(NamedTuple):
    left: Text
    items: list[Item]

    @property
    def text(self) -> str:
        return self.left.text

    def put_into(self, translation: str, links: Links, parts: list[Place] | None = None) -> Restored:
        whole = [Place(0, len(self.text), 0, len(translation))]
        return put_back(Text.of(translation), self.text, self.items, parts or whole, links)


def taken_of(line: str) -> Taken:
    return Taken(*take_out(Text.of(line), unknown_things(line, KINDS, (), lambda character: character not in "龘ß★")))


def translated(line: str, translation: str, alignment: str) -> str:
    """`alignment` has pairs of words, counted from 0, as "0-1 1-0"."""
    taken = taken_of(line)
    linked: list[list[int]] = [[] for _ in units(taken.text)]
    for pair in alignment.split():
        src, tgt = map(int, pair.split("-"))
        linked[src].append(tgt)
    return taken.put_into(translation, linked).translation.text


def rest_of(taken: Taken, restored: Restored) -> str:
    """The letters and marks around the things, each of which stands once, in its place and whole."""
    text = restored.translation.text
    spans = sorted((start, start + len(item.text)) for start, item in zip(restored.starts, taken.items, strict=True))
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(text[start:].startswith(item.text) for start, item in zip(restored.starts, taken.items, strict=True))
    around = [0, *chain.from_iterable(spans), len(text)]
    return "".join("".join(text[a:b] for a, b in zip(around[::2], around[1::2], strict=True)).split())


def shuffled(text: str, seed: int) -> tuple[str, Links]:
    """The words of a text in another order, each with the punctuation that its place had."""
    places = units(text)
    order = list(range(len(places)))
    random.Random(seed).shuffle(order)  # the word that comes to each place
    ends, starts = [0, *(place.end for place in places)], [*(place.start for place in places), len(text)]
    marks = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    words = [text[places[i].start : places[i].end] for i in order]
    mixed = marks[0] + "".join(word + mark for word, mark in zip(words, marks[1:], strict=True))
    linked: list[list[int]] = [[] for _ in places]
    if len(units(mixed)) != len(places):  # words that touched became one
        return text, identical(text)
    for tgt, src in enumerate(order):
        linked[src].append(tgt)
    return mixed, linked


@pytest.mark.parametrize(
    ("line", "translation", "alignment", "expected"),
    [
        ("Un <b>chat</b> noir dort.", "A black cat sleeps.", "0-0 1-2 2-1 3-3", "A black <b>cat</b> sleeps."),
        ("Un <b>chat noir</b> dort.", "A black cat sleeps.", "0-0 1-2 2-1 3-3", "A <b>black cat</b> sleeps."),
        ("Le <b>un</b> et <i>deux</i>.", "A two and one.", "0-0 1-3 2-2 3-1", "A <i>two</i> and <b>one</b>."),
        ("Un chat 😀 noir.", "A black cat.", "0-0 1-2 2-1", "A black cat 😀."),
        ("Un chat noir 😀.", "A black cat.", "0-0 1-2 2-1", "A black cat 😀."),
        ("😀 Chat noir ! 😀", "Black cat!", "0-1 1-0", "😀 Black cat! 😀"),
        ("Salut {x}, Léa", "Hello Léa", "0-0 1-1", "Hello {x} Léa"),
        ("Salut, {x} Léa", "Léa, hello", "0-1 1-0", "Léa, hello {x}"),
        ("Salut {x} Léa", "Hello, Léa", "0-0 1-1", "Hello {x}, Léa"),
        ("Salut {x} !", "Hello!", "0-0", "Hello {x}!"),
        ("Voir http://a.fr/b?c.", "See.", "0-0", "See http://a.fr/b?c."),
        ("« <b>Le chat</b> » dort", "“The cat” sleeps", "0-0 1-1 2-2", "“<b>The cat</b>” sleeps"),
        ("<b>« Le chat »</b> dort", "“The cat” sleeps", "0-0 1-1 2-2", "<b>“The cat”</b> sleeps"),
        ("l'<b>avocat</b> dort", "the lawyer sleeps", "0-0 1-1 2-2", "the <b>lawyer</b> sleeps"),
        ("the <b>lawyer</b> 😀", "l'avocat", "0-0 1-1", "l'<b>avocat</b> 😀"),
        ("Un<br/>deux<br/>trois", "One two three", "0-0 1-1 2-2", "One<br/>two<br/>three"),
        ("in<b>cred</b>ible", "unbelievable", "0-0", "<b>unbelievable</b>"),
        ("<b>un</b> <i>deux</i>", "b a b a", "0-1 0-3 1-0 1-2", "<i>b a b</i> <b>a</b>"),  # they would cross
        ("<b>un <i>deux</i></b> trois", "three two one", "0-2 1-1 2-0", "three <b><i>two</i> one</b>"),
        ("<b>un un</b><i>Chat un</i>", "un un unChat", "0-0 1-2 2-1", "<b>un un un</b><i>Chat</i>"),  # in a word
        ("Un <p>deux", "two One", "0-1 1-0", "<p>two One"),  # opened, never closed; it touches its word
        ("Un <b></b> deux", "two One", "0-1 1-0", "two One <b></b>"),
        ("(😀) un", "one", "0-0", "😀 one"),
        ("Un 😀 deux", "", "", "😀"),
        ("Un chat… {x} dort", "A cat... sleeps", "0-0 1-1 2-2", "A cat... {x} sleeps"),
        ("… {x} un chat", "... a cat", "0-0 1-1", "... {x} a cat"),
    ],
)
def test_things_go_where_their_words_went(line: str, translation: str, alignment: str, expected: str) -> None:
    assert translated(line, translation, alignment) == expected


def test_a_thing_stays_in_its_part_of_the_line() -> None:
    line = "😀 Un. 😎 Deux 🐱 trois. 🐶"
    taken, translation = taken_of(line), "Y x. B a."
    assert taken.text == "Un. Deux trois."
    parts = [Place(0, 3, 0, 4), Place(4, 15, 5, 9)]
    assert taken.put_into(translation, [[1], [3], [2]], parts).translation.text == "😀 Y x. 😎 B a 🐱. 🐶"


def test_an_element_around_parts_is_around_their_translations() -> None:
    taken = taken_of("<b>Un. Deux</b> trois.")
    parts = [Place(0, 3, 0, 4), Place(4, 15, 5, 9)]
    # Without attention, all words of a part are linked to all of its translation.
    assert taken.put_into("Y x. B a.", [range(2), [3], [2]], parts).translation.text == "<b>Y x. B a</b>."


@pytest.mark.parametrize(
    ("line", "translation", "alignment", "expected"),
    [
        ("看见{x}面包", "sees bread", "0-0 1-0 2-1 3-1", "sees {x} bread"),
        ("看见{x}，好", "sees, good", "0-0 1-0 2-1", "sees {x}, good"),
        ("吃了<b>面包</b>好", "ate bread well", "0-0 1-0 2-1 3-1 4-2", "ate <b>bread</b> well"),
        ("sees {x} bread", "看见面包", "0-0 0-1 1-2 1-3", "看见 {x}面包"),
        ("看见https://a.org好", "sees good", "0-0 1-0 2-1", "sees https://a.org good"),
        ("เห็น{x}ขนม", "sees snack", "0-0 1-0 2-0 3-1 4-1 5-1", "sees {x} snack"),
        ("كلبhttps://a.org", "dog", "0-0", "dog https://a.org"),
        ("मैंने %dनमक खाया", "I ate salt", "0-0 1-2 2-1", "I ate %d salt"),
        ("मैंने {x}नमक खाया", "I ate salt", "0-0 1-2 2-1", "I ate {x}salt"),
        ("Un {x}chat noir", "black cat", "0-0 1-1 2-0", "black {x}cat"),  # it goes with what it touches
        ("Le chat{x} noir", "The black cat", "0-0 1-2 2-1", "The black cat{x}"),
        ("{n, plural, one {Un chat} other {Deux}}", "A cat Two", "0-0 1-1 2-2", "{n, plural, one {A cat} other {Two}}"),
        (r"Un\nchat", "A cat", "0-0 1-1", r"A\ncat"),
        ("Un chat. {n, plural, other {#}}.", "A cat.", "0-0 1-1", "A cat. {n, plural, other {#}}."),
    ],
)
def test_things_stand_apart_where_the_translation_has_spaces(
    line: str, translation: str, alignment: str, expected: str
) -> None:
    assert translated(line, translation, alignment) == expected


@given(lines)
@example("<b>un</b> <i>deux</i>")
@example("un{x}deux")
@example("un<p>,</p>")
@example("u<b>n</b>deux<i>trois</i>4")
def test_what_is_taken_out_of_a_line_and_put_back_is_the_line(line: str) -> None:
    taken = taken_of(line)
    assume(not regex.search(r"(?V1)[\p{LC}\d][\p{L}--\p{LC}]|[[\p{L}--\p{LC}]\p{M}][\p{LC}\d]", line))  # stand apart
    assume(not regex.search(r"(?<![^\s\p{P}])\p{M}", line))  # a mark on nothing
    assume(units(taken.text))  # else the line comes out as it was, without any of this
    restored = taken.put_into(taken.text, identical(taken.text))
    assert restored.translation.text == (line.strip() if taken.items else line)


@given(lines, st.integers(0, 99))
def test_each_thing_comes_once_wherever_its_words_go(line: str, seed: int) -> None:
    taken = taken_of(line)
    translation, linked = shuffled(taken.text, seed)
    restored = taken.put_into(translation, linked)
    assert rest_of(taken, restored) == "".join(translation.split())
    for item, start in zip(taken.items, restored.starts, strict=True):
        if item.partner is not None:
            partner = restored.starts[item.partner]
            assert (start < partner) == (item.origins[0] < taken.items[item.partner].origins[0])


@given(
    st.lists(st.one_of(st.sampled_from(BITS), st.characters(codec="utf-8")), max_size=24).map("".join), st.booleans()
)
def test_each_thing_of_any_text_comes_once(line: str, is_aligned: bool) -> None:
    taken = taken_of(line)
    images = [[0, 1]] if is_aligned else [[]]
    restored = taken.put_into("a 是", images * len(units(taken.text)))
    assert rest_of(taken, restored) == "a是"
    assert not set(restored.translation.text) & set("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


@given(st.one_of(documents, documents.map(lambda text: text.replace(" ", ""))), st.data())
def test_elements_stay_well_formed_however_words_are_linked(line: str, data: st.DataObject) -> None:
    """Also where they begin and end inside words, and words become one word or many."""
    taken = taken_of(line)
    left = taken.text.split()
    pieces = st.sampled_from(["un", "chat.", *left, *(text[:3] for text in left), "".join(left[:2]) or "a"])
    translation = " ".join(data.draw(st.lists(pieces, min_size=1, max_size=6)))
    assume(n_words := len(units(translation)))
    each = st.lists(st.integers(0, n_words - 1), min_size=1, max_size=3, unique=True)
    links = [data.draw(each) for _ in units(taken.text)]
    text = taken.put_into(translation, links).translation.text
    assert Counter(re.findall("<.*?>", text)) == Counter(re.findall("<.*?>", line))
    assert is_well_formed(text)


def is_well_formed(text: str) -> bool:
    stack = []
    for slash, name in re.findall(r"<(/?)([bip])>", text):
        if not slash:
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    return not stack


@given(lines, st.integers(0, 99))
def test_kept_things_are_aligned_with_themselves_and_words_as_before(line: str, seed: int) -> None:
    taken = taken_of(line)
    if not taken.items:
        return
    translation, linked = shuffled(taken.text, seed)
    restored = taken.put_into(translation, linked)
    src_words, tgt_words = split_words(taken.text), split_words(translation)
    every = [(src, tgt) for src in range(len(src_words)) for tgt in range(len(tgt_words))]
    pairs = pairs_of_line(every, line, *taken, translation, restored)
    src_words, tgt_words = split_words(line), split_words(restored.translation.text)
    assert all(src < len(src_words) and tgt < len(tgt_words) for src, tgt in pairs)
    for item in taken.items:
        first = split_words(item.text)[0]
        assert any(first in src_words[src] and first in tgt_words[tgt] for src, tgt in pairs)
    kept = [word for item in taken.items for word in split_words(item.text)]
    letters = {tgt for tgt, word in enumerate(tgt_words) if not any(each in word for each in kept)}
    assert letters <= {tgt for _, tgt in pairs}


def test_alignment_counts_the_words_of_the_line_as_it_was() -> None:
    line = "Un <i class='x'>chat</i> 😀 noir ."
    taken, translation = taken_of(line), "A black cat."
    assert taken.text == "Un chat noir ."
    restored = taken.put_into(translation, [[0], [2], [1]])
    assert restored.translation.text == "A black <i class='x'>cat</i> 😀."
    pairs = pairs_of_line([(0, 0), (1, 2), (2, 1), (3, 2)], line, *taken, translation, restored)
    #     0  1  2                3  4    5
    #     Un <i class='x'>chat</i> 😀 noir .    A black <i class='x'>cat</i> 😀.
    assert pairs == [(0, 0), (1, 2), (2, 3), (2, 4), (3, 4), (4, 1), (5, 3), (5, 4)]


def test_a_thing_is_aligned_with_its_own_word_of_the_line() -> None:
    line, translation = "le lac. <br/>« oui »", 'the lake. "yes"'
    opening, closing = line.index("« "), line.index(" »")
    read = Text.of(line).edited([Edit(opening, opening + 2, '"'), Edit(closing, closing + 2, '"')])
    taken = Taken(*take_out(read, things(read.text, KINDS)))
    restored = taken.put_into(translation, [[0], [1], [2]])
    assert restored.translation.text == 'the lake. <br/>"yes"'
    #                                     le      lac.    <br/>«  oui     »
    assert pairs_of_line([(0, 0), (1, 1), (2, 2)], line, *taken, translation, restored) == [
        (0, 0), (1, 1), (2, 2), (3, 2), (4, 2)
    ]  # fmt: skip
    assert pairs_of_line([], line, *taken, translation, restored) == [(2, 2)]


@pytest.mark.parametrize("bit", ["a😀", "!😀", "a <b>", "a<b>b</b>", "! <b>!</b>", "</b>!", "<b>a </b>", "&nbsp;a"])
def test_the_time_is_proportional_to_the_length_of_the_line(bit: str) -> None:
    def take_out_and_put_back(n: int) -> None:
        for line in (bit * n, f"a{bit * n}"):
            taken = taken_of(line)
            for translation in (taken.text, taken.text.replace("!", "?")):
                taken.put_into(translation, identical(taken.text))

    take_out_and_put_back(1)  # what only the first call does is not counted
    few, many = (n_steps(lambda n=n: take_out_and_put_back(n)) for n in (40, 160))  # type: ignore[misc]
    assert many < 6 * few  # 16 times as many, if it were quadratic


def test_a_part_without_attention_takes_no_longer() -> None:
    def put_into_one_part(n: int) -> None:
        taken = taken_of("a 😀 " * n)
        whole = range(len(units(taken.text)))
        taken.put_into(taken.text, [whole] * len(whole))

    put_into_one_part(1)
    few, many = (n_steps(lambda n=n: put_into_one_part(n)) for n in (40, 160))  # type: ignore[misc]
    assert many < 6 * few
