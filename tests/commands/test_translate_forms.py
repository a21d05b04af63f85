"""The options that say what the input is."""

import gzip
import json
from pathlib import Path

import pytest

from tests.commands.learned_text import SOURCES
from tests.translating import Cli

SRT = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:03,000 --> 00:00:04,000\n- {}\n- {}\n"


def test_texts_of_several_sentences_are_counted(trained: Cli) -> None:
    """Not the strings of several lines, each of which is a text."""
    one, two = json.dumps({"t": "\n".join(SOURCES[:3])}), json.dumps({"t": f"{SOURCES[0]} {SOURCES[1]}"})
    for text, is_told in ((one, False), (two, True), (f"{one}\n{two}", True)):
        status, _, err = trained("--form", "jsonl", "--field", "t", stdin=f"{text}\n")
        assert status == 0, err
        assert ("that were split and joined again: 1\n" in err) == is_told


def test_a_document_stays_a_document(trained: Cli) -> None:
    texts = SOURCES[:3]
    document = "# {}\n\n\n  - {}\n {}"
    expected = document.format(*trained.lines("\n".join(texts)))
    assert trained("--document", stdin=document.format(*texts))[:2] == (0, expected)
    assert trained("--form", "document", stdin=document.format(*texts))[:2] == (0, expected)


def test_elements_of_markdown_go_with_their_words(trained: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Ba `be` **bi**.\n\n    ba be\n\n[Fo fa](ba.md) da.\n")
    status, out, err = trained("--input", page)
    assert (status, out) == (0, "# Bas `be` **Bis**.\n\n    ba be\n\n[Fos Fas](ba.md) Das.\n"), err
    assert "warning" not in err


@pytest.mark.parametrize("name", ["a.html", "a.po.gz", "a.json", "a.csv", "a.XLF"])
def test_a_file_that_is_no_lines_is_told_of(trained: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    assert f"warning: {tmp_path / name} is translated line by line" in trained("--input", tmp_path / name)[2]
    assert "warning" not in trained("--input", tmp_path / name, "--form", "lines")[2]


def test_the_form_of_the_input_can_be_given(trained: Cli, tmp_path: Path) -> None:
    texts = SOURCES[:3]
    expected = SRT.format(*trained.lines("\n".join(texts)))
    assert trained("--form", "srt", stdin=SRT.format(*texts))[:2] == (0, expected)
    named = tmp_path / "film.srt"
    named.write_text(SRT.format(*texts))
    assert trained("--input", named)[:2] == (0, expected)
    assert len(trained("--input", named, "--form", "lines")[1].split("\n")) == len(expected.split("\n"))


def test_one_field_is_translated(trained: Cli) -> None:
    text = SOURCES[0]
    (translation,) = trained.lines(text)
    assert trained("--form", "tsv", "--field", 2, stdin=f"1\t{text}\t{text}\n")[:2] == (
        0,
        f"1\t{translation}\t{text}\n",
    )
    record = '{"id":1.0, "message":{"text": %s}}\n'
    status, out, _ = trained(
        "--form", "jsonl", "--field", "message.text", stdin=record % json.dumps(f"{text}\n\n{text}")
    )
    assert (status, out) == (0, record % json.dumps(f"{translation}\n\n{translation}"))


# --- refused before the model is read ---


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--document", "--json"), "--json needs one text a line; leave it out, or translate line by line"),
        (("--document", "--n-best", 2), "--n-best needs one text a line"),
        (("--form", "srt", "--alignment"), "--alignment needs one text a line"),
        (("--form", "tsv", "--field", "2", "--reference", "a"), "--reference needs one text a line"),
        (("--document", "--prefix", "a"), "--prefix needs one text a line"),
        (("--form", "vtt", "--score", "a"), "--score needs one text a line"),
        (("--form", "tsv"), "--form tsv needs --field"),
        (("--form", "jsonl"), "--form jsonl needs --field"),
        (("--document", "--field", "2"), "--field is for --form tsv and --form jsonl, and has no"),
        (("--form", "tsv", "--field", "text"), "--field text: a column of a table is a number from 1"),
    ],
)
def test_options_that_do_not_suit_the_form_are_refused(options: tuple[object, ...], problem: str) -> None:
    assert problem in Cli(Path("no model")).refusal(*options)


def test_what_is_wrong_in_a_file_is_found_before_the_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "film.srt").write_text(SRT + "\nLast words\n")
    refusal = Cli(Path("no model")).refusal("--input", tmp_path / "film.srt", "--output", tmp_path / "out.srt")
    assert f"{tmp_path / 'film.srt'}:10: expected the number and the timing of a subtitle" in refusal
    assert not (tmp_path / "out.srt").exists()
    (tmp_path / "a.tsv").write_text("1\ta\n2\n")
    refusal = Cli(Path("no model")).refusal("--input", tmp_path / "a.tsv", "--field", 2)
    assert f"{tmp_path / 'a.tsv'}:2: has 1 tab-separated fields" in refusal
