"""The section `data.clean`, and `data.drop_overlap`."""

import pytest

from seq2seq.config import CleanConfig, DataConfig
from seq2seq.config.clean import rule_names
from seq2seq.corpus.cleaning.rules import NEAR_DUPLICATE, RULES
from seq2seq.errors import ConfigError


def names(rules):
    return list(CleanConfig(rules=rules).thresholds)


def test_each_rule_has_a_threshold_and_no_other_thing_does():
    assert rule_names() == [*(rule.name for rule in RULES), NEAR_DUPLICATE]


def test_words_stand_for_rules():
    assert names("none") == [] and not CleanConfig().is_on
    assert names("all") == rule_names()
    assert set(rule_names()) - set(names("default")) == {"normal_forms", "near_duplicate"}
    assert names(["letters", "copy"]) == ["copy", "letters"]
    assert names(["default", "near_duplicate", "no_numbers"]) == [
        name for name in rule_names() if name not in ("normal_forms", "numbers")
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rules": ["mojibak"]}, "data.clean.rules: there is no rule 'mojibak'; did you mean mojibake"),
        (
            {"rules": "default", "near_duplicate": 0.9},
            "data.clean.near_duplicate=0.9 does nothing, because the rule is",
        ),
        ({"words": 90.0}, "data.clean.words=90.0 does nothing, because the rule is off; add it to data.clean.rules"),
        ({"rules": "all", "near_duplicate": 0.3}, "data.clean.near_duplicate=0.3 is not a similarity from 0.5 to 1"),
        ({"rules": "all", "copy": -1.0}, "data.clean.copy=-1.0 is below 0.0"),
    ],
)
def test_what_cannot_work_is_reported(changes, problem):
    found = list(DataConfig(clean=CleanConfig(**changes)).problems())
    assert len(found) == 1 and problem in found[0]


def test_an_unknown_rule_is_an_error_where_it_is_used():
    with pytest.raises(ConfigError, match="there is no rule 'x'"):
        names("x")


def test_off_is_off_also_as_yaml_reads_it():
    assert DataConfig(drop_overlap="False").drop_overlap == "off"
    (problem,) = DataConfig(drop_overlap="some").problems()
    assert "data.drop_overlap='some' is not one of off, exact, near" in problem
