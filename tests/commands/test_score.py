"""Files from anywhere are scored as sacreBLEU's own program scores them."""

import bz2
import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seq2seq.cli import main as cli
from seq2seq.corpus.compression import zstd
from seq2seq.evaluation.scores import Interval, Scoring, corpus_scores
from seq2seq.reports.score_files import Against, ScoredFile
from seq2seq.reports.score_forms import scores_as_text
from tests.sacrebleu_program import printed_by_sacrebleu
from tests.translating import Stream

REFERENCES = [
    "A man in a blue shirt stands on a ladder and cleans the window.",
    "Two young, white males are outside near many bushes.",
    "Isn't the cat sitting on the mat?",
    "A girl in a karate uniform breaks a stick with a front kick.",
    "People repair the roof of a house.",
]
GOOD = [
    "A man in a blue shirt stands on a ladder and cleans a window.",
    "Two young, White males are outside near many bushes!",
    "Isn't the cat on the mat?",
    "A girl in a karate uniform breaks a stick with a kick.",
    "People repair the roof of a home.",
]
POOR = ["A man on a ladder cleans.", "Young males near bushes.", "The cat sits on a mat.", "A girl kicks.", "People."]
NUMBER = r"(\d+\.\d+)"


def write(path: Path, lines: list[str]) -> Path:
    text = "".join(f"{line}\n" for line in lines).encode()
    compress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".zst": zstd.compress,
    }
    path.write_bytes(compress[path.suffix](text) if path.suffix in compress else text)
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {"good": GOOD, "poor": POOR, "ref": REFERENCES, "other": [line.replace("the", "a") for line in REFERENCES]}
    return {name: write(tmp_path / name, lines) for name, lines in found.items()}


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    cli(["score", *map(str, arguments)])
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(capsys, *arguments, "--format", "json"))
    return found


def sacrebleu(*arguments: object) -> str:
    """What sacreBLEU's own program prints. With more digits, its two ways to compute a mean differ from each other."""
    return printed_by_sacrebleu(*arguments, "-w", 4, "--format", "text")


