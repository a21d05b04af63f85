"""`batch.max_tokens=auto`: what fits into memory, and what a run remembers of it."""

import dataclasses
import json
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from seq2seq.config import RunConfig, read_config
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.training import fitting
from seq2seq.training.fitting import MOST_ON_CPU, fitting_max_tokens
from seq2seq.training.module import TranslationModule
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine
from seq2seq.training.trial import SPARE
from tests.training.short_of_memory import large, needs_limits, script
from tests.training.tiny_runs import SignalAt, arguments, checkpoint, command, tiny_config, train_with


@pytest.mark.parametrize("written", [512, "512"])
def test_a_number_is_a_number_however_it_is_written(written: Any) -> None:
    config = read_config({"batch": {"max_tokens": written}, "trainer": {"max_epochs": 1}})
    assert (config.batch.max_tokens, config.batch.is_auto) == (512, False)


def test_other_words_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^batch.max_tokens='many' is neither a number nor auto; write one of them$"):
        read_config({"batch": {"max_tokens": "many"}, "trainer": {"max_epochs": 1}})


def test_each_candidate_is_a_third_or_a_quarter_below_the_one_before() -> None:
    assert list(fitting._candidates(8192, 900)) == [8192, 6144, 4096, 3072, 2048, 1536, 1024, 900]
    assert list(fitting._candidates(8192, 9000)) == [9000]


def found_with(config: RunConfig, room: int, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(fitting, "available_memory", lambda: room)
    return fitting_max_tokens(config, prepare(config).tokenizer, Machine("cpu", "32-true"), Ranks())


@needs_limits
@pytest.mark.slow
def test_the_largest_number_that_fits_is_found(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 8000, "batch.max_tokens": "auto"})
    small, large = (found_with(config, room, monkeypatch) for room in (100 << 20, 400 << 20))
    assert small < large
    assert is_plausible(small, 100 << 20, config) and is_plausible(large, 400 << 20, config)


def is_plausible(n_tokens: int, room: int, config: RunConfig) -> bool:
    """The heap has holes, other ones each time, so the same number is not found each time."""
    # The input and the output of ReLU, of each source and each target token.
    layers = (config.model.n_encoder_layers + config.model.n_decoder_layers) / 2
    at_most = room / (SPARE * 2 * config.model.d_ff * 4 * layers)
    return at_most / 6 < n_tokens < at_most


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


@needs_limits
@pytest.mark.slow
def test_neither_freed_memory_nor_a_failure_in_this_process_counts(corpus: Path, tmp_path: Path) -> None:
    """oneDNN compiles nothing more in a process where it once had no memory to compile a product."""
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 8000, "batch.max_tokens": "auto"})
    script = (
        "import json, sys, torch\n"
        "from seq2seq.config import read_config\n"
        "from seq2seq.dataset.prepare import prepare\n"
        "from seq2seq.hardware import keep_freed_memory\n"
        "from seq2seq.training import fitting\n"
        "from seq2seq.training.ranks import Ranks\n"
        "from seq2seq.training.trainer import Machine\n"
        "config = read_config(json.load(sys.stdin))\n"
        "keep_freed_memory()\n"
        "torch.empty(1 << 31, dtype=torch.uint8)  # the heap keeps it\n"
        "fitting.available_memory = lambda: 200 << 20\n"
        "print(fitting.fitting_max_tokens(config, prepare(config).tokenizer, Machine('cpu', '32-true'), Ranks()))\n"
        "weight = torch.ones(300, 100, dtype=torch.bfloat16)\n"
        "print((torch.ones(77, 100, dtype=torch.bfloat16) @ weight.T).sum().item())\n"
    )
    asked = json.dumps(dataclasses.asdict(config))
    done = subprocess.run([sys.executable, "-c", script], input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    n_tokens, total = done.stdout.split()
    assert is_plausible(int(n_tokens), 200 << 20, config)
    assert float(total) == pytest.approx(77 * 300 * 100, rel=0.01)


def test_with_plenty_a_cpu_gets_what_trains_well(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"batch.max_tokens": "auto"})
    assert found_with(config, 1 << 40, monkeypatch) == MOST_ON_CPU


@needs_limits
def test_if_no_sentence_fits_the_run_ends(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 100_000, "batch.max_tokens": "auto"})
    with pytest.raises(RunError, match=r"auto: not even one sentence of data.max_sentence_tokens=64 fits"):
        found_with(config, 100 << 20, monkeypatch)


@pytest.mark.slow
def test_a_run_keeps_the_number_and_goes_on_with_it(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MOST_ON_CPU", 160)
    auto, number = (
        tiny_config(corpus, tmp_path / name, {"batch.max_tokens": value})
        for name, value in (("auto", "auto"), ("number", 160))
    )
    train_with(number)
    with pytest.raises(BaseException, match="SIGTERM"):
        train_with(auto, SignalAt(5))
    assert checkpoint(tmp_path / "auto")["config"]["batch"]["max_tokens"] == 160
    assert OmegaConf.load(tmp_path / "auto/config.yaml").batch.max_tokens == 160
    monkeypatch.setattr(fitting, "MOST_ON_CPU", 8192)  # a resumed run does not look again
    done = command(f"resume={tmp_path / 'auto'}", "batch.max_tokens=auto")
    assert done.returncode == 0, done.stderr
    found, expected = checkpoint(tmp_path / "auto"), checkpoint(tmp_path / "number")
    assert all(torch.equal(found["state_dict"][name], w) for name, w in expected["state_dict"].items())


@needs_limits
@pytest.mark.slow
def test_several_processes_take_what_fits_in_all_of_them(corpus: Path, tmp_path: Path) -> None:
    train, patch = tmp_path / "run", "from seq2seq.training import fitting; fitting.MOST_ON_CPU = 2048"
    keys = large(trainer__devices=2, trainer__strategy="ddp", batch__max_tokens="auto", trainer__max_steps=1)
    done = command(
        *arguments(corpus, train, keys), script=script(tmp_path, room=380, patch=patch, only="1"), timeout=240
    )
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("batch.max_tokens=auto is"))
    assert checkpoint(train)["config"]["batch"]["max_tokens"] == int(line.split()[2].replace(",", "")) < 2048
