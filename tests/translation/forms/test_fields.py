"""TSV and JSON Lines: one field changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from tests.translation.forms.reading import pieces_of, texts_of, translated

# --- tables ---


def test_one_column_of_a_table_is_translated() -> None:
    text = '1\tUn chat. \t"a"\r\n2\t\tb\n3\t Oui \tc\td\n4\tNon'
    assert texts_of(text, "tsv", "2") == ["Un chat.", "", "Oui", "Non"]
    assert translated(text, "tsv", "2", str.upper) == '1\tUN CHAT. \t"a"\r\n2\t\tb\n3\t OUI \tc\td\n4\tNON'
    assert translated("a\tb\n", "tsv", "1", lambda _: "x\ty") == "x y\tb\n"


cell = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]))


@given(rows=st.lists(st.lists(cell, min_size=3, max_size=3)), column=st.integers(1, 3))
def test_other_columns_stay(rows: list[list[str]], column: int) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    assert translated(text, "tsv", str(column)) == text
    found = translated(text, "tsv", str(column), lambda text: text and "x")
    if rows and mark:
        rows[0][0] = rows[0][0].removeprefix(mark)
    kept = ["\t".join(row[: column - 1] + row[column:]) for row in rows]
    fields = [line.split("\t") for line in found.removeprefix(mark).split("\n")[:-1]]
    assert ["\t".join(row[: column - 1] + row[column:]) for row in fields] == kept
    assert ["x" in row[column - 1] or not row[column - 1].strip() for row in fields] == [True] * len(rows)


def test_a_row_without_the_column_is_refused() -> None:
    with pytest.raises(TranslationError, match=r"^a:2: has 1 tab-separated fields, so there is no --field 2; "):
        pieces_of("a\tb\n\na\tb\n", "tsv", "2")


# --- JSON Lines ---


def test_one_field_of_an_object_is_translated() -> None:
    text = (
        '{"id": 10000000000000000000001, "x":1.0,  "t": {"fr": "Un é.\\nDeux\\r\\n\\n  Trois ", "en": null}}\r\n'
        ' {"t":{"a":[{"fr":"non"}], "fr" : "" },"fr":"non", "y":[1e400, NaN]} \n'
        '{"t": {"fr": "faux", "fr": "\\u00e9t\\u00e9"}, "z": "\\/"}'
    )
    assert texts_of(text, "jsonl", "t.fr") == ["Un é.", "Deux", "", "Trois", "", "été"]
    assert translated(text, "jsonl", "t.fr", lambda text: text and f"«{text}»") == (
        '{"id": 10000000000000000000001, "x":1.0,  "t": {"fr": "«Un é.»\\n«Deux»\\r\\n\\n  «Trois» ", "en": null}}\r\n'
        ' {"t":{"a":[{"fr":"non"}], "fr" : "" },"fr":"non", "y":[1e400, NaN]} \n'
        '{"t": {"fr": "faux", "fr": "\\u00ab\\u00e9t\\u00e9\\u00bb"}, "z": "\\/"}'
    )


characters = st.characters(exclude_categories=["Cs"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(characters),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(
    value=st.dictionaries(st.text("abc", max_size=2), json_values, max_size=4),
    text=st.text(characters),
    is_ascii=st.booleans(),
    is_inner=st.booleans(),
)
def test_other_fields_stay(value: dict[str, Any], text: str, is_ascii: bool, is_inner: bool) -> None:
    holder = value.setdefault("t", {}) if is_inner else value
    holder["fr"] = text
    line = json.dumps(value, ensure_ascii=is_ascii) + "\n"
    path = "t.fr" if is_inner else "fr"
    found = translated(line, "jsonl", path)
    assert json.dumps(json.loads(found)) == json.dumps(value)
    holder["fr"] = "<>"
    found = translated(line, "jsonl", path, lambda text: "<>")
    if text.strip() == text and not {"\n", "\r"} & set(text):
        assert json.dumps(json.loads(found)) == json.dumps(value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"t": "a"} x', "not a JSON object"),
        ("[" * 200_000, "not a JSON object"),
        ('["t"]', "expected an object with a string under 't'"),
        ('{"u": "a"}', "expected an object with a string under 't'"),
        ('{"t": null}', "expected an object with a string under 't'"),
        ('{"t": 5}', "expected an object with a string under 't'"),
        ('{"t": {"t": "a"}}', "expected an object with a string under 't'"),
        ('{"t": "\\ud800"}', "half a surrogate pair"),
    ],
)
def test_a_line_without_the_text_is_refused(line: str, problem: str) -> None:
    with pytest.raises(TranslationError) as refused:
        pieces_of(f'{{"t": "a"}}\n{line}\n', "jsonl", "t")
    assert str(refused.value).startswith(f"a:2: {problem}" if "half" not in problem else "a:2: the text under 't' has ")
    assert "\n" not in str(refused.value)


def test_a_path_through_what_is_no_object_is_refused() -> None:
    with pytest.raises(TranslationError, match=r"a:1: expected an object with a string under 't\.fr'"):
        pieces_of('{"t": "a"}\n', "jsonl", "t.fr")
