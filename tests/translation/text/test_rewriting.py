"""Edits of a line, and the words that come from its words."""

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.rewriting import Edit, Rewritten


def test_each_word_knows_the_words_that_it_comes_from() -> None:
    line = "Il dit « oui » !"
    quoted = Rewritten.of(line).edited([Edit(7, 9, '"'), Edit(12, 14, '"')])
    assert quoted.text == 'Il dit "oui" !'
    assert quoted.words(line) == [[0], [1], [2, 3, 4], [5]]
    assert quoted.edited([Edit(0, 2, "Elle")]).words(line) == [[0], [1], [2, 3, 4], [5]]


def test_a_word_that_is_split_comes_from_one() -> None:
    assert Rewritten.of("a\u00adb c").edited([Edit(1, 2, " ")]).words("a\u00adb c") == [[0], [0], [1]]


@given(st.lists(st.tuples(st.text("ab ", min_size=1, max_size=4), st.booleans(), st.text("xy ", max_size=3))))
def test_what_is_not_edited_comes_from_itself(pieces: list[tuple[str, bool, str]]) -> None:
    line, edits = "", []
    for old, is_edited, new in pieces:
        if is_edited:
            edits.append(Edit(len(line), len(line) + len(old), new))
        line += old
    found = Rewritten.of(line).edited(edits)
    assert found.text == "".join(new if is_edited else old for old, is_edited, new in pieces)
    assert len(found.origins) == len(found.text)
    assert list(found.origins) == sorted(found.origins)
    assert all(found.text[i] == line[origin] for i, origin in enumerate(found.origins) if found.text[i] in "ab")
    assert all(0 <= word < len(line.split()) for words in found.words(line) for word in words)
