"""Runs in stages: what each epoch reads, how many steps that makes, and what it is good for."""

import logging
from collections import Counter
from pathlib import Path

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.prepare import prepare
from seq2seq.training import estimate as estimates
from seq2seq.training.data import TranslationData
from seq2seq.training.epochs import Epochs
from seq2seq.training.estimate import estimate
from tests.training.test_resume import metrics
from tests.training.tiny_runs import checkpoint, reversed_pairs, tiny_config, train_here, train_with, write_split

CRAWL, NEWS = 200, 60
MIX_THEN_NEWS = {
    "data.train": ["crawl", "news"],
    "data.stages": [{"until_epoch": 2}, {"weights": {"crawl": 0, "news": 2.5}}],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Good text, and more that is no translation: all of its targets are one word."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, (split, n) in enumerate({"news": NEWS, "valid": 20, "test": 5}.items()):
        write_split(folder, split, reversed_pairs(n, seed, longest=5))
    write_split(folder, "crawl", [(src, "ba " * 7) for src, _ in reversed_pairs(CRAWL, 9)])
    return folder


def data_of(corpus: Path, changes=MIX_THEN_NEWS) -> TranslationData:
    config = tiny_config(corpus, corpus / "run", changes)
    return TranslationData(config, prepare(config))


def test_each_epoch_reads_what_its_stage_says(corpus):
    loader, found = data_of(corpus).loader, []
    for _ in range(4):
        n_batches = len(loader)
        assert len(list(loader)) == n_batches == len(loader.plan)
        found.append(Counter(int(pair) for rows in loader.plan for pair in rows.pairs))
    assert found[0] == found[1] == Counter(range(CRAWL + NEWS))
    assert set(found[2]) == set(found[3]) == set(range(CRAWL, CRAWL + NEWS))
    assert found[2].total() == 150 and set((found[2] + found[3]).values()) == {5}


def test_a_stage_has_its_own_number_of_steps(corpus):
    changes = MIX_THEN_NEWS | {"batch.accumulate": 2, "trainer.max_epochs": 5}
    data = data_of(corpus, changes)
    loader = data_of(corpus, changes).loader
    batches = [[(*batch.src.shape, batch.tgt_in.shape[1]) for batch in loader] for _ in range(5)]
    steps = [-(-len(each) // 2) for each in batches]
    assert steps[0] == steps[1] > steps[2] == steps[3] == steps[4]
    assert data.epochs == Epochs([steps[0], steps[2]], [2])
    assert data.epochs.total_steps(data.config.trainer) == sum(steps)
    assert data.largest in batches[0]
    assert data_of(corpus, changes | {"trainer.max_epochs": 2}).epochs == Epochs([steps[0]], [])


def test_the_largest_batch_may_come_in_a_later_stage(corpus):
    later = data_of(
        corpus, {"data.train": ["crawl", "news"], "data.stages": [{"until_epoch": 1, "weights": {"crawl": 0}}, {}]}
    )
    assert later.largest in later.loader.shapes(1) and later.largest not in later.loader.shapes(0)
    assert later.loader.epoch == 0 and len(later.loader) == len(later.loader.shapes(0))


def test_slots_of_a_stage_that_is_over_leave_memory(corpus):
    loader = data_of(corpus, MIX_THEN_NEWS | {"data.augment.join": 0.2}).loader
    first = loader.stages.of(0)
    for _ in range(3):
        assert list(loader)
    assert loader.stages.of(3) is loader.stages.of(2) and loader.stages.of(0) is not first


def test_an_estimate_measures_each_stage_as_much_as_the_run_trains_on_it(corpus, monkeypatch):
    monkeypatch.setattr(estimates, "MOST_STEPS", 10)
    changes = MIX_THEN_NEWS | {"trainer.max_epochs": 6}
    found = estimate(tiny_config(corpus, corpus / "run", changes))
    mix, news = found.epochs.steps
    assert found.total_steps == 2 * mix + 4 * news
    assert f"{mix} an epoch, {news} from epoch 3 on, {found.total_steps} in all" in found.render()
    steps = estimates._spread(data_of(corpus, changes), 1, found.total_steps)[1:]
    assert sum(epoch == 0 for epoch, _ in steps) == pytest.approx(10 * 2 * mix / found.total_steps, abs=1)
    assert {epoch for epoch, _ in steps} == {0, 2}


@pytest.mark.nightly
def test_good_text_at_the_end_is_better_than_the_same_text_all_along(corpus, tmp_path):
    loss = {}
    changes = {"batch.max_tokens": 300, "trainer.max_epochs": 0, "trainer.max_steps": 36, "data.test": None}
    changes |= {"trainer.val_every_n_steps": 36, "trainer.valid_sentences": 1}
    changes |= {"decoding.beam_size": 1, "trainer.average_last": 0}
    for name, stages in (("mix", None), ("then_news", MIX_THEN_NEWS["data.stages"])):
        train_with(tiny_config(corpus, tmp_path / name, MIX_THEN_NEWS | changes | {"data.stages": stages}))
        (loss[name],) = (e.value for e in RunDirectory(tmp_path / name).metrics() if e.name == "valid/loss")
    assert loss["then_news"] < loss["mix"] - 0.3, loss


def test_later_stages_may_be_planned_anew_and_earlier_ones_not(corpus, tmp_path, own_signals, caplog):
    caplog.set_level(logging.INFO)
    base = {"data.train": ["crawl", "news"], "data.test": None, "batch.max_tokens": 600, "decoding.beam_size": 1}
    train_with(tiny_config(corpus, tmp_path / "parts", base | {"trainer.max_epochs": 1}))
    resume = (f"resume={tmp_path / 'parts'}", "trainer.max_epochs=2")
    refused = train_here(*resume, "data.stages=[{weights: {crawl: 0}}]")
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
    for told in (
        "error: data.stages cannot change what an epoch holds that has begun: crawl has weight 1 in epoch 1",
        f"finetune={tmp_path / 'parts'}",
    ):
        assert told in refused.stderr.splitlines()[-1]
    done = train_here(*resume, "data.stages=[{until_epoch: 1}, {weights: {crawl: 0}}]")
    assert done.returncode == 0, done.stderr
    assert "data.stages: [{'until_epoch': 1}, {'weights': {'crawl': 0}}] from here on, None before" in caplog.text
    assert "trainer.max_epochs=2 ends" not in caplog.text
    stages = {"data.stages": [{"until_epoch": 1}, {"until_epoch": 7, "weights": {"crawl": 0}}, {}]}
    train_with(tiny_config(corpus, tmp_path / "whole", base | stages))
    assert "trainer.max_epochs=2 ends this run before data.stages[2], which begins after epoch 7" in caplog.text
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")
    assert checkpoint(tmp_path / "parts")["position"] == checkpoint(tmp_path / "whole")["position"]
