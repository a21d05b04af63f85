"""`batch.max_tokens=auto`: what fits into memory, and what a run remembers of it."""

import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from seq2seq.config import read_config
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.training import fitting
from seq2seq.training.fitting import fitting_max_tokens
from seq2seq.training.module import TranslationModule
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine
from tests.training.tiny_runs import SignalAt, arguments, checkpoint, tiny_config, train_here, train_with
from tests.training.two_ranks import needs_gloo, train_together


def test_a_number_may_be_written_as_text_and_other_words_are_refused() -> None:
    config = read_config({"batch": {"max_tokens": "512"}, "trainer": {"max_epochs": 1}})
    assert (config.batch.max_tokens, config.batch.is_auto) == (512, False)
    with pytest.raises(ConfigError, match=r"^batch.max_tokens='many' is neither a number nor auto; write one of them$"):
        read_config({"batch": {"max_tokens": "many"}, "trainer": {"max_epochs": 1}})


def test_each_candidate_is_a_third_or_a_quarter_below_the_one_before() -> None:
    assert list(fitting._candidates(8192, 900)) == [8192, 6144, 4096, 3072, 2048, 1536, 1024, 900]
    assert list(fitting._candidates(8192, 9000)) == [9000]


def test_on_a_gpu_the_model_that_was_tried_is_gone_afterwards(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run would have two of them in the memory of its GPU. Here the CPU stands for one."""
    monkeypatch.setattr(fitting, "MOST_ON_GPU", 200)
    config = tiny_config(corpus, tmp_path)
    tokenizer, made = prepare(config).tokenizer, []
    new = fitting.new_module

    def noted(*args: Any) -> TranslationModule:
        module = new(*args)
        made.append(weakref.ref(module))
        return module

    monkeypatch.setattr(fitting, "new_module", noted)
    assert fitting._found_on_device(config, tokenizer, Machine("cpu", "32-true"), Ranks()) == 200
    assert [module() for module in made] == [None]


def test_if_no_sentence_fits_the_run_ends(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_found_on_device", lambda *_: 0)
    config = tiny_config(corpus, tmp_path)
    with pytest.raises(RunError, match=r"auto: not even one sentence of data.max_sentence_tokens=64 fits"):
        fitting_max_tokens(config, prepare(config).tokenizer, Machine("cuda", "32-true"), Ranks())


@pytest.mark.usefixtures("own_signals")
def test_a_run_keeps_the_number_and_goes_on_with_it(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MOST_ON_CPU", 160)
    few = {"trainer.max_epochs": 0, "trainer.max_steps": 4, "data.test": None}
    auto, number = (
        tiny_config(corpus, tmp_path / name, few | {"batch.max_tokens": value})
        for name, value in (("auto", "auto"), ("number", 160))
    )
    train_with(number)
    with pytest.raises(BaseException, match="SIGTERM"):
        train_with(auto, SignalAt(2))
    assert checkpoint(tmp_path / "auto")["config"]["batch"]["max_tokens"] == 160
    assert OmegaConf.load(tmp_path / "auto/config.yaml").batch.max_tokens == 160
    done = train_here(f"resume={tmp_path / 'auto'}", "batch.max_tokens=auto")  # which does not look again
    assert done.returncode == 0, done.stderr
    found, expected = checkpoint(tmp_path / "auto"), checkpoint(tmp_path / "number")
    assert all(torch.equal(found["state_dict"][name], w) for name, w in expected["state_dict"].items())


LARGEST = """
from seq2seq.training import fitting

fitting.MOST_ON_CPU = [640, 160][rank]
"""


@needs_gloo
def test_several_processes_take_what_fits_in_all_of_them(corpus: Path, tmp_path: Path) -> None:
    keys = {"batch.max_tokens": "auto", "trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": "null"}
    done = train_together(tmp_path, *arguments(corpus, tmp_path / "run", keys), before=LARGEST)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("batch.max_tokens=auto is 160 here") == 1
    assert checkpoint(tmp_path / "run")["config"]["batch"]["max_tokens"] == 160