def in_print(score: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{score[key]:.4f}" for key in ("score", "mean", "half_width"))


def test_scores_and_intervals_are_those_of_sacrebleu(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    metrics, refs = ["bleu", "chrf", "ter"], [files["ref"], files["other"]]
    found = as_json(capsys, files["good"], "--reference", *refs, "--metrics", *metrics)["hypotheses"]["scores"]
    theirs = sacrebleu(*refs, "-i", files["good"], "-m", *metrics, "--confidence")
    expected = re.findall(rf"\|(\S+) = {NUMBER} \(μ = {NUMBER} ± {NUMBER}\)", theirs)
    assert [in_print(found[metric]) for metric in metrics] == [row[1:] for row in expected]
    assert all(score["signature"].startswith("nrefs:2|bs:1000|seed:12345|") for score in found.values())


def test_tests_are_those_of_sacrebleu(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for method, metrics in (("bs", ["bleu", "chrf", "ter"]), ("ar", ["bleu"])):
        found = as_json(
            capsys, files["good"], "--reference", files["ref"], "--baseline", files["poor"], "--metrics", *metrics,
            "--test-method", method,
        )  # fmt: skip
        (baseline,) = found["baselines"]
        theirs = sacrebleu(files["ref"], "-i", files["poor"], files["good"], "-m", *metrics, f"--paired-{method}")
        p_values = re.findall(r"p = (\d\.\d+)", theirs)
        assert [f"{baseline['against'][metric]['p_value']:.4f}" for metric in metrics] == p_values
        assert {test["verdict"] for test in baseline["against"].values()} == {"better"}
        for metric in metrics:
            ours, other = found["hypotheses"]["scores"][metric], baseline["scores"][metric]
            assert baseline["against"][metric]["difference"] == pytest.approx(ours["score"] - other["score"])
        if method == "bs":
            scores = re.findall(rf"{NUMBER} \({NUMBER} ± {NUMBER}\)", theirs)
            rows = [baseline["scores"], found["hypotheses"]["scores"]]
            assert [in_print(row[metric]) for row in rows for metric in metrics] == scores


def test_case_is_ignored_where_that_is_asked_for(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    write(files["good"], [line.upper() for line in GOOD])
    arguments = (files["good"], "--reference", files["ref"], "--metrics", "bleu", "--ignore-case")
    found = as_json(capsys, *arguments)["hypotheses"]["scores"]["bleu"]
    theirs = sacrebleu(files["ref"], "-i", files["good"], "-m", "bleu", "--lowercase", "-b")
    assert f"{found['score']:.4f}" == theirs.strip() and "|case:lc|" in found["signature"]


def test_several_baselines_are_corrected_for_their_number(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = write(tmp_path / "near", [*GOOD[:4], REFERENCES[4]])
    same = write(tmp_path / "same", GOOD)
    arguments = [files["good"], "--reference", files["ref"], "--metrics", "chrf"]
    poor, close, equal = (
        each["against"]["chrf"]
        for each in as_json(capsys, *arguments, "--baseline", files["poor"], near, same)["baselines"]
    )
    (alone,) = as_json(capsys, *arguments, "--baseline", files["poor"])["baselines"]
    assert alone["against"]["chrf"]["p_holm"] == alone["against"]["chrf"]["p_value"] == poor["p_value"]
    small, large = sorted((poor, close), key=lambda test: test["p_value"])
    assert small["p_holm"] == pytest.approx(3 * small["p_value"])
    assert large["p_holm"] == pytest.approx(min(1, max(small["p_holm"], 2 * large["p_value"])))
    assert equal == {"difference": 0.0, "p_value": None, "p_holm": None, "verdict": "equal"}
    out = printed(capsys, *arguments, "--baseline", files["poor"], near, same)
    assert "metric  file  score          A minus it  p       p (Holm)  A is\n" in out


def test_the_table_names_files_scores_and_signatures(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = ["bleu", "chrf", "ter", "bleu_legacy_tok"]
    words = [files["good"], "--reference", files["ref"], "--baseline", files["poor"], "--language", "en", "--metrics"]
    out = printed(capsys, *words, *metrics)
    assert out.startswith(f"A  {files['good']}\nB  {files['poor']}\n5 sentences; paired bootstrap (Koehn 2004), 1,000")
    rows = [line.split() for line in out.partition("\n\n")[2].partition("\n\n")[0].splitlines()[1:]]
    assert [row[0] for row in rows[::2]] == metrics
    expected = corpus_scores(POOR, REFERENCES, ["ter"])["ter"].score
    assert rows[5][:2] == ["B", f"{expected:.2f}"] and rows[5][-1] == "better" and rows[5][4].startswith("-")
    assert re.search(r"^bleu_legacy_tok nrefs:1\|bs:1000\|.*\|tok:moses-en\+norm-", out, re.MULTILINE)
    alone = printed(capsys, files["good"], "--reference", files["ref"], "--metrics", "bleu")
    assert "metric  file  score\nbleu    A " in alone and "bootstrap" not in alone


def test_the_legacy_score_needs_a_language(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    cli(["score", str(files["good"]), "--reference", str(files["ref"])])
    captured = capsys.readouterr()
    assert "bleu_legacy_tok" not in captured.out and captured.err == (
        "bleu_legacy_tok is left out: it splits words by the rules of a language; name it with --language\n"
    )
    message = refused(capsys, files["good"], "--reference", files["ref"], "--metrics", "bleu_legacy_tok")
    assert message == "error: bleu_legacy_tok splits words by the rules of a language; name that of the translations\n"
    found = as_json(capsys, files["good"], "--reference", files["ref"], "--language", "en")["hypotheses"]["scores"]
    expected = corpus_scores(GOOD, REFERENCES, ["bleu_legacy_tok"], Scoring("en"))["bleu_legacy_tok"].score
    assert found["bleu_legacy_tok"]["score"] == expected


def test_copies_of_the_source_and_blank_lines_are_counted(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "source", ["Un homme.", "Deux hommes.", "", "Une fille.", " Des gens. "])
    output = write(tmp_path / "output", ["Un homme.", "", "", "A girl.", "Des gens."])
    arguments = (output, "--reference", files["ref"], "--baseline", files["good"], "--source", source)
    found = as_json(capsys, *arguments)
    assert (found["hypotheses"]["n_copied"], found["hypotheses"]["n_blank"]) == (2, 1)
    assert [(each["n_copied"], each["n_blank"]) for each in found["baselines"]] == [(0, 0)]
    out = printed(capsys, *arguments)
    assert "\nA: 2 lines are their source as it was, 1 are blank\nB: 0 lines" in out
    assert as_json(capsys, output, "--reference", files["ref"])["hypotheses"]["n_copied"] is None


def test_compressed_files_and_stdin_are_read(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = as_json(capsys, files["good"], "--reference", files["ref"], "--baseline", files["poor"])
    packed = [write(tmp_path / f"{name}{suffix}", lines) for name, suffix, lines in (
        ("ref", ".gz", REFERENCES), ("poor", ".bz2", POOR), ("good", ".zst", GOOD),
    )]  # fmt: skip
    monkeypatch.setattr(sys, "stdin", Stream(packed[2].read_bytes()))
    found = as_json(capsys, "-", "--reference", packed[0], "--baseline", packed[1])
    assert found["hypotheses"] == {**expected["hypotheses"], "path": "-"}
    assert found["baselines"][0]["against"] == expected["baselines"][0]["against"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli(["score", *map(str, arguments)])
    printed = capsys.readouterr()
    assert stopped.value.code == 2 and printed.out == ""
    return printed.err


def test_the_language_and_the_tokens_are_those_that_are_named(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (files["good"], "--reference", files["ref"], "--baseline", files["poor"], "--metrics", "bleu")
    for options, theirs in ((["--language", "zh"], "zh"), (["--tokenize", "intl"], "intl"), ([], "13a")):
        found = as_json(capsys, *arguments, *options)
        score = found["hypotheses"]["scores"]["bleu"]
        printed = sacrebleu(files["ref"], "-i", files["good"], "-m", "bleu", "--tokenize", theirs, "-b").strip()
        assert f"{score['score']:.4f}" == printed and f"|tok:{theirs}|" in score["signature"]
    assert "invalid choice: 'mecab' (choose from" in refused(capsys, *arguments, "--tokenize", "mecab")


def test_a_seed_that_is_none_is_refused_before_a_file_is_read(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "abc")
    message = refused(capsys, tmp_path / "nowhere", "--reference", files["ref"], "--language", "en")
    assert message == "error: SACREBLEU_SEED='abc' is neither a whole number nor none; set it so, or unset it\n"


def test_a_difference_too_small_to_show_is_no_minus_zero() -> None:
    score = Interval(50.0, 50.0, 1.0, "nrefs:1")
    file = ScoredFile(Path("a"), {"bleu": score}, {}, None, None)
    other = ScoredFile(Path("b"), {"bleu": score}, {"bleu": Against(-0.004, 0.5, 0.5)}, None, None)
    text = scores_as_text(3, [file, other], "bs", 100)
    assert "+0.00" in text and "-0.00" not in text


def test_what_cannot_be_scored_is_refused_in_one_sentence(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, empty = write(tmp_path / "short", GOOD[:3]), write(tmp_path / "empty", [])
    arguments = (files["good"], "--metrics", "bleu", "--reference", files["ref"])
    for more in (["--baseline", short], ["--source", short]):
        assert refused(capsys, *arguments, *more) == (
            f"error: {short} has 3 lines and {files['good']} has 5; line n of one must belong to line n of the other, "
            "so align the files again\n"
        )
    message = refused(capsys, files["good"], "--metrics", "bleu", "--reference", files["ref"], short)
    assert message.startswith(f"error: {short} has 3 lines and {files['good']} has 5;")
    message = refused(capsys, "-", "--metrics", "bleu", "--reference", "-")
    assert message == "error: stdin (-) can be read once; give the other text as a file\n"
    message = refused(capsys, empty, "--metrics", "bleu", "--reference", empty)
    assert message == "error: there are no sentences to score\n"
    message = refused(capsys, files["good"], "--metrics", "bleu", "--reference", tmp_path / "nowhere")
    assert message.startswith(f"error: cannot read {tmp_path}/nowhere: ")
    assert "the following arguments are required: --reference" in refused(capsys, files["good"])
