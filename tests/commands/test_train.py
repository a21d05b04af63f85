"""What `train.py` says of itself."""

import re

import pytest

import seq2seq
from seq2seq.commands.train import run
from seq2seq.errors import ConfigError


def test_without_a_word_nothing_is_trained_and_a_start_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r"^say what to train: experiment=demo .* it would be 'default', fr to en on "
    ):
        run([])


def test_help_fits_a_screen_and_its_commands_work(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 35 and max(map(len, text.splitlines())) <= 110
    commands = [re.split(r" {4,}", found)[0].split() for found in re.findall(r"python train\.py (.*)", text)]
    assert any("-m" in words for words in commands) and any("--estimate" in words for words in commands)
    runs = [words for words in commands if not {"-m", "resume=RUN_DIR"} & set(words)]
    assert len(runs) == 4
    for words in runs:
        assert seq2seq.config([word for word in words if not word.startswith(("--estimate", "hours="))]).data.src_lang
