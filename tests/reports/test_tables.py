from hypothesis import given
from hypothesis import strategies as st

from seq2seq.reports.tables import Table, as_markdown, as_text

TABLE = Table(
    "two runs",
    ["metric", "run", "score", ""],
    [["bleu", "A", "54.5", ""], ["bleu", "B", " 9.0", ""], ["ter", "A", "a|b", ""]],
    2,
)


def test_a_key_is_written_once() -> None:
    assert as_text(TABLE.without_empty_columns(), 80) == (
        "two runs\nmetric  run  score\nbleu    A    54.5\n        B     9.0\nter     A    a|b"
    )


def test_markdown_repeats_keys_and_escapes_bars() -> None:
    assert as_markdown(TABLE.without_empty_columns()).splitlines() == [
        "**two runs**",
        "",
        "| metric | run | score |",
        "| --- | --- | --- |",
        "| bleu | A | 54.5 |",
        "| bleu | B | 9.0 |",
        r"| ter | A | a\|b |",
    ]


def test_columns_that_do_not_fit_follow_below() -> None:
    table = Table("runs", ["key", "A", "B", "C"], [["lr", "1111", "2222", "3333"]])
    assert as_text(table, 15) == "runs\nkey  A     B\nlr   1111  2222\n\nkey  C\nlr   3333"
    assert as_text(table, 14) == "runs\nkey  A\nlr   1111\n\nkey  B\nlr   2222\n\nkey  C\nlr   3333"
    assert as_text(table, 21) == "runs\nkey  A     B     C\nlr   1111  2222  3333"


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.text("ab", min_size=1, max_size=9), min_size=n, max_size=n), min_size=2, max_size=5
        )
    ),
    st.integers(1, 60),
)
def test_each_cell_is_there_in_lines_that_fit(lines: list[list[str]], width: int) -> None:
    header, *rows = [[f"{i}{cell}" for i, cell in enumerate(line)] for line in lines]
    rows = [[f"{number}", *row[1:]] for number, row in enumerate(rows)]
    text = as_text(Table("t", header, rows), width)
    blocks = [[line.split() for line in block.split("\n")] for block in text.removeprefix("t\n").split("\n\n")]
    for number, line in enumerate([header, *rows]):
        assert [cell for block in blocks for cell in block[number][1:]] == line[1:]
        assert all(block[number][0] == line[0] for block in blocks)
    for block in blocks:
        assert len(block[0]) == 2 or max(len("  ".join(line)) for line in block) <= width


def test_a_cell_above_that_is_the_same_by_chance_is_no_key() -> None:
    table = Table("t", ["set", "metric", "x"], [["a", "bleu", "1"], ["b", "bleu", "1"]], 2)
    assert as_text(table, 80).splitlines()[2:] == ["a    bleu    1", "b    bleu    1"]
