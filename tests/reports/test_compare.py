import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sacrebleu import corpus_bleu

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main as cli
from seq2seq.evaluation.scores import TEST_METRICS

REFERENCES = [
    "A man in a blue shirt stands on a ladder and cleans the window.",
    "Two young, white males are outside near many bushes.",
    "Isn't the cat sitting on the mat?",
    "A girl in a karate uniform breaks a stick with a front kick.",
    "People repair the roof of a house.",
    "Five people in winter jackets stand in the snow.",
]
GOOD = [
    "A man in a blue shirt stands on a ladder and cleans a window.",
    "Two young, White males are outside near many bushes!",
    "Isn't the cat on the mat?",
    "A girl in a karate uniform breaks a stick with a kick.",
    "People repair the roof of a house.",
    "Five people in winter jackets are standing in the snow.",
]
POOR = [
    "A man on a ladder cleans.",
    "Young males near bushes.",
    "The cat sits on a mat.",
    "A girl breaks the stick with a kick.",
    "",
    "Five people stand in the snow.",
]


def main(arguments: list[str]) -> None:
    cli(["compare", *arguments])


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def finished_run(path: Path, src_lang: str = "fr", tgt_lang: str = "en", **tests: list[str]) -> Path:
    """A directory with what the end of a run leaves behind, for each test set's hypotheses."""
    path.mkdir()
    (path / "config.yaml").write_text(f"data:\n  src_lang: {src_lang}\n  tgt_lang: {tgt_lang}\n")
    for name, hypotheses in tests.items():
        write_lines(path / "hypotheses" / f"{name}.{tgt_lang}", hypotheses)
        write_lines(path / "references" / f"{name}.{tgt_lang}", REFERENCES)
    return path


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "poor", news=POOR, talks=GOOD)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "good", news=GOOD, talks=GOOD)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_the_numbers_are_those_of_the_sacrebleu_command(
    metric: str, poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(poor), str(good), "--test", "news", "--metrics", metric, "--json"])
    found = json.loads(capsys.readouterr().out)["tests"]["news"]["metrics"][metric]
    hypotheses = [str(run / "hypotheses/news.en") for run in (poor, good)]
    command = [sys.executable, "-m", "sacrebleu", str(good / "references/news.en"), "-i", *hypotheses, "-m", metric]
    command += ["--paired-bs", "--paired-bs-n", "1000", "--format", "text", "-w", "6"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    number = r"(\d+\.\d+)"
    scores = re.findall(rf"{number} \({number} ± {number}\)", printed)
    p_value, signature = re.search(r"p = (\d\.\d+)", printed), re.search(r"nrefs:\S+", printed)
    assert [tuple(f"{found[run][key]:.6f}" for key in ("score", "mean", "half_width")) for run in "ab"] == scores
    assert p_value is not None and f"{found['p_value']:.4f}" == p_value[1]
    assert signature is not None and found["signature"] == signature[0]
    assert found["difference"] == found["b"]["score"] - found["a"]["score"]


def test_further_references_count(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    further = [POOR[0], "", POOR[2], "", "", ""]
    for run in (poor, good):
        write_lines(run / "references/news.en.1", further)
    main([str(poor), str(good), "--test", "news", "--metrics", "bleu", "--json"])
    found = json.loads(capsys.readouterr().out)["tests"]["news"]["metrics"]["bleu"]
    references: Any = [REFERENCES, [line or None for line in further]]
    for side, hypotheses in (("a", POOR), ("b", GOOD)):
        assert found[side]["score"] == pytest.approx(corpus_bleu(hypotheses, references).score)
    (good / "references/news.en.1").unlink()
    assert "different sentences" in refused(capsys, poor, good)


def test_the_table_says_which_run_is_better(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(poor), str(good)])
    a_then_b = capsys.readouterr().out
    assert a_then_b.startswith(f"A  {poor}\nB  {good}\nfr to en")
    news, talks = a_then_b.split("test set ")[1:]
    assert news.startswith("news, 6 sentences:") and talks.startswith("talks, 6 sentences:")
    rows = [line.split() for line in news.splitlines()[2 : 2 + len(TEST_METRICS)]]
    assert [row[0] for row in rows] == list(TEST_METRICS)
    assert all(row[-3:] == ["B", "is", "better"] for row in rows)
    assert all(row[-2:] == ["+0.00", "equal"] for row in map(str.split, talks.splitlines()[2 : 2 + len(TEST_METRICS)]))
    assert "bs:1000|seed:12345|case:lc|eff:no|tok:moses-en+norm-" in news

    main([str(good), str(poor), "--test", "news", "--metrics", "ter"])
    b_then_a = capsys.readouterr().out
    assert "A is better" in b_then_a and "talks" not in b_then_a and "bleu" not in b_then_a


def test_a_small_difference_may_be_chance(tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = finished_run(tmp_path / "other", news=[*GOOD[:5], REFERENCES[5]])
    main([str(good), str(other), "--metrics", "bleu"])
    assert "may be chance" in capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert stopped.value.code == 2 and printed.out == "" and printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_what_is_not_a_finished_run_is_refused(tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere: is not the directory of a run" in refused(capsys, tmp_path / "nowhere", good)
    training = finished_run(tmp_path / "training")
    assert "training: has no hypotheses/*.en, which a run writes at its end" in refused(capsys, good, training)
    for damage in ("data: [", "data:\n  src_lang: fr\n", "just text"):
        (training / "config.yaml").write_text(damage)
        assert "config.yaml: " in (message := refused(capsys, good, training))
        assert "so it is damaged; restore it" in message
    assert "are one run; name two" in refused(capsys, good, good / ".." / "good")


def test_runs_of_other_languages_are_refused(tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = finished_run(tmp_path / "other", src_lang="de", news=GOOD)
    message = refused(capsys, good, other)
    assert f"{good} translates fr to en and {other} de to en" in message


def test_test_sets_that_are_not_shared_are_refused(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = finished_run(tmp_path / "other", talks=GOOD)
    message = refused(capsys, good, other, "--test", "news")
    assert f"{good} was tested on news, talks and {other} on talks; name one of both with --test" in message
    alone = finished_run(tmp_path / "alone", web=GOOD)
    assert "they share no test set" in refused(capsys, good, alone)


def test_other_sentences_are_refused_with_the_first_that_differs(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = finished_run(tmp_path / "other", news=POOR)
    changed = [*REFERENCES[:2], "Another sentence.", *REFERENCES[3:]]
    write_lines(other / "references/news.en", changed)
    message = refused(capsys, good, other)
    assert "reference 3 is \"Isn't the cat sitting on the mat?\" in one and 'Another sentence.' in the other" in message
    shorter = finished_run(tmp_path / "shorter", news=POOR[:4])
    write_lines(shorter / "references/news.en", REFERENCES[:4])
    message = refused(capsys, shorter, good)
    assert "reference 5 is missing in one and 'People repair the roof of a house.' in the other" in message


def test_references_that_are_missing_or_do_not_fit_are_named(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(good / "hypotheses/news.en", GOOD[:5])
    assert "references/news.en has 6 lines and" in refused(capsys, poor, good)
    (poor / "references/news.en").unlink()
    message = refused(capsys, poor, good)
    assert f"{poor}/references/news.en: no such file; older runs did not keep" in message
    assert f"python train.py resume={poor}" in message


def scored(run: Path, test: str, case: str, *metrics: str) -> None:
    """Give a run the scores of one test set."""
    score = {"score": 1.0, "mean": 1.0, "half_width": 1.0, "signature": f"nrefs:1|case:{case}|eff:no"}
    (run / "scores.json").write_text(json.dumps({test: dict.fromkeys(metrics, score)}))


def test_a_test_set_is_compared_by_the_scores_that_it_has(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(poor, "news", "lc", "bleu", "chrf", "ter")
    scored(good, "news", "lc", "bleu", "chrf")
    main([str(poor), str(good), "--json"])
    found = json.loads(capsys.readouterr().out)["tests"]
    assert list(found["news"]["metrics"]) == ["bleu", "chrf"]
    assert list(found["talks"]["metrics"]) == list(TEST_METRICS)  # whose scores were not kept
    expected = corpus_bleu(GOOD, [REFERENCES], lowercase=True).score
    assert found["news"]["metrics"]["bleu"]["b"]["score"] == pytest.approx(expected)
    assert expected > corpus_bleu(GOOD, [REFERENCES]).score
    assert "|case:lc|" in found["news"]["metrics"]["chrf"]["signature"]
    assert "|case:mixed|" in found["talks"]["metrics"]["chrf"]["signature"]
    main([str(poor), str(good), "--test", "news", "--metrics", "chrf++", "--json"])
    assert list(json.loads(capsys.readouterr().out)["tests"]["news"]["metrics"]) == ["chrf++"]


def read_text(run: Path, **digests: str) -> None:
    """Let a run have read these files; the name of a test set has `_` in place of `/`."""
    corpus = {split.replace("_", "/"): [digest] for split, digest in digests.items()}
    RunDirectory(run).write_identity(RunIdentity("1", corpus=corpus))


def test_other_text_is_said_and_not_refused(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read_text(poor, train="1", valid="2", test_news="3", test_talks="4")
    main([str(poor), str(good)])
    assert "note:" not in capsys.readouterr().out  # an older run, which may have read the same
    read_text(good, train="1", valid="2", test_news="3", test_talks="5")
    main([str(poor), str(good), "--test", "news"])
    assert "note:" not in capsys.readouterr().out
    main([str(poor), str(good)])
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note:")]
    assert notes == ["note: the files of test set talks differ, though its references are the same"]
    read_text(good, train="6", valid="7", test_news="3", test_talks="4")
    main([str(poor), str(good), "--json"])
    assert json.loads(capsys.readouterr().out)["notes"] == [
        "the runs were trained on different text, so the difference may come from it",
        "the runs chose their weights on different validation text",
    ]


def test_damaged_digests_are_named(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for damage in ("{", "[1]", '{"train": 1}'):
        (good / "run.json").write_text(damage)
        message = f"{good}/run.json: is not the identity of a run, so it is damaged; restore or delete it"
        assert message in refused(capsys, poor, good)
