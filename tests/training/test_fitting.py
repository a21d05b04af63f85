"""`batch.max_tokens=auto`: what fits into memory, and what a run remembers of it."""

import dataclasses
import json
import os
import subprocess
import tempfile
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from seq2seq.config import RunConfig, read_config
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.training import fitting
from seq2seq.training.fitting import MOST_ON_CPU, SPARE, fitting_max_tokens
from seq2seq.training.module import TranslationModule
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine
from tests.processes import CAN_FORK, Warm
from tests.training.short_of_memory import needs_limits
from tests.training.tiny_runs import SignalAt, arguments, checkpoint, command, tiny_config, train_here, train_with
from tests.training.two_ranks import train_together


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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that tries batches has imported torch before."""

    def run(words: list[str], *, input: str, env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(input.encode())
            stdin.seek(0)
            process = Warm(words[1:], env=env, stdin=stdin)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(words, process.wait(), out, err)

    if CAN_FORK:
        monkeypatch.setattr(fitting, "subprocess", SimpleNamespace(run=run))


def found_with(config: RunConfig, room: int, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(fitting, "available_memory", lambda: room)
    return fitting_max_tokens(config, prepare(config).tokenizer, Machine("cpu", "32-true"), Ranks())


@needs_limits
@pytest.mark.usefixtures("quick")
def test_the_largest_number_that_fits_is_found(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 8000, "batch.max_tokens": "auto"})
    small, large = (found_with(config, room, monkeypatch) for room in (50 << 20, 150 << 20))
    assert small < large
    assert is_plausible(small, 50 << 20, config) and is_plausible(large, 150 << 20, config)


def is_plausible(n_tokens: int, room: int, config: RunConfig) -> bool:
    """The heap has holes, other ones each time, so the same number is not found each time."""
    # The input and the output of ReLU, of each source and each target token.
    layers = (config.model.n_encoder_layers + config.model.n_decoder_layers) / 2
    at_most = room / (SPARE * 2 * config.model.d_ff * 4 * layers)
    return at_most / 6 < n_tokens < 2 * at_most


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
@pytest.mark.nightly
def test_neither_freed_memory_nor_a_failure_in_this_process_counts(corpus: Path, tmp_path: Path) -> None:
    """oneDNN compiles nothing more in a process where it once had no memory to compile a product."""
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 8000, "batch.max_tokens": "auto"})
    script = tmp_path / "fitting.py"
    script.write_text(
        "import json, torch\n"
        "from seq2seq.config import read_config\n"
        "from seq2seq.dataset.prepare import prepare\n"
        "from seq2seq.hardware import keep_freed_memory\n"
        "from seq2seq.training import fitting\n"
        "from seq2seq.training.ranks import Ranks\n"
        "from seq2seq.training.trainer import Machine\n"
        f"config = read_config(json.loads({json.dumps(dataclasses.asdict(config))!r}))\n"
        "keep_freed_memory()\n"
        "torch.empty(1 << 31, dtype=torch.uint8)  # the heap keeps it\n"
        "fitting.available_memory = lambda: 200 << 20\n"
        "print(fitting.fitting_max_tokens(config, prepare(config).tokenizer, Machine('cpu', '32-true'), Ranks()))\n"
        "weight = torch.ones(300, 100, dtype=torch.bfloat16)\n"
        "print((torch.ones(77, 100, dtype=torch.bfloat16) @ weight.T).sum().item())\n"
    )
    done = command(script=script)
    assert done.returncode == 0, done.stderr
    n_tokens, total = done.stdout.split()
    assert is_plausible(int(n_tokens), 200 << 20, config)
    assert float(total) == pytest.approx(77 * 300 * 100, rel=0.01)


@pytest.mark.usefixtures("quick")
def test_with_plenty_a_cpu_gets_what_trains_well(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"batch.max_tokens": "auto"})
    assert found_with(config, 1 << 40, monkeypatch) == MOST_ON_CPU


@needs_limits
@pytest.mark.usefixtures("quick")
def test_if_no_sentence_fits_the_run_ends(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(corpus, tmp_path, {"model.d_ff": 100_000, "batch.max_tokens": "auto"})
    with pytest.raises(RunError, match=r"auto: not even one sentence of data.max_sentence_tokens=64 fits"):
        found_with(config, 100 << 20, monkeypatch)


@pytest.mark.parametrize(("status", "found"), [(-9, 96), (1, None)])
def test_a_process_that_is_killed_has_found_what_it_has_told(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, found: int | None
) -> None:
    """The kernel may kill it for what it tries. One that fails has a bug."""
    done = subprocess.CompletedProcess([], status, "66\n96\n", "why")
    monkeypatch.setattr(fitting, "subprocess", SimpleNamespace(run=lambda *_, **__: done))
    config = tiny_config(corpus, tmp_path, {"batch.max_tokens": "auto"})
    if found:
        assert found_with(config, 1 << 40, monkeypatch) == found
    else:
        with pytest.raises(RuntimeError, match=r"trying batch.max_tokens failed:\nwhy"):
            found_with(config, 1 << 40, monkeypatch)


@pytest.mark.usefixtures("quick", "own_signals")
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


# What fits is asked with half of the memory, for two processes.
ROOMS = """
from seq2seq.training import fitting

def found(question, tokenizer):
    return [640, 160][rank] if (question.room, question.world_size) == (500, 2) else 320

fitting.available_memory = lambda: 1000
fitting.WorstBatch.on_train_start = lambda *_: None
fitting._found_in_own_process = found
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="gloo on this system is not tested")
def test_several_processes_take_what_fits_in_all_of_them(corpus: Path, tmp_path: Path) -> None:
    keys = {"batch.max_tokens": "auto", "trainer.max_epochs": 0, "trainer.max_steps": 1, "data.test": "null"}
    done = train_together(tmp_path, *arguments(corpus, tmp_path / "run", keys), before=ROOMS)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("batch.max_tokens=auto is 160 here") == 1
    assert checkpoint(tmp_path / "run")["config"]["batch"]["max_tokens"] == 160
