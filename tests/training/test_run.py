"""What a run leaves behind."""

import dataclasses
import hashlib
import json
import math
import pickle
import shlex
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import sacrebleu
import torch

from seq2seq import cli
from seq2seq.analysis.analyse import analyse
from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import TranslationError
from seq2seq.evaluation.scores import report
from seq2seq.training import metrics, processes
from seq2seq.training.processes import StoppedAtOnce, TrainingInterrupted
from seq2seq.training.selection import average_checkpoints, candidates
from seq2seq.training.validation import Validation, translate_store
from tests.places import made_once
from tests.reports.test_run_page import data_of
from tests.training.tiny_runs import (
    SignalAt,
    arguments,
    checkpoint,
    command,
    lines,
    tiny_config,
    train_with,
    write_corpus,
    write_split,
)

LEARNING = {
    "batch.max_tokens": 300,  # 8 steps in an epoch
    "trainer.max_epochs": 6,
    "trainer.ema_decay": 0.9,
    "trainer.average_last": 3,
    "trainer.valid_sentences": 5,
    "data.test": {"first": "test", "second": "valid", "third": "several"},
    "optim.lr": 0.02,
    "model.d_model": 32,
}


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The configuration and the outcome of a run with three test sets."""
    folder = made_once(tmp_path_factory, "finished", finish_in)
    return finished_config(folder), pickle.loads((folder / "outcome").read_bytes())


def finished_config(folder):
    return tiny_config(folder / "corpus", folder / "run", LEARNING)


def finish_in(folder):
    corpus = write_corpus(folder / "corpus")
    for side in ("fr", "en"):
        shutil.copy(corpus / f"test.{side}", corpus / f"several.{side}")
    halves = [line[: len(line) // 2] for line in lines(corpus / "test.en")]
    further = [half if i % 2 else "" for i, half in enumerate(halves)]  # a second reference of every other sentence
    (corpus / "several.en.1").write_text("".join(f"{line}\n" for line in further), encoding="utf-8")
    (folder / "outcome").write_bytes(pickle.dumps(train_with(finished_config(folder))))


@pytest.fixture
def corpus(finished):
    """What that run has read."""
    return Path(finished[0].data.dir)


def model_of(config):
    """The selected model of a run, and its tokenizer."""
    trained = TrainedModel.read(config.run_dir)
    return trained.build().eval(), trained.tokenizer


def test_a_run_directory_holds_all_of_the_run(finished):
    run_dir = Path(finished[0].run_dir)
    assert sorted(path.name for path in run_dir.iterdir()) == [
        "analysis", "checkpoints", "config.yaml", "hypotheses", "metrics.csv", "provenance.json", "references",
        "report.html", "run.json", "run.lock", "scores.json", "selection.json", "sources", "summary.txt",
    ]  # fmt: skip
    assert not [path for path in run_dir.rglob("*") if ".tmp" in path.name]
    for metric in ("train/loss", "train/lr", "train/grad_norm", "train/tgt_tokens_per_s", "train/padding_share"):
        values = [each.value for each in RunDirectory(run_dir).metrics() if each.name == metric]
        assert len(values) == 48 and max(values) < 1e6


def test_the_page_of_a_run_shows_its_scores_and_what_the_model_gets_wrong(finished):
    run = RunDirectory(Path(finished[0].run_dir))
    found = data_of(run.report_file.read_text(encoding="utf-8"))
    assert [test["metrics"][0]["score"] for test in found["scores"]] == [
        scores["bleu"].score for scores in run.scores().values()
    ]
    assert [analysis["test"] for analysis in found["analyses"]] == ["first", "second", "third"]
    sentences = found["analyses"][0]["sentences"]
    assert [sentence["hypothesis"] for sentence in sentences] == lines(run.path / "hypotheses" / "first.en")
    assert any(sentence["alignment"] for sentence in sentences)
    assert "train: 300 pairs" in found["report"]


def test_a_page_that_cannot_be_written_costs_a_warning(finished, tmp_path, caplog):
    run_dir = tmp_path / "run"
    shutil.copytree(finished[0].run_dir, run_dir)
    (run_dir / "report.html").unlink()
    (run_dir / "report.html").mkdir()
    (run_dir / "summary.txt").unlink()
    outcome = train_with(dataclasses.replace(finished[0], run_dir=str(run_dir)), resume=True)
    assert outcome.tests == finished[1].tests
    assert (run_dir / "summary.txt").is_file()
    assert "report.html was not made (" in caplog.text
    assert f"try again with: python -m seq2seq report {run_dir}" in caplog.text


def test_a_finished_run_that_goes_on_is_finished_again_at_its_new_end_only(finished, tmp_path):
    shutil.copytree(finished[0].run_dir, tmp_path / "run")
    config = dataclasses.replace(finished[0], run_dir=str(tmp_path / "run"))
    config.trainer = dataclasses.replace(config.trainer, max_epochs=7)
    run = RunDirectory(tmp_path / "run")
    with pytest.raises(TrainingInterrupted):
        train_with(config, SignalAt(50), resume=True)  # of 56 steps; it had 48
    assert not (tmp_path / "run/selection.json").exists() and not (tmp_path / "run/scores.json").exists()
    train_with(config, resume=True)
    assert run.is_scored and run.selection().step == 56


def test_scores_are_those_of_sacrebleu_on_the_files(finished, corpus):
    scores = json.loads((Path(finished[0].run_dir) / "scores.json").read_text())
    assert scores.keys() == {"first", "second", "third"}
    for name, reference in (("first", "test"), ("second", "valid")):
        hypotheses = lines(Path(finished[0].run_dir) / "hypotheses" / f"{name}.en")
        references = lines(corpus / f"{reference}.en")
        assert len(hypotheses) == len(references)
        metrics = {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF()}
        # Words without case and punctuation are Moses' tokens as they are.
        metrics["bleu_legacy_tok"] = sacrebleu.BLEU(tokenize="none", smooth_method="none")
        assert scores[name].keys() == metrics.keys()
        for key, metric in metrics.items():
            found = scores[name][key]
            assert found["score"] == pytest.approx(metric.corpus_score(hypotheses, [references]).score, abs=1e-4)
            assert abs(found["mean"] - found["score"]) <= 2 * found["half_width"]
            if key != "bleu_legacy_tok":
                signature = found["signature"].replace("|bs:1000|seed:12345", "")
                assert signature == str(metric.get_signature()) != found["signature"]
        assert lines(Path(finished[0].run_dir) / "references" / f"{name}.en") == references
    assert scores["second"]["bleu"]["score"] > 1  # something was learned, so the comparison can fail


def test_all_references_of_a_test_set_count_and_are_kept(finished, corpus):
    run_dir = Path(finished[0].run_dir)
    first, second = (lines(corpus / f"several.en{further}") for further in ("", ".1"))
    assert [lines(run_dir / "references" / f"third.en{further}") for further in ("", ".1")] == [first, second]
    hypotheses = lines(run_dir / "hypotheses/third.en")
    assert hypotheses == lines(run_dir / "hypotheses/first.en")
    scores = json.loads((run_dir / "scores.json").read_text())
    or_none: list[Any] = [line or None for line in second]  # which sacreBLEU takes for a missing one
    for name, metric in {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF()}.items():
        expected = metric.corpus_score(hypotheses, [first, or_none]).score
        assert scores["third"][name]["score"] == pytest.approx(expected, abs=1e-4)
    assert scores["third"]["chrf"]["score"] != scores["first"]["chrf"]["score"]


def test_a_run_keeps_which_text_it_read(finished, corpus):
    config, _ = finished
    kept = RunDirectory(Path(config.run_dir)).corpus()
    names = {"train": "train", "valid": "valid", "test/first": "test", "test/second": "valid"}
    files = {split: [corpus / f"{name}.{language}" for language in ("fr", "en")] for split, name in names.items()}
    files["test/third"] = [corpus / f"several.{ending}" for ending in ("fr", "en", "en.1")]
    assert kept == {
        split: [hashlib.sha256(file.read_bytes()).hexdigest() for file in found] for split, found in files.items()
    }


def test_the_selected_weights_are_the_best_of_the_candidates(finished):
    config, outcome = finished
    selection = json.loads((Path(config.run_dir) / "selection.json").read_text())
    assert list(selection["valid"]) == list(outcome.valid)
    names = [name.split(" ")[0] for name in outcome.valid]
    assert names in (["last", "average"], ["last", "best", "average"])
    bleu = {name: scores["bleu"] for name, scores in selection["valid"].items()}
    assert bleu[selection["selected"]] == max(bleu.values())
    assert len(set(bleu.values())) > 1
    model, tokenizer = model_of(config)
    validation = Validation(prepare(config).valid, tokenizer, config)
    metrics = validation.of_all(model)
    references = [validation.store.references(i) for i in range(len(validation.store))]
    intervals = RunDirectory(Path(config.run_dir)).selection().intervals
    assert list(intervals) == ["bleu", "chrf"]
    assert RunDirectory(Path(config.run_dir)).selection().n_parameters == model.n_parameters
    for metric, expected in report(validation.hypotheses, references, ("bleu", "chrf")).items():
        found = intervals[metric]
        assert (found.score, found.half_width) == pytest.approx((expected.score, expected.half_width), abs=1e-4)
        assert found.signature == expected.signature and found.half_width > 0
    assert metrics == pytest.approx(selection["valid"][selection["selected"]], abs=1e-4)
    content = checkpoint(config.run_dir, "model.ckpt")
    assert content["selected"] == selection["selected"] and content["valid"] == selection["valid"]
    hypotheses = translate_store(model, prepare(config).tests["first"], tokenizer, config.decoding)
    assert hypotheses == lines(Path(config.run_dir) / "hypotheses/first.en")


@pytest.mark.parametrize(("language", "tokenize"), [("th", "auto"), ("en", "char")])
def test_every_bleu_of_a_run_has_the_tokens_that_were_chosen(corpus, tmp_path, capsys, language, tokenize):
    """By the language or by the key; the letters are Latin, for which a script would say 13a."""
    for file in list(corpus.glob("*.en")):
        shutil.copy(file, corpus / f"{file.stem}.th")
    changes = {"data.tgt_lang": language, "evaluation.tokenize": tokenize, "trainer.max_epochs": 6, "optim.lr": 0.02}
    train_with(tiny_config(corpus, tmp_path / "run", changes))
    run = RunDirectory(tmp_path / "run")
    selection, scores = run.selection(), run.scores()["test"]
    assert "|tok:char|" in scores["bleu"].signature and "|tok:char|" in selection.intervals["bleu"].signature
    of_validation = selection.valid[selection.selected]["bleu"]
    assert 1 < of_validation == pytest.approx(selection.intervals["bleu"].score, abs=1e-3)
    analysis = analyse(run, "test")
    expected = sacrebleu.BLEU(tokenize="char", effective_order=True)
    for sentence in analysis.sentences:
        own = expected.sentence_score(sentence.hypothesis, list(sentence.references)).score
        assert sentence.bleu == pytest.approx(own, abs=0.01)
    shutil.rmtree(run.analysis_file("test").parent)
    assert analyse(run, "test").sentences[0].bleu == analysis.sentences[0].bleu
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    cli.main(["compare", str(tmp_path / "run"), str(tmp_path / "again"), "--format", "json"])
    compared = json.loads(capsys.readouterr().out)["tests"]["test"]["metrics"]["bleu"]
    assert {each["signature"] for each in compared.values()} == {scores["bleu"].signature}


def test_a_score_that_cannot_be_made_is_told_before_any_work(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "abc")
    with pytest.raises(TranslationError, match="SACREBLEU_SEED='abc' is neither"):
        train_with(tiny_config(corpus, tmp_path / "run"))
    assert not (tmp_path / "run/config.yaml").exists()


def test_each_candidate_is_what_its_name_says(finished):
    config, _ = finished
    folder = Path(config.run_dir) / "checkpoints"
    recent = sorted(folder.glob("recent-*.ckpt"))
    assert [path.name for path in recent] == [f"recent-{step:08d}.ckpt" for step in (32, 40, 48)]
    weights = [dict(read_checkpoint(path).model.weights) for path in recent]
    for name, mean in average_checkpoints(recent[::-1]).items():
        torch.testing.assert_close(mean, torch.stack([w[name].double() for w in weights]).mean(0).float())
    last = read_checkpoint(folder / "last.ckpt").model.weights
    assert all(torch.equal(weights[-1][name], weight) for name, weight in last.items())
    module = torch.nn.Linear(2, 2)
    names = [name for name, _ in candidates(module, RunDirectory(Path(config.run_dir)), 48, None, 2)]  # type: ignore[arg-type]
    assert names == ["last (step 48)", *names[1:-1], "average of the last 2 validations"]


def test_every_model_of_a_run_says_which_lengths_it_was_trained_on(finished, corpus, tmp_path):
    run_dir = Path(finished[0].run_dir)
    tokenizer = TrainedModel.read(run_dir).tokenizer
    n_tokens = sorted(map(len, tokenizer.encode(lines(corpus / "train.fr"))))
    shortest, middle, longest = n_tokens[0], n_tokens[149], n_tokens[299]  # of 300
    cli.front_door("export", [str(run_dir), "--format", "safetensors", "--output", str(tmp_path / "shipped")])
    files = sorted((run_dir / "checkpoints").iterdir())
    assert len(files) == 8  # best, last, previous, good, model, three recent ones
    for path in (*files, tmp_path / "shipped"):
        assert (seen := TrainedModel.read(path).seen)
        assert (seen.n_pairs, seen.sentences) == (300, [1.0, *[0.0] * 9])
        assert [seen.src_tokens[percent] for percent in ("0", "50", "100")] == [shortest, middle, longest]
    card = (tmp_path / "shipped" / "README.md").read_text()
    assert f"- trained on 300 pairs; sources of {shortest} to {longest} tokens (99% up to " in card


def test_the_summary_fits_on_a_screen_and_says_what_won(finished):
    config, outcome = finished
    text = (Path(config.run_dir) / "summary.txt").read_text()
    assert len(text.splitlines()) <= 50  # with three test sets
    (winner,) = [line for line in text.splitlines() if line.startswith(" * ")]
    assert outcome.selected in winner
    assert f"python translate.py --model {config.run_dir}" in text
    (shown,) = [line for line in text.splitlines() if line.startswith("look inside with:  python -m seq2seq attention")]
    assert cli.build_parser().parse_args(shlex.split(shown)[6:]).model == Path(config.run_dir)


def test_validation_scores_what_it_decodes(finished, corpus):
    config, _ = finished
    model, tokenizer = model_of(config)
    store = prepare(config).valid
    model.train()
    validation = Validation(store, tokenizer, config)
    assert validation.samples(2) == []  # nothing is decoded yet
    found = validation.of_all(model)
    assert model.training  # as it was
    model.eval()
    hypotheses = translate_store(model, store, tokenizer, config.decoding)
    assert validation.hypotheses == hypotheses and len(hypotheses) == 9
    references = lines(corpus / "valid.en")
    assert found["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert found["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    few = validation.while_training(model)  # config.trainer.valid_sentences of them
    spread = [0, 1, 3, 5, 7]
    of_few = [hypotheses[i] for i in spread], [[references[i] for i in spread]]
    assert few["bleu"] == pytest.approx(sacrebleu.corpus_bleu(*of_few).score)
    assert few["chrf"] == pytest.approx(sacrebleu.corpus_chrf(*of_few).score)
    assert few["loss"] == found["loss"]
    samples = validation.samples(9)
    assert [sample.pair for sample in samples] == spread
    assert [sample[1:5] for sample in samples] == [
        ("valid", lines(corpus / "valid.fr")[i], references[i], hypotheses[i]) for i in spread
    ]
    chrf = sacrebleu.CHRF()
    assert [sample.chrf for sample in samples] == [
        chrf.sentence_score(hypotheses[i], [references[i]]).score for i in spread
    ]
    assert [sample.pair for sample in validation.samples(2)] == [0, 3]  # not the first two


def test_blank_sentences_are_validated_and_tested(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", n_train=30)
    write_split(corpus, "test", [("ba be", "be ba"), ("", "bi"), ("bo", "")])
    write_split(corpus, "valid", [("", ""), ("ba be", "be ba")])
    train_with(tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 1}))
    hypotheses = lines(tmp_path / "run/hypotheses/test.en")
    assert len(hypotheses) == 3 and hypotheses[1] == ""


class Clock(pl.Callback):
    """Time as a run's counters see it: each step takes a second."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def on_train_batch_end(self, *args):
        self.now += 1


