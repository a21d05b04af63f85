"""A run that is tested with augmentation, and what it leaves behind."""

import json
import shutil

import pytest
import sacrebleu

from seq2seq import cli
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.corpus.augmentation import AUGMENTATIONS
from tests.places import made_once
from tests.training.tiny_runs import lines, tiny_config, train_here, train_with

LEARNING = {"trainer.max_steps": 40, "optim.lr": 0.02, "model.d_model": 32, "decoding.beam_size": 1}
TESTS = {"plain": "test", "chat": {"source": "test", "augmentation": ["upper", "typos"]}}


@pytest.fixture(scope="session")
def run(corpus, tmp_path_factory):
    changes = LEARNING | {"data.test": TESTS, "data.robustness": True}
    path = made_once(tmp_path_factory, "robust_run", lambda path: train_with(tiny_config(corpus, path, changes)))
    return RunDirectory(path)


def test_each_augmentation_has_its_scores_and_plain_test_sets_have_all(run):
    scores = run.scores()
    assert list(scores) == ["plain", *(f"plain/{name}" for name in AUGMENTATIONS), "chat"]
    assert list(scores["plain"]) == list(scores["chat"]) == ["bleu", "chrf", "bleu_legacy_tok"]
    for name in AUGMENTATIONS:
        assert list(scores[f"plain/{name}"]) == ["bleu", "chrf"]
    logged = {metric.name: metric.value for metric in run.metrics()}
    assert logged["test/plain/typos/bleu"] == pytest.approx(scores["plain/typos"]["bleu"].score, abs=1e-3)


def test_scores_without_case_are_those_of_sacrebleu_on_the_files(run):
    for test, lowercase in (("plain", False), ("plain/typos", False), ("plain/title", True), ("chat", True)):
        hypotheses, references = lines(run.path / f"hypotheses/{test}.en"), lines(run.path / f"references/{test}.en")
        chrf = sacrebleu.CHRF(lowercase=lowercase)
        found = run.scores()[test]["chrf"]
        assert found.score == pytest.approx(chrf.corpus_score(hypotheses, [references]).score, abs=1e-4)
        assert found.signature.replace("|bs:1000|seed:12345", "") == str(chrf.get_signature())


def test_what_is_augmented_rows_has_sources_and_no_analysis(run):
    assert sorted(path.name for path in (run.path / "analysis").rglob("*")) == ["chat.json", "plain.json"]
    assert all(len(run.sources(test)) == len(run.hypotheses(test)) for test in run.tests())
    assert run.sources("plain/upper") == [line.upper() for line in run.sources("plain")]


def test_what_is_tested_is_what_the_command_writes(run, corpus, tmp_path):
    for name in AUGMENTATIONS:
        files, outputs = [corpus / "test.fr", corpus / "test.en"], [tmp_path / "src", tmp_path / "tgt"]
        cli.main(["corpus", "augment", *map(str, files), "--as", name, "--output", *map(str, outputs)])
        assert lines(run.path / f"references/plain/{name}.en") == lines(tmp_path / "tgt")


def test_the_summary_shows_what_each_augmentation_costs(run):
    text = (run.path / "summary.txt").read_text()
    table = text.partition("test set plain:")[2].partition("test set chat:")[0].splitlines()
    rows = [line.split() for line in table if line.split() and line.split()[0] in AUGMENTATIONS]
    assert [row[0] for row in rows] == list(AUGMENTATIONS)
    scores = run.scores()
    for name, bleu, change, *note in rows:
        expected = scores[f"plain/{name}"]["bleu"].score
        assert float(bleu) == pytest.approx(expected, abs=0.01)
        assert float(change) == pytest.approx(expected - scores["plain"]["bleu"].score, abs=0.01)
        assert note == (["without", "case"] if AUGMENTATIONS[name].ignores_case else [])
    assert "plain/" not in text


def test_such_runs_are_compared_and_listed(run, tmp_path, capsys):
    shutil.copytree(run.path, tmp_path / "other")
    cli.main(["compare", str(run.path), str(tmp_path / "other"), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["tests"]
    for test, scores in run.scores().items():
        assert found[test]["metrics"].keys() == scores.keys()
        for metric, score in scores.items():
            for each in found[test]["metrics"][metric].values():
                assert each["signature"] == score.signature
                assert (each["score"], each["half_width"]) == pytest.approx((score.score, score.half_width), abs=1e-4)
    cli.main(["compare", str(run.path), "--metrics", "bleu", "bleu_legacy_tok", "--format", "csv"])
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert {"test/plain/bleu_legacy_tok", "test/plain/upper/bleu"} <= set(header)
    assert "test/plain/upper/bleu_legacy_tok" not in header
    cli.main(["compare", str(run.path)])
    table = capsys.readouterr().out.partition("test set plain with augmentation\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in table[1::2]] == list(AUGMENTATIONS)


@pytest.mark.usefixtures("own_signals")
def test_a_finished_run_is_tested_augmented_rows_when_it_is_resumed(corpus, tmp_path):
    quick = {"trainer.max_steps": 2, "decoding.beam_size": 1, "decoding.max_length_b": 2}
    train_with(tiny_config(corpus, tmp_path / "run", quick))
    run = RunDirectory(tmp_path / "run")
    before = run.scores()
    done = train_here(f"resume={tmp_path / 'run'}", "data.robustness=true")
    assert done.returncode == 0, done.stderr
    after = run.scores()
    assert list(after) == ["test", *(f"test/{name}" for name in AUGMENTATIONS)]
    assert after["test"] == before["test"]
