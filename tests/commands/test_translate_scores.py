"""The scores that the command line gives to its own and to given translations."""

import json
import re
from pathlib import Path

import pytest

from seq2seq.evaluation import scores
from seq2seq.evaluation.over_seeds import recipe_tests
from tests.commands.learned_text import GREEDY, LEARNED, REFERENCES, SOURCES, read, write
from tests.translating import SENTENCES, TEXT, Cli

# --- scores ---


def reported(err: str) -> dict[str, tuple[float, float, str]]:
    """Name: score, half the width of its interval, what follows."""
    rows = re.findall(r"^(bleu|chrf|ter) +([\d.]+) ± ([\d.]+)  (.*)$", err, re.MULTILINE)
    return {name: (float(score), float(half), rest) for name, score, half, rest in rows}


def test_several_files_of_references_are_scored_against(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    first = write(tmp_path / "ref", reversed(REFERENCES))
    second = write(tmp_path / "ref.1", ["", *translations[1:]])
    found = reported(trained("--reference", first, second, "--quiet", stdin=LEARNED)[2])
    expected = scores.report(translations, list(zip(read(first), read(second), strict=True)))
    assert {name: row[0] for name, row in found.items()} == pytest.approx(
        {name: score.score for name, score in expected.items()}, abs=0.006
    )
    assert found["bleu"][2].startswith("nrefs:var|")
    source = write(tmp_path / "in.fr", LEARNED.split("\n")[:-1])
    short = write(tmp_path / "short", ["one", "two"])
    message = trained.refusal("--input", source, "--reference", first, short)
    assert message.startswith("error: --reference has 2 lines and the input ")
    status, _, err = trained("--reference", first, short, "--quiet", stdin=LEARNED)
    assert status == 2
    assert f"{first} has {len(REFERENCES)} lines but {short} has 2; line n of one" in err


@pytest.mark.parametrize("form", [("--json",), ("--alignment", "--n-best", 2)])
def test_scores_are_the_same_in_every_form(trained: Cli, tmp_path: Path, form: tuple[object, ...]) -> None:
    reference = write(tmp_path / "ref", ["", *reversed(REFERENCES)])
    text = f"\n{LEARNED}"
    expected = reported(trained("--reference", reference, stdin=text)[2])
    assert set(expected) == {"bleu", "chrf"}
    assert reported(trained("--reference", reference, *form, stdin=text)[2]) == expected
    target = tmp_path / "out.gz"
    assert reported(trained("--reference", reference, *form, "--output", target, stdin=text)[2]) == expected


def test_bleu_has_the_tokens_that_are_asked_for(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    reference = write(tmp_path / "ref", reversed(REFERENCES))
    status, _, err = trained("--reference", reference, "--tokenize", "char", "--quiet", stdin=LEARNED)
    expected = scores.corpus_scores(translations, read(reference), ["bleu"], scores.Scoring(tokenize="char"))[
        "bleu"
    ].score
    assert status == 0 and reported(err)["bleu"][0] == pytest.approx(expected, abs=0.006)
    assert "|tok:char|" in reported(err)["bleu"][2]
    assert "--tokenize" in trained.refusal("--tokenize", "char", stdin=LEARNED)


def test_another_translation_is_compared(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    reference = write(tmp_path / "ref", REFERENCES)
    bad = write(tmp_path / "bad", [line.rsplit(" ", 1)[0] for line in REFERENCES])
    status, _, err = trained("--reference", reference, "--compare", bad, "--quiet", stdin=LEARNED)
    assert status == 0
    assert f"\npaired bootstrap against {bad}:\n" in err
    rows = re.findall(r"^(\w+) +([\d.]+) against +([\d.]+)  p = ([\d.]+)(.*)  nrefs", err, re.MULTILINE)
    expected = recipe_tests([[read(bad)], [translations]], REFERENCES, ["bleu", "chrf"])
    assert [row[0] for row in rows] == ["bleu", "chrf"]
    for name, ours, theirs, p_value, verdict in rows:
        first, other = expected[name]
        assert (float(ours), float(theirs)) == pytest.approx((other.together.score, first.together.score), abs=0.006)
        assert other.p_value is not None and float(p_value) == pytest.approx(other.p_value, abs=1e-4)
        assert verdict == (", significant" if other.p_value < 0.05 else ", not significant")
    same = write(tmp_path / "same", translations)
    err = trained("--reference", reference, "--compare", same, stdin=LEARNED)[2]
    assert "significant" not in err and err.count("  equal  nrefs") == 2


def test_references_of_another_length_are_refused(cli: Cli, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.fr", SENTENCES), tmp_path / "out.en"
    reference, short = write(tmp_path / "ref", SENTENCES), write(tmp_path / "short", ["one", "two"])
    message = cli.refusal("--input", source, "--reference", reference, "--compare", short)
    assert message.startswith("error: --compare has 2 lines and the input 4;")
    # The length of a stream is known at its end only; what was translated by then is kept.
    status, _, err = cli("--output", target, "--reference", short, *GREEDY, stdin=TEXT)
    assert status == 2
    assert "there are 4 hypotheses for 2 references" in err
    assert len(read(target)) == 4


# --- scores of given translations ---


def test_own_translations_get_their_own_scores(trained: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in", [*SOURCES, ""])
    records = [json.loads(line) for line in trained.lines(f"{LEARNED}\n", "--json")]
    given, target = write(tmp_path / "given", [record["translation"] for record in records]), tmp_path / "scores"
    assert trained("--input", source, "--score", given, "--output", target)[0] == 0
    expected = [record["hypotheses"][0]["score"] for record in records]
    assert [float(line) for line in read(target)] == pytest.approx(expected, abs=1e-3)
    assert read(target) == [f"{float(line):.4f}" for line in read(target)]
    for number, line in enumerate(trained.lines("", "--input", source, "--score", given, "--json"), start=1):
        record = json.loads(line)
        assert (record["line"], record["source"]) == (number, read(source)[number - 1])


def test_texts_that_are_not_parallel_are_not_scored(trained: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in", SOURCES)
    given = write(tmp_path / "given", REFERENCES[:-1])
    assert "--score has 11 lines and the input 12" in trained.refusal("--input", source, "--score", given)
    message = "error: --score does not have as many lines as the input; line n must belong to line n"
    for lines in (REFERENCES[:-1], [*REFERENCES, "Bas."]):
        assert message in trained("--score", write(given, lines), stdin=LEARNED)[2]


def test_each_line_has_a_score_or_a_reason(trained: Cli, tmp_path: Path) -> None:
    given = write(tmp_path / "given", [*REFERENCES[:-1], ""])
    status, out, err = trained("--score", given, stdin=LEARNED)
    assert status == 0
    assert out.split("\n")[-2:] == ["-inf", ""]
    assert all(float(line) > -20 for line in out.split("\n")[:-2])
    assert "warning: line 12: one side is blank\n" in err
    assert "have a look at 1 of them: 1 unscored" in err


@pytest.mark.parametrize("options", [("--no-repeat-ngram", 0), ("--split", "auto"), ("--sample",)])
def test_options_of_the_search_have_no_meaning_in_scoring(
    trained: Cli, tmp_path: Path, options: tuple[object, ...]
) -> None:
    given = write(tmp_path / "given", REFERENCES)
    message = trained.refusal("--score", given, *options, stdin=LEARNED)
    assert message.startswith(f"error: {options[0]} has no meaning with --score")