def test_a_time_limit_ends_the_run_with_its_tests_and_the_learning_rate_falls_until_then(corpus, tmp_path, monkeypatch):
    """Also where the run is stopped in between: the time before counts."""
    changes = {
        "batch.max_tokens": 300,
        "optim.schedule": "cosine",
        "trainer.max_epochs": 0,
        "trainer.max_time": "00:00:00:20",
        "trainer.val_every_n_steps": 10_000,
    }
    config, clock = tiny_config(corpus, tmp_path / "run", changes), Clock()
    monkeypatch.setattr(metrics, "time", clock)
    with pytest.raises(TrainingInterrupted):
        train_with(config, clock, SignalAt(8))
    clock.now += 100  # until somebody resumes it
    train_with(config, clock, resume=True)
    assert checkpoint(tmp_path / "run")["global_step"] == 20
    rows = RunDirectory(tmp_path / "run").metrics()
    assert [each.step for each in rows if each.name == "valid/loss"] == [20]
    rates = [each.value for each in rows if each.name == "train/lr"]
    by_hand = [5e-3 * min(n / 5, (1 + math.cos(math.pi * (n - 1) / 20)) / 2) for n in range(1, 21)]
    assert rates == pytest.approx(by_hand)
    for name in ("scores.json", "selection.json", "summary.txt", "hypotheses/test.en", "checkpoints/model.ckpt"):
        assert (tmp_path / "run" / name).is_file()


