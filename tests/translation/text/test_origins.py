"""Edits of a text, and the words that come from its words."""

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.origins import Edit, Text
from seq2seq.translation.text.typography import french


def test_each_word_knows_the_words_that_it_comes_from() -> None:
    line = "Il dit « oui » !"
    quoted = Text.of(line).edited([Edit(7, 9, '"'), Edit(12, 14, '"')])
    assert quoted.text == 'Il dit "oui" !'
    assert quoted.words(line) == [[0], [1], [2, 3, 4], [5]]
    assert quoted.edited([Edit(0, 2, "Elle")]).words(line) == [[0], [1], [2, 3, 4], [5]]


def test_characters_are_words_where_there_are_no_spaces() -> None:
    line = "看见ABC 面包。"
    assert Text.of(line).edited([Edit(2, 5, "")]).words(line) == [[0], [1], [3], [4], [5]]


def test_a_word_that_is_split_comes_from_one() -> None:
    assert Text.of("a\u00adb c").edited([Edit(1, 2, " ")]).words("a\u00adb c") == [[0], [0], [1]]


@given(st.lists(st.tuples(st.text("ab ", min_size=1, max_size=4), st.booleans(), st.text("xy ", max_size=3))))
def test_what_is_not_edited_comes_from_itself(pieces: list[tuple[str, bool, str]]) -> None:
    line, edits = "", []
    for old, is_edited, new in pieces:
        if is_edited:
            edits.append(Edit(len(line), len(line) + len(old), new))
        line += old
    found = Text.of(line).edited(edits)
    assert found.text == "".join(new if is_edited else old for old, is_edited, new in pieces)
    assert len(found.origins) == len(found.text)
    kept = [origin for origin in found.origins if origin >= 0]  # the others were put in
    assert kept == sorted(kept)
    assert all(found.text[i] == line[origin] for i, origin in enumerate(found.origins) if found.text[i] in "ab")
    assert all(0 <= word < len(line.split()) for words in found.words(line) for word in words)


def test_typography_moves_the_words_with_the_letters() -> None:
    before = 'Il dit: "Quoi?" Oui!'
    after = Text.of(before).respaced(french(before))
    assert after.text.split() == ["Il", "dit", ":", "«", "Quoi", "?", "»", "Oui", "!"]
    assert after.words(before) == [[0], [1], [1], [2], [2], [2], [2], [3], [3]]
    assert Text.of("a b").respaced("ab").words("a b") == [[0, 1]]
    assert [after.text[after.place(place)] for place in (0, 8, 16)] == ["I", "«", "O"]


@given(st.text(st.sampled_from("abl'\"?!:; "), max_size=20))
def test_typography_leaves_no_word_without_its_origin(text: str) -> None:
    words = Text.of(text).respaced(french(text)).words(text)
    assert all(words)
    assert {each for word in words for each in word} == set(range(len(text.split())))


def test_what_is_put_in_comes_from_nothing() -> None:
    found = Text.of("a b").edited([Edit(1, 2, " 😀 "), Edit(3, 3, "!")])
    assert (found.text, found.origins) == ("a 😀 b!", [0, -1, -1, -1, 2, -1])
    assert found.words("a b") == [[0], [], [1]]
