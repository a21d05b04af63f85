import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.augmentation import joined


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Oui.", "Yes."], ["Non.", "No."]], ["Oui. Non.", "Yes. No."]),
        ([["Oui. ", "Yes."], [" Non.", "No."]], ["Oui. Non.", "Yes. No."]),
        ([["A."], ["B."], ["C."]], ["A. B. C."]),
        ([["是。"], ["不。"]], ["是。不。"]),
        ([["はい"], ["No"]], ["はいNo"]),
        ([["Yes"], ["いいえ"]], ["Yesいいえ"]),
        ([["네."], ["아니요."]], ["네. 아니요."]),
        ([["Oui.", "Yes."], ["", ""]], ["Oui.", "Yes."]),
        ([["", ""], [" ", ""]], ["", ""]),
        ([[" Oui. ", "Yes. "]], [" Oui. ", "Yes. "]),
    ],
)
def test_columns_are_joined(rows: list[list[str]], expected: list[str]) -> None:
    assert joined(rows) == expected


def test_a_row_without_a_further_reference_gives_its_first() -> None:
    assert joined([["Oui.", "Yes.", "Sure."], ["Non.", "No."]]) == ["Oui. Non.", "Yes. No.", "Sure. No."]
    assert joined([["Oui.", "Yes.", ""], ["Non.", "No.", "Nope."]]) == ["Oui. Non.", "Yes. No.", "Yes. Nope."]
    assert joined([["Oui.", "Yes.", ""], ["Non.", "No.", ""]]) == ["Oui. Non.", "Yes. No.", ""]


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_joining_keeps_all_characters_but_spaces(rows: list[tuple[str, str]]) -> None:
    for column, text in zip(zip(*rows, strict=True), joined(rows), strict=True):
        assert "".join(text.split()) == "".join("".join(column).split())
