"""Tables as spreadsheets and data frames write them, and as Tatoeba does."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError
from tests.places import SHARED

TATOEBA = SHARED / "tatoeba/fra-eng.tsv"
COLUMNS = ("fr", "en")


def table(path: Path, text: str, columns: tuple[str, ...] = COLUMNS) -> Source:
    path.write_bytes(text.encode())
    return Source(path.suffix[1:], (path,), ("fr", "en"), columns)


def refused(source: Source) -> str:
    with pytest.raises(CorpusError) as caught:
        list(read_pairs(source))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(source.paths[0]))


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1)


@given(
    pairs=st.lists(st.tuples(cells, cells), min_size=1, max_size=5),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    bom=st.sampled_from(["", "\ufeff"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_a_csv_comes_back_as_it_was_written(tmp_path_factory, pairs, delimiter, quoting, bom, end):
    file = io.StringIO()
    # A first line without another delimiter says which one it is.
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=end).writerow(("un chat", "a cat"))
    csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(pairs)
    source = table(tmp_path_factory.mktemp("csv") / "a.csv", bom + file.getvalue())
    assert list(read_pairs(source)) == [("un chat", "a cat"), *pairs]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ('"Oui, ""monsieur"".";"Yes; sir."\r\nNon;No\r\n', [('Oui, "monsieur".', "Yes; sir."), ("Non", "No")]),
        ('Oui,"Yes, sir."\n', [("Oui", "Yes, sir.")]),
        ('"Oui"\t"Yes"\n', [("Oui", "Yes")]),
        ('Il a dit "oui",He said so\n', [('Il a dit "oui"', "He said so")]),
    ],
)
def test_a_csv_is_divided_where_that_gives_all_columns(tmp_path, text, pairs):
    assert list(read_pairs(table(tmp_path / "a.csv", text))) == pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n"c\nd",e\n', ":2: the quotes of '\"c' are not closed in the line, or stand inside a cell; a"),
        ('a,b\n"c"d,e\n', ":2: the quotes of '\"c\"d,e' are not closed in the line"),
        ("a,b\nc\rd,e\n", ":2: the quotes of "),
        ("a,b;c\n", ": ',' and ';' both divide its lines into 2 cells; put quotes around the cells"),
        ("a,b\nc\n", ":2: expected 2 fields, found 1 in 'c'; correct it, or the languages of the columns"),
        ("a,b,c\n", ":1: expected 2 fields, found "),
    ],
)
def test_what_is_no_csv_is_named_by_file_and_line(tmp_path, text, expected):
    assert refused(table(tmp_path / "a.csv", text)).startswith(expected)


# --- quotes in a TSV ---


@pytest.mark.parametrize(
    "text",
    [
        '"Oui."\tHe said: "Yes."\n"a ""b"" c"\td\n',  # the first quote is text, and so are all
        '"Va !"\t"Go!"\nNon.\tNo.\n',
        "Oui, monsieur.\tYes, sir.\n",
        'Il a dit "" et rien.\tHe said "".\n',
        "".join(f'"Oui, {i}."\tYes, {i}.\n' for i in range(9)),  # a comma without quotes
    ],
)
def test_quotes_in_a_tsv_are_text(tmp_path, text):
    expected = [tuple(line.split("\t")) for line in text.split("\n")[:-1]]
    assert list(read_pairs(table(tmp_path / "a.tsv", text))) == expected


@pytest.mark.skipif(not TATOEBA.is_file(), reason=f"no corpus in {TATOEBA}")
def test_tatoeba_is_read_as_it_stands_there():
    pairs = list(read_pairs(Source("tsv", (TATOEBA,), ("fr", "en"), ("en", "fr"))))
    assert "".join(f"{en}\t{fr}\n" for fr, en in pairs) == TATOEBA.read_text(encoding="utf-8")
    assert sum(en.startswith('"') or fr.startswith('"') for fr, en in pairs) > 10


def quoted(rows: list[tuple[str, str]], quoting: Any) -> str:
    file = io.StringIO()
    csv.writer(file, "excel-tab", quoting=quoting).writerows(rows)
    return file.getvalue()


ROWS = [("Oui.", "Yes."), ('Il a dit "non".', 'He said "no".'), ("Non.", "No.")]
EXCEL = "Oui.\tYes.\n" + "".join(f'"Oui, {word}."\tYes.\n' for word in "abcde")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (quoted(ROWS, csv.QUOTE_MINIMAL), 2),
        (quoted(ROWS, csv.QUOTE_ALL), 2),
        (quoted([("Oui", "Yes")] * 3, csv.QUOTE_ALL), 3),
        (quoted([("Oui", "Yes")] * 30, csv.QUOTE_ALL), 5),
        (EXCEL, 6),
    ],
)
def test_a_tsv_that_a_spreadsheet_has_quoted_is_refused_and_read_as_csv(tmp_path, text, line):
    message = refused(table(tmp_path / "a.tsv", text))
    assert message.startswith(f":{line}: ")
    assert "is quoted as spreadsheets quote; name the file .csv, so that the quotes are taken off" in message
    if text != EXCEL:
        expected = [tuple(row) for row in csv.reader(io.StringIO(text), "excel-tab")]
        assert list(read_pairs(table(tmp_path / "a.csv", text))) == expected


# --- headers ---


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("fr,en", ("fr", "en")),
        ("FR,EN", ("fr", "en")),
        ("French,English", ("fr", "en")),
        ("Français, English", ("fr", "en")),
        ("fr_FR,en-US", ("fr", "en")),
        ("source,target", ("fr", "en")),
        ("Target,src", ("en", "fr")),
        ("id,source,French", ("-", "en", "fr")),
        ("id,texte,traduction", ("id", "fr", "en")),
        ("key,fr,note,en", ("key", "fr", "note", "en")),
    ],
)
@pytest.mark.parametrize("form", ["tsv", "csv"])
def test_a_header_is_no_pair(tmp_path, caplog, header, columns, form):
    row = ",".join({"fr": "un chat", "en": "a cat"}.get(column, "1") for column in columns)
    text = f"{header}\n{row}\n"
    source = table(tmp_path / f"a.{form}", text.replace(",", "\t") if form == "tsv" else text, columns)
    is_known = "texte" not in header
    expected = [] if is_known else [("texte", "traduction")]
    for _ in range(2):
        assert list(read_pairs(source)) == [*expected, ("un chat", "a cat")]
    assert [record.getMessage().endswith(" is a header, and no pair") for record in caplog.records] == [True] * is_known


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("en,fr", "data.tsv_columns=[fr,en]; write data.tsv_columns=[en,fr] (--languages en fr)"),
        ("English,French", "write data.tsv_columns=[en,fr]"),
        ("id,fr,en", "write data.tsv_columns=[-,fr,en] (--languages - fr en)"),
        ("German,English", "correct it (--languages), data.src_lang or data.tgt_lang"),
    ],
)
def test_a_header_that_says_something_else_is_refused(tmp_path, header, expected):
    message = refused(table(tmp_path / "a.csv", f"{header}\n{'x,' * header.count(',')}y\n"))
    assert message.startswith(":1: the header ")
    assert expected in message


@pytest.mark.parametrize(
    ("language", "cell"),
    [("pt_BR", "pt_BR"), ("pt_BR", "PT-br"), ("zh-CN", "zh"), ("zh-CN", "Chinese"), ("zho_Hans", "zho_Hans")],
)
def test_a_code_with_a_region_is_that_of_a_header(tmp_path, language, cell):
    def source(header: str) -> Source:
        return replace(
            table(tmp_path / "a.csv", f"{header}\n1,a,b\n", ("-", "en", language)), languages=("en", language)
        )

    assert list(read_pairs(source(f"id,en,{cell}"))) == [("a", "b")]
    assert f"write data.tsv_columns=[-,{language},en] " in refused(source(f"id,{cell},en"))


@pytest.mark.parametrize("first", ["No,No", "Source,Quelle", "Allemand,German", "Anglais,English"])
def test_a_first_line_of_text_is_a_pair(tmp_path, first):
    assert len(list(read_pairs(table(tmp_path / "a.csv", f"{first}\nOui,Yes\n")))) == 2
