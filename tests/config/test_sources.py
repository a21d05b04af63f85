import math

import pytest

from seq2seq.config import DataConfig, SourceFiles, SourcePath
from seq2seq.config.sources import parse_sources, parse_tests
from seq2seq.errors import ConfigError


def test_each_form_of_a_source_has_a_type():
    files = {"src": "left.txt", "tgt": "right.txt"}
    assert parse_sources("data.train", ["a/b", files]) == [SourcePath("a/b"), SourceFiles("left.txt", "right.txt")]
    tagged = [{"source": "a.tsv", "tag": "law"}, {"source": files, "tag": 2019}]
    expected = [SourcePath("a.tsv", "law"), SourceFiles("left.txt", "right.txt", "2019")]
    assert parse_sources("data.train", tagged) == expected
    assert parse_sources("data.train", tagged[1]) == expected[1:]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("", []),
        ([], []),
        ("a/news.fr.gz", [("news", [SourcePath("a/news.fr.gz")])]),
        (["x", "y.tsv"], [("x", [SourcePath("x")]), ("y", [SourcePath("y.tsv")])]),
        ({"src": "n.fr", "tgt": "m"}, [("n", [SourceFiles("n.fr", "m")])]),
        ("http://u:p@h/x?token=a/b", [("x", [SourcePath("http://u:p@h/x?token=a/b")])]),
        ({"source": "x", "tag": "t"}, [("x", [SourcePath("x", "t")])]),
        ({"source": "a/x.fr", "augmentation": "typos"}, [("x/typos", [SourcePath("a/x.fr", None, ("typos",))])]),
        (
            ["x", {"source": "x", "tag": "t", "augmentation": ["lower", "typos"]}],
            [("x", [SourcePath("x")]), ("x/lower+typos", [SourcePath("x", "t", ("lower", "typos"))])],
        ),
        (
            {"a": {"source": {"src": "n.fr", "tgt": "m"}, "augmentation": "typos"}},
            [("a", [SourceFiles("n.fr", "m", None, ("typos",))])],
        ),
        ({"source": "x"}, [("source", [SourcePath("x")])]),  # a test set of that name
        ({"a": "x", 2: ["y", "z"]}, [("a", [SourcePath("x")]), ("2", [SourcePath("y"), SourcePath("z")])]),
    ],
)
def test_test_sets_have_names(value, expected):
    assert parse_tests(value) == expected


MALFORMED = [
    "",
    None,
    3,
    {"src": "a"},
    {"src": "a", "tgt": ""},
    {"fr": "a"},
    {"source": "a"},
    {"source": "a", "share": 0.3},
    {"source": ["a"], "tag": "t"},
    {"source": {"source": "a", "tag": "t"}, "tag": "t"},
    {"src": "a", "tgt": "b", "tag": "t"},
]


@pytest.mark.parametrize("value", MALFORMED)
def test_an_entry_of_another_form_is_refused(value):
    message = (
        r"data\.valid: the data source .* \{src: FILE, tgt: FILE\}.* \{source: .*, tag: NAME, augmentation: NAME\}"
    )
    with pytest.raises(ConfigError, match=message):
        parse_sources("data.valid", value)
    with pytest.raises(ConfigError, match=message.replace("valid", r"test\.news")):
        parse_tests({"news": ["x", value]})


def test_an_empty_list_is_refused():
    with pytest.raises(ConfigError, match=r"data\.train: an empty list of sources; name at least one"):
        parse_sources("data.train", [])
    with pytest.raises(ConfigError, match=r"data\.test\.news: an empty list of sources; name at least one"):
        parse_tests({"news": []})


def test_malformed_sources_of_all_splits_are_reported_together():
    data = DataConfig(train=[], valid={"src": "dev.fr", "wrong": 1}, test={"news": 3}, tag_dropout=1.0)
    assert [line.split(":")[0] for line in data.problems()] == [
        "data.tag_dropout=1.0 is not a probability below 1",
        "data.train",
        "data.valid",
        "data.test.news",
    ]


@pytest.mark.parametrize("key", ["data.train", "data.valid"])
def test_only_test_sets_have_augmentations(key):
    message = rf"{key}: augmentation='typos' is for test sets only; to train on such text there is data\.augment"
    with pytest.raises(ConfigError, match=message):
        parse_sources(key, ["x", {"source": "x", "augmentation": "typos"}])


@pytest.mark.parametrize("value", ["", None, [], 3, [3], {"typos": 1}])
def test_a_augmentation_is_a_name_or_a_list_of_names(value):
    with pytest.raises(ConfigError, match=r"data\.test\.a: augmentation=.* is neither a name nor a list of names"):
        parse_tests({"a": {"source": "x", "augmentation": value}})


def test_a_source_of_training_has_a_weight():
    wrapped = ["a", {"source": "a", "weight": 0.5, "tag": "t"}, {"source": {"src": "b", "tgt": "c"}, "weight": 0}]
    assert parse_sources("data.train", wrapped) == [
        SourcePath("a"),
        SourcePath("a", tag="t", weight=0.5),
        SourceFiles("b", "c", weight=0.0),
    ]


@pytest.mark.parametrize("weight", [-1, 1000.5, math.nan, math.inf, "2", None, True, [1]])
def test_a_weight_is_a_number(weight):
    with pytest.raises(ConfigError, match=r"data\.train: weight=.* is not a number from 0 to 1000"):
        parse_sources("data.train", {"source": "a", "weight": weight})


def test_weights_are_for_training_and_not_all_zero():
    with pytest.raises(ConfigError, match=r"data\.valid: weight=2 is for data\.train only"):
        parse_sources("data.valid", {"source": "a", "weight": 2})
    none = DataConfig(train=[{"source": name, "weight": 0} for name in "ab"])
    assert list(none.problems()) == [
        "data.train: every source has weight 0, so an epoch has no pairs; give one a weight > 0"
    ]
