"""How much of an epoch a source has, and how that changes: what a configuration may say, and what it is told."""

import math

import pytest

from seq2seq.config import DataConfig, SourcePath
from seq2seq.config.doses import Dose
from seq2seq.config.sources import parse_sources
from seq2seq.config.stages import Stage, changes, ends_of, stage_of

TRAIN = ["crawl", {"source": "corpus/news.tsv", "weight": 2}, {"source": "x", "tag": "law", "name": "old law"}]


def data(stages=None, train=TRAIN, **others):
    return DataConfig(train=train, stages=stages, **others)


def test_a_source_says_how_much_of_an_epoch_it_has():
    wrapped = [
        {"source": "a", "weight": 0.5},
        {"source": "a", "share": 0.3, "tag": "t"},
        {"source": {"src": "b.fr", "tgt": "c.en"}, "name": 7},
        {"source": "a/b.tsv.gz", "weight": 0},
        "c",
    ]
    found = parse_sources("data.train", wrapped)
    assert found[0] == SourcePath("a", dose=Dose(weight=0.5))
    assert [source.dose for source in found[1:]] == [Dose(share=0.3), Dose(), Dose(weight=0), Dose()]
    assert [source.called for source in found] == ["a", "t", "7", "b", "c"]


def test_without_stages_all_of_a_run_is_one():
    assert data().curriculum == data([]).curriculum == [Stage(None, (Dose(), Dose(2), Dose()))]
    assert ends_of(data().curriculum) == []


def test_a_stage_changes_what_it_names():
    stages = data([{"until_epoch": 3}, {"until_epoch": 4, "weights": {"crawl": 0}}, {"shares": {"old law": 0.25}}])
    first, second, third = stages.curriculum
    assert first == Stage(3, (Dose(), Dose(2), Dose()))
    assert second == Stage(4, (Dose(0), Dose(2), Dose()))
    assert third == Stage(None, (Dose(), Dose(2), Dose(share=0.25)))
    assert [stage_of(stages.curriculum, epoch) for epoch in (0, 2, 3, 4, 99)] == [first, first, second, third, third]


def test_what_a_new_curriculum_changes_is_told_epoch_by_epoch():
    before = data([{"until_epoch": 2}, {"weights": {"crawl": 0}}])
    longer = data([{"until_epoch": 3}, {"weights": {"crawl": 0}}])
    split = data([{"until_epoch": 1, "weights": {"news": 2}}, {"until_epoch": 2}, {"weights": {"crawl": 0}}])

    def found(after, n_epochs):
        return list(changes(before.train_sources, before.curriculum, after.curriculum, n_epochs))

    assert found(longer, 2) == found(split, 9) == []
    assert found(longer, 9) == ["crawl has weight 0 in epoch 3, not weight 1"]
    assert found(data([{"shares": {"news": 0.5}}]), 1) == ["news has weight 2 in epoch 1, not share 0.5"]


NUMBERS = "is not a number from 0 to 1000"
SHARES = "is not between 0 and 1; give a part of an epoch, or weight: 0 for none"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"weight": -1}, f"data.train: weight=-1 {NUMBERS}"),
        ({"weight": math.nan}, f"data.train: weight=nan {NUMBERS}"),
        ({"weight": math.inf}, f"data.train: weight=inf {NUMBERS}"),
        ({"weight": 1001}, f"data.train: weight=1001 {NUMBERS}"),
        ({"weight": "2"}, f"data.train: weight='2' {NUMBERS}"),
        ({"weight": True}, f"data.train: weight=True {NUMBERS}"),
        ({"weight": None}, f"data.train: weight=None {NUMBERS}"),
        ({"share": 0}, f"data.train: share=0 {SHARES}"),
        ({"share": 1.0}, f"data.train: share=1.0 {SHARES}"),
        ({"share": math.nan}, f"data.train: share=nan {SHARES}"),
        ({"share": 0.2, "weight": 1}, "data.train: 'b' has a weight and a share; choose one"),
        (
            {"share": 0.995},
            "data.train: the shares add up to 0.995; leave at least 0.01 of an epoch to sources without",
        ),
        ({"name": ""}, "data.train: the name of 'b' is empty; give one, or leave it out"),
        ({"wieght": 2}, "data.train: the data source {'source': 'b', 'wieght': 2} is not of the form"),
    ],
)
def test_a_dose_that_cannot_be_meant_is_refused(source, message):
    (line,) = data(train=["a", {"source": "b"} | source]).problems()
    assert line.startswith(message)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([{"source": "a", "weight": 0}], "data.train: every source has weight 0, so an epoch has no pairs; give one"),
        (
            [{"source": "a", "share": 0.5}, {"source": "b", "weight": 0}],
            "data.train: no source fills the rest of an epoch; give one a weight > 0 and no share",
        ),
        ([{"source": "a", "share": 0.5}, {"source": "b", "share": 0.5}], "data.train: the shares add up to 1; leave"),
    ],
)
def test_doses_that_make_no_epoch_are_refused(train, message):
    (line,) = data(train=train).problems()
    assert line.startswith(message)
    assert not list(data([{"weights": {"a": 1}}], train=[*train, {"source": "c", "weight": 0}]).problems())


