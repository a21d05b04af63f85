import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from sacrebleu import corpus_bleu

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory, Selection
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.cli import main as cli
from seq2seq.evaluation.over_seeds import recipe_tests
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
    """A directory with what the end of a run leaves behind, for each test set's hypotheses; but no scores."""
    path.mkdir()
    (path / "config.yaml").write_text(f"data:\n  src_lang: {src_lang}\n  tgt_lang: {tgt_lang}\n")
    for name, hypotheses in tests.items():
        write_lines(path / "hypotheses" / f"{name}.{tgt_lang}", hypotheses)
        write_lines(path / "references" / f"{name}.{tgt_lang}", REFERENCES)
    RunDirectory(path).write_selection(Selection("last", 7, {"last": {}}))
    RunDirectory(path).write_scores({})
    return path


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "poor", news=POOR, talks=GOOD)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "good", news=GOOD, talks=GOOD)


def test_further_references_count(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    further = [POOR[0], "", POOR[2], "", "", ""]
    for run in (poor, good):
        write_lines(run / "references/news.en.1", further)
    found = compared(capsys, poor, good, "--test", "news", "--metrics", "bleu")["tests"]["news"]["metrics"]["bleu"]
    references: Any = [REFERENCES, [line or None for line in further]]
    for side, hypotheses in (("A", POOR), ("B", GOOD)):
        assert found[side]["score"] == pytest.approx(corpus_bleu(hypotheses, references).score)
    (good / "references/news.en.1").unlink()
    assert "different sentences" in refused(capsys, poor, good)


def test_the_table_says_which_run_is_better(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(poor), str(good)])
    a_then_b = capsys.readouterr().out
    assert a_then_b.startswith(f"A  {poor}\nB  {good}\nfr to en; paired bootstrap")
    news, talks = (part.split("\n\n")[0] for part in a_then_b.split("test set ")[1:])
    assert news.startswith("news, 6 sentences\nmetric ") and talks.startswith("talks, 6 sentences\n")
    rows = [line.split() for line in news.splitlines()[2:]]
    assert [row[0] for row in rows[::2]] == list(TEST_METRICS) and all(row[-1] == "better" for row in rows[1::2])
    assert [row[0] for row in rows[1::2]] == ["B"] * len(TEST_METRICS)
    assert all(line.split()[-4:] == ["+0.00", "±", "0.00", "equal"] for line in talks.splitlines()[3::2])
    assert "bs:1000|seed:12345|case:lc|eff:no|tok:moses-en+norm-" in a_then_b

    main([str(good), str(poor), "--test", "news", "--metrics", "ter"])
    b_then_a = capsys.readouterr().out
    assert "  worse\n" in b_then_a and "talks" not in b_then_a and "bleu" not in b_then_a


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    main([*map(str, arguments), "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_each_run_is_tested_against_the_first_and_corrected_for_their_number(
    tmp_path: Path, poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = finished_run(tmp_path / "near", news=[*GOOD[:5], REFERENCES[5]], talks=GOOD)
    same = finished_run(tmp_path / "same", news=GOOD, talks=GOOD)
    found = compared(capsys, good, poor, near, same)["tests"]["news"]["metrics"]["chrf"]
    assert list(found) == ["A", "B", "C", "D"]
    pairs = {"B": (good, poor), "C": (good, near)}
    for label, pair in pairs.items():
        alone = compared(capsys, *pair, "--metrics", "chrf")["tests"]["news"]["metrics"]["chrf"]["B"]
        assert [alone[key] for key in ("score", "p_value")] == [found[label][key] for key in ("score", "p_value")]
    # By hand: three comparisons, of which the one of equal runs has p = 1.
    small, large = sorted(("B", "C"), key=lambda label: found[label]["p_value"])
    assert found[small]["p_holm"] == pytest.approx(3 * found[small]["p_value"])
    assert found[large]["p_holm"] == pytest.approx(
        min(1, max(3 * found[small]["p_value"], 2 * found[large]["p_value"]))
    )
    assert (found["B"]["verdict"], found["D"]["verdict"]) == ("worse", "equal")
    assert found["D"]["p_value"] is found["D"]["p_holm"] is found["A"]["verdict"] is None
    main([*(str(run) for run in (good, poor, near, same)), "--metrics", "bleu"])
    assert "  p (Holm)  against A\n" in capsys.readouterr().out


def test_the_numbers_are_those_of_a_paired_test(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = (poor, good, "--test", "news", "--test-method", "ar", "--metrics", "bleu")
    found = compared(capsys, *options)["tests"]["news"]["metrics"]["bleu"]
    first, expected = recipe_tests([[POOR], [GOOD]], REFERENCES, ["bleu"], "ar")["bleu"]
    for label, interval in (("A", first.together), ("B", expected.together)):
        assert {key: found[label][key] for key in vars(interval)} == vars(interval)
    assert found["B"]["difference"] == expected.together.score - first.together.score
    assert (found["A"]["p_value"], found["B"]["p_value"], found["B"]["p_holm"]) == (None, *[expected.p_value] * 2)
    main(list(map(str, options)))
    assert "fr to en; approximate randomisation (Riezler" in capsys.readouterr().out


def test_scores_that_runs_kept_are_shown_without_a_test(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(poor, "news", "mixed", "bleu")
    shutil.rmtree(good / "hypotheses")
    shutil.rmtree(poor / "references")
    assert compared(capsys, poor, good, "--test-method", "none")["tests"] == {
        "news": {"n_sentences": 6, "metrics": {"bleu": {"A": ANY}}},
        "talks": {"n_sentences": 6, "metrics": {}},
    }


def test_translations_of_an_earlier_end_are_not_tested(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RunDirectory(good).forget_end()  # as a later `trainer.max_epochs` does
    found = compared(capsys, poor, good)
    assert found["tests"]["news"]["metrics"] == {} and found["notes"] == ["B: not finished, so not tested"]


def test_a_job_that_never_became_a_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = SweepDirectory(tmp_path / "sweep")
    sweep.write_error("001_seed=2", "the disk is full")
    (sweep.path / "multirun.yaml").touch()
    finished_run(sweep.path / "000_seed=1", news=GOOD)
    main([str(sweep.path)])
    told = capsys.readouterr()
    assert told.err == "001_seed=2 has no run: the disk is full\n" and told.out.startswith(
        f"A  {sweep.path}/000_seed=1"
    )


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
    layers = (f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcd"))
    many = f"data: {{src_lang: fr, tgt_lang: en}}\na: &a 1\n{''.join(layers)}"
    for damage in ("data: [", "data:\n  src_lang: fr\n", "just text", many):
        (training / "config.yaml").write_text(damage)
        assert "config.yaml: " in (message := refused(capsys, good, training))
        assert "so it is damaged; restore it" in message
    assert f"{good} and {good}/../good are one run; name it once" in refused(capsys, good, good / ".." / "good")


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
    message = refused(capsys, good, other, "--test", "new", "--test-method", "none")
    assert "no run was tested on new; choose from news, talks" in message


def test_a_metric_that_no_run_has_is_refused(tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(good, "news", "mixed", "bleu", "ter")
    message = refused(capsys, good, "--metrics", "bleu", "chrf++")
    assert "no run has kept chrf++; choose from bleu, ter" in message
    training = finished_run(tmp_path / "training")
    assert "no run has kept bleu; choose from none, as none was scored" in refused(
        capsys, training, "--metrics", "bleu"
    )


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
    found = compared(capsys, poor, good)["tests"]
    assert {metric: list(by_label) for metric, by_label in found["news"]["metrics"].items()} == {
        "bleu": ["A", "B"],
        "chrf": ["A", "B"],
        "ter": ["A"],  # which it has kept
    }
    assert list(found["talks"]["metrics"]) == list(TEST_METRICS)  # whose scores were not kept
    expected = corpus_bleu(GOOD, [REFERENCES], lowercase=True).score
    assert found["news"]["metrics"]["bleu"]["B"]["score"] == pytest.approx(expected)
    assert expected > corpus_bleu(GOOD, [REFERENCES]).score
    assert "|case:lc|" in found["news"]["metrics"]["chrf"]["A"]["signature"]
    assert "|case:mixed|" in found["talks"]["metrics"]["chrf"]["A"]["signature"]
    found = compared(capsys, poor, good, "--test", "news", "--metrics", "chrf++")["tests"]
    assert list(found["news"]["metrics"]) == ["chrf++"]


def read_text(run: Path, **digests: str) -> None:
    """Let a run have read these files; the name of a test set has `_` in place of `/`."""
    corpus = {split.replace("_", "/"): [digest] for split, digest in digests.items()}
    RunDirectory(run).write_identity(RunIdentity("1", corpus=corpus))


def notes(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    found: list[str] = compared(capsys, *arguments)["notes"]
    return found


def test_other_text_is_said_and_not_refused(poor: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bleu = ("--metrics", "bleu")
    read_text(poor, train="1", valid="2", test_news="3", test_talks="4")
    assert not notes(capsys, poor, good, *bleu)  # an older run, which may have read the same
    read_text(good, train="1", valid="2", test_news="3", test_talks="5")
    assert not notes(capsys, poor, good, *bleu, "--test", "news")
    main([str(poor), str(good), *bleu])
    note = "B: read other files of test set talks than A, though its references are the same"
    assert f"\nnote: {note}\n" in capsys.readouterr().out and notes(capsys, poor, good, *bleu) == [note]
    read_text(good, train="6", valid="7", test_news="3", test_talks="4")
    assert notes(capsys, poor, good, *bleu) == [
        "B: trained on other text than A, so the difference may come from it",
        "B: chose the weights on other validation text than A",
    ]


def test_references_are_called_the_same_only_if_they_were_compared(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_text(poor, test_news="3")
    read_text(good, test_news="4")
    assert notes(capsys, poor, good, "--test-method", "none") == ["B: read other files of test set news than A"]


def test_scores_that_were_not_computed_alike_are_pointed_out(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(poor, "news", "lc", "bleu")
    scored(good, "news", "mixed", "bleu")
    assert notes(capsys, poor, good, "--test-method", "none") == [
        "bleu of test set news is compared only where it was computed alike, see the signatures"
    ]
    found = compared(capsys, poor, good, "--test-method", "none")["tests"]["news"]["metrics"]["bleu"]
    assert found["B"]["difference"] is None
    other = (good / "scores.json").read_text().replace("case:mixed", "case:lc").replace("|eff:no", "|eff:no|version:9")
    (good / "scores.json").write_text(other)
    assert not notes(capsys, poor, good, "--test-method", "none")  # versions do not matter
    found = compared(capsys, poor, good, "--test-method", "none")["tests"]["news"]["metrics"]["bleu"]
    assert found["B"]["difference"] == 0


def test_scores_that_are_computed_anew_with_other_tokens_are_pointed_out(
    poor: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run, tokens in ((poor, "13a"), (good, "char")):
        signature = f"nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:{tokens}|smooth:exp|version:1.0"
        score = {"score": 1.0, "mean": 1.0, "half_width": 1.0, "signature": signature}
        (run / "scores.json").write_text(json.dumps({"news": {"bleu": score}}))
    assert notes(capsys, poor, good) == ["B: scored here as all others, and so not as in its own report"]
    found = compared(capsys, poor, good)["tests"]["news"]["metrics"]["bleu"]
    assert found["B"]["difference"] == found["B"]["score"] - found["A"]["score"]
    assert all("|tok:13a|" in each["signature"] for each in found.values())


def test_so_many_runs_that_no_difference_can_be_more_than_chance(
    tmp_path: Path, poor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [poor, *(finished_run(tmp_path / f"run{number}", news=GOOD) for number in range(51))]
    found = compared(capsys, *runs, "--metrics", "bleu")
    assert list(found["runs"])[24:28] == ["Y", "Z", "AA", "AB"] and list(found["runs"])[-1] == "AZ"
    assert found["notes"][-1] == (
        "with 51 runs and 1,000 samples no corrected p-value can be below 0.05; name fewer runs, or take "
        "--test-method ar"
    )
    assert {each["verdict"] for each in found["tests"]["news"]["metrics"]["bleu"].values()} == {None, "may be chance"}