def test_ctrl_c_saves_and_says_how_to_go_on(corpus, tmp_path):
    """The whole way, from the command to its exit status; workers that assemble batches get the signal as well.

    tests/faults/test_stopped_runs.py has the other signals.
    """
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from seq2seq.training import run\n"
        "from tests.training.tiny_runs import SignalAt\n"
        "from functools import partial\n"
        f"run.train = partial(run.train, callbacks=[SignalAt(3, {int(signal.SIGINT)}, to_all=True)])\n"
        "from seq2seq.cli import front_door\n"
        "front_door('train')\n"
    )
    script = tmp_path / "train.py"
    script.write_text(code)
    done = command(*arguments(corpus, tmp_path / "run", {"batch.n_workers": 1}), script=script)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert f"stopped and saved; continue with: python train.py resume={tmp_path / 'run'}\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert checkpoint(tmp_path / "run")["global_step"] == 3
    assert not list((tmp_path / "run").rglob("*.tmp"))


def test_a_second_interrupt_stops_at_once(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE_S", 0)
    config = tiny_config(corpus, tmp_path / "run")
    with pytest.raises(StoppedAtOnce):
        train_with(config, SignalAt(3, signal.SIGINT), SignalAt(3, signal.SIGINT))


def test_a_double_ctrl_c_is_one_and_says_what_another_one_does(corpus, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(processes, "GRACE_S", 60)  # the machine may have other work meanwhile
    with pytest.raises(TrainingInterrupted):
        train_with(tiny_config(corpus, tmp_path / "run"), SignalAt(3, signal.SIGINT), SignalAt(3, signal.SIGINT))
    assert checkpoint(tmp_path / "run")["global_step"] == 3
    assert capfd.readouterr().err.count("finishing the step and saving; Ctrl-C again stops at once\n") == 1
