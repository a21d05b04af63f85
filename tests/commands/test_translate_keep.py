"""--keep and --terms on the command line."""

import json
from pathlib import Path

from tests.translating import Cli


def test_things_come_through_unchanged(trained: Cli) -> None:
    text = "Ba <b>be</b> bi {x}.\n\n😀\nDa &nbsp;di 12.\n"
    assert trained.lines(text, "--keep", "markup,placeholders,emoji")[:3] == ["Bas <b>Bes</b> Bis {x}.", "", "😀"]
    record = json.loads(trained.lines(text, "--keep", "all", "--json")[3])
    assert record["kept"] == ["&nbsp;"] and "&nbsp;" in record["translation"]
    assert "kept" not in json.loads(trained.lines("Ba be.\n", "--keep", "all", "--json")[0])
    assert trained.lines("Ba <b>be</b>.\n", "--keep", "markup", "--alignment") == ["Bas <b>Bes</b>. ||| 0-0 1-1"]


def test_what_fits_a_pattern_comes_through(trained: Cli) -> None:
    patterns = ["--keep-pattern", r"[A-Z]+-\d+", "--keep-pattern", r"\[\[.*?\]\]"]
    assert trained.lines("Ba be AB-12 bi [[bo]].\n", *patterns) == ["Bas Bes AB-12 Bis [[bo]]."]
    message = "--keep-pattern='[a' is no regular expression: "
    assert message in trained.refusal("--keep-pattern", "[a", stdin="Ba.\n")


def test_terms_are_translated_as_the_glossary_says(trained: Cli, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("# words\n\nba be\tGas Gis\n", encoding="utf-8")
    (line,) = trained.lines("Ba be bi do.\n", "--terms", terms, "--beam-size", 5)
    assert "Gas Gis" in line


def test_a_glossary_that_never_matches_is_told_of(trained: Cli, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("ba\tGas\n", encoding="utf-8")
    options = ("--terms", terms, "--beam-size", 5)
    assert "terms of the glossary that were found: 3\n" in trained(*options, stdin="Ba be ba.\nDo.\nBa.\n")[2]
    assert "warning: no term of the glossary is in the text" in trained(*options, stdin="Do di.\n")[2]
    assert "glossary" not in trained(stdin="Do di.\n")[2]


def test_what_cannot_work_is_refused(trained: Cli, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("ba\tGas\tGos\n", encoding="utf-8")
    assert "terms.tsv:1: expected a term, a tab and its translation" in trained.refusal("--terms", terms)
    terms.write_text("ba\tGas\n", encoding="utf-8")
    assert "need a beam: raise --beam-size=1" in trained.refusal("--terms", terms, "--beam-size", 1, stdin="Ba.\n")
    assert "(terms) have no meaning with --sample" in trained.refusal("--terms", terms, "--sample", stdin="Ba.\n")
    assert "invalid kinds (all, or some of markup, urls" in trained.refusal("--keep", "url")
    for option in (["--keep", "all"], ["--terms", terms]):
        assert f"{option[0]} has no meaning with --score" in trained.refusal(*option, "--score", terms)
