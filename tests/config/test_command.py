"""Words of a command as a shell hands them on, and what the configuration has of them."""

import argparse
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.cli import front_door
from seq2seq.config import RunConfig, compose
from seq2seq.config.by_hydra import job_of, with_hydra
from seq2seq.config.command import Composed, readable
from seq2seq.config.on_resume import value_of
from seq2seq.errors import ConfigError
from seq2seq.training.composed import checked


def composed(words: list[str]) -> RunConfig:
    found: list[RunConfig] = []
    with_hydra(words, lambda cfg: found.append(checked(job_of(cfg))))
    return found[0]


text = st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("data.dir=/x/été", "/x/été"),
        ("logger.wandb_project=实验", "实验"),
        ("logger.wandb_notes=first try: lr=1e-3 (a & b) #1; it's new!", "first try: lr=1e-3 (a & b) #1; it's new!"),
        ("logger.wandb_notes=[draft] a, b", "[draft] a, b"),
        ("logger.wandb_notes={x: 1}", "{x: 1}"),
        ("name=1e3", "1e3"),
        ("name=true", "true"),
        ("name='in Hydra''s quotes'", None),
        ("name='été'", "été"),
        ("data.dir=C:\\données\\x", "C:\\données\\x"),
        ("data.train=corpus/été.tsv", "corpus/été.tsv"),
        ("data.train=[a.tsv,b.tsv]", ["a.tsv", "b.tsv"]),
        ("data.test=~/corpus/a#b", "~/corpus/a#b"),
        ("data.test={a: b.tsv}", {"a": "b.tsv"}),
        ("optim.lr=2e-3", 2e-3),
    ],
)
def test_a_key_that_is_text_takes_any_text(word: str, value: Any) -> None:
    words = ["experiment=demo", "data.test=null", word]
    if value is None:
        with pytest.raises(ConfigError, match="Hydra cannot read name='in Hydra''s quotes'"):
            composed(words)
        return
    found = value_of(composed(words), word.partition("=")[0])
    assert found == value or [str(each) for each in found] == value


@given(text)
def test_hydra_reads_the_text_that_was_written(value: str) -> None:
    if value[0] in "'\"" or "${" in value or value == "null":
        return  # these are for Hydra
    word = readable(f"logger.wandb_notes={value}", is_sweep=False)
    found = OverridesParser.create().parse_override(word).value()
    assert isinstance(found, str)
    plain = value.replace("\\", "")  # a backslash before some characters is Hydra's own
    assert found in (value, value.strip(" \t")) or ("\\" in value and found.replace("\\", "") in (plain, plain.strip()))


def test_in_a_sweep_commas_part_values() -> None:
    assert readable("name=a,b", is_sweep=True) == "name=a,b"
    assert readable("name=é,it's", is_sweep=True) == "name='é','it\\'s'"
    assert readable("optim.lr=1,2", is_sweep=True) == "optim.lr=1,2"


@pytest.mark.parametrize("word", ["optim.lr=é", "data.test=[été]", "data.train=[été]"])
def test_what_is_no_text_is_refused_with_a_sentence(word: str) -> None:
    with pytest.raises(ConfigError, match=r"^Hydra cannot read .*; in a list or a mapping, put text into quotes"):
        composed(["experiment=demo", word])


def test_a_tilde_is_the_home_of_the_user_in_the_paths_of_runs_and_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    words = ["experiment=demo", "run_dir=~/runs/mine", "resume=~", "finetune=~/x", "teacher=hf:~/x"]
    found: list[Composed] = []
    with_hydra(words, lambda cfg: found.append(job_of(cfg)))
    with compose.composed(words) as job:
        for each in (job, *found):
            values = [each.cfg[key] for key in ("run_dir", "resume", "finetune", "teacher")]
            assert values == ["/home/ann/runs/mine", "/home/ann", "/home/ann/x", "hf:~/x"]


def test_a_word_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^data.dir=donn\\udce9es is not UTF-8; rename it$"):
        composed(["experiment=demo", "data.dir=donn\udce9es"])


def test_a_python_that_reads_the_help_of_each_option_can_train(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Python 3.14 does."""
    container = next(each for each in argparse.ArgumentParser.__mro__ if "add_argument" in vars(each))
    add = vars(container)["add_argument"]

    def add_argument(self: Any, *names: Any, **options: Any) -> Any:
        action = add(self, *names, **options)
        self._check_help(action)
        return action

    monkeypatch.setattr(container, "_check_help", lambda self, action: "%" in (action.help or ""), raising=False)
    monkeypatch.setattr(container, "add_argument", add_argument)
    front_door("train", ["experiment=demo", "--cfg", "job"])
    assert "name: demo" in capsys.readouterr().out