@pytest.mark.parametrize("key", ["valid", "test"])
def test_doses_and_names_are_for_training_only(key):
    for extra in ({"weight": 2}, {"share": 0.5}, {"name": "n"}):
        (name,) = extra
        (line,) = data(**{key: {"source": "b"} | extra}).problems()
        assert line == f"data.{key}: {name}={extra[name]!r} is for data.train only; leave it out"


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("x", "data.stages='x' is not a list such as [{until_epoch: 4}, {weights: {NAME: 0}}]"),
        ({"until_epoch": 4}, "data.stages={'until_epoch': 4} is not a list such as"),
        (["x"], "data.stages[0]: 'x' is not of the form {until_epoch: N, weights: {NAME: W}, shares: ...}"),
        ([{"weight": {"crawl": 0}}], "data.stages[0]: {'weight': {'crawl': 0}} is not of the form"),
        ([{"weights": ["crawl"]}], "data.stages[0].weights=['crawl'] is not of the form {NAME: NUMBER}"),
        (
            [{"until_epoch": 3}],
            "data.stages[0]: the last stage lasts until the end of the run; leave until_epoch=3 out",
        ),
        ([{}, {}], "data.stages[0]: until_epoch=None is not a whole number, 1 or more"),
        ([{"until_epoch": 0}, {}], "data.stages[0]: until_epoch=0 is not a whole number, 1 or more"),
        ([{"until_epoch": 2.5}, {}], "data.stages[0]: until_epoch=2.5 is not a whole number, 1 or more"),
        ([{"until_epoch": True}, {}], "data.stages[0]: until_epoch=True is not a whole number, 1 or more"),
        (
            [{"until_epoch": 4}, {"until_epoch": 4}, {}],
            "data.stages[1]: until_epoch=4 is not above 4, where the stage before it ends",
        ),
        (
            [{"weights": {"law": 2}}],
            "data.stages[0].weights: no source of data.train is called 'law'; there are crawl, news, old law",
        ),
        (
            [{"weights": {"news": 2}, "shares": {"news": 0.1}}],
            "data.stages[0]: 'news' has a weight and a share; choose",
        ),
        ([{"weights": {"news": -2}}], f"data.stages[0].weights.news=-2 {NUMBERS}"),
        ([{"shares": {"news": 2}}], f"data.stages[0].shares.news=2 {SHARES}"),
        (
            [{"weights": dict.fromkeys(["crawl", "news", "old law"], 0)}],
            "data.stages[0]: every source has weight 0, so an epoch has no pairs",
        ),
        ([{"shares": {"crawl": 0.6, "news": 0.4}}], "data.stages[0]: the shares add up to 1; leave at least 0.01"),
    ],
)
def test_a_stage_that_cannot_be_meant_is_refused(stages, message):
    (line,) = data(stages).problems()
    assert line.startswith(message)


def test_a_name_of_two_sources_is_refused_where_it_is_used():
    train = [{"source": "a", "tag": "law"}, {"source": "b", "tag": "law"}]
    assert not list(data([{}], train=train).problems())
    (line,) = data([{"weights": {"law": 2}}], train=train).problems()
    assert line == "data.stages[0].weights: several sources of data.train are called 'law'; give each a name"


def test_the_problems_of_all_stages_are_reported_together():
    (lines,) = data([{"until_epoch": 0}, {"weights": {"news": -1}}]).problems()
    first, second = lines.splitlines()
    assert first.startswith("data.stages[0]: until_epoch=0") and second.startswith("data.stages[1].weights.news=-1")
