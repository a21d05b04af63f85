"""Which engine a model gets, and how it is laid out on the machine."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config.checks import MOST_AT_ONCE
from seq2seq.errors import ConfigError, TranslationError
from seq2seq.translation.engines import Engine
from seq2seq.translation.engines import load as loading
from seq2seq.translation.engines.load import MOST_THREADS, load_engine
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.workers import Workers
from seq2seq.translation.options import EngineOptions
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES

CPU: dict[str, Any] = {"device": "cpu", "precision": "float32"}


@pytest.fixture(autouse=True)
def ample_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "available_memory", lambda: 10**12)


@pytest.fixture(scope="module")
def model(random_run: Path) -> TrainedModel:
    return TrainedModel.read(random_run)


def torch_engine(engine: Engine) -> PyTorchEngine:
    assert isinstance(engine, PyTorchEngine)
    return engine


@pytest.mark.parametrize(
    ("threads", "workers", "as_threads", "as_processes"),
    [
        (1, 0, (1, 1, False), (1, 1, False)),  # nothing to share out
        (3, 0, (3, 1, False), (3, 1, True)),
        (9, 0, (MOST_THREADS, 9 // MOST_THREADS, False), (9, 1, True)),
        (6, 2, (2, 3, False), (2, 3, False)),  # a forked process cannot have threads of its own
        (3, 2, (2, 1, False), (2, 1, True)),
        (2, 3, (3, 1, False), (3, 1, True)),
        (7, 1, (1, 7, False), (1, 7, False)),
    ],
)
def test_threads_are_shared_out_to_workers(
    model: TrainedModel,
    threads: int,
    workers: int,
    as_threads: tuple[int, int, bool],
    as_processes: tuple[int, int, bool],
) -> None:
    for forks, expected in ((False, as_threads), *([(True, as_processes)] if loading.CAN_FORK else [])):
        engine = torch_engine(load_engine([model], EngineOptions(threads=threads, workers=workers, forks=forks, **CPU)))
        assert (engine.n_workers, engine.threads_per_worker, engine.forks) == expected


@pytest.mark.parametrize("option", ["threads", "workers"])
def test_more_threads_or_workers_than_any_machine_has_are_refused(model: TrainedModel, option: str) -> None:
    options: dict[str, Any] = {option: MOST_AT_ONCE + 1, **CPU}
    with pytest.raises(ConfigError, match=rf"{option}=1025 is more than 1024; give as many as this machine has cores"):
        load_engine([model], EngineOptions(**options))


def test_threads_are_as_many_as_cores_by_default(model: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "n_cores", lambda: 12)
    engine = torch_engine(load_engine([model], EngineOptions(**CPU)))
    assert (engine.n_workers, engine.threads_per_worker) == (4, 3)


@pytest.mark.skipif(not loading.CAN_FORK, reason="workers are forked on Linux only")
def test_workers_are_no_more_than_fit_into_memory(model: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    available: list[int | None] = []
    monkeypatch.setattr(loading, "available_memory", lambda: available[0])

    def layout(**options: Any) -> tuple[int, int, bool]:
        engine = torch_engine(load_engine([model], EngineOptions(threads=8, **CPU, **options)))
        return engine.n_workers, engine.threads_per_worker, engine.forks

    per_worker = (350 << 20) + 8192 * 4 * (2.5 * 320 + 2.5 * 32 * 3)  # pieces; d_model and layers
    weights = 2 * sum(weight.nbytes for weight in model.weights.values())
    for n_fitting, expected in ((3.01, 3), (2.99, 2), (12, 8), (0.5, 1)):
        available[:] = [int(n_fitting * per_worker + weights)]
        assert layout(forks=True)[0] == expected
        assert layout()[0] == min(expected, MOST_THREADS)
    available[:] = [int(3.01 * per_worker + weights)]
    assert layout(forks=True) == (3, 1, True)  # and not two threads each
    assert layout(forks=True, workers=5)[0] == 5  # as asked for
    assert layout(forks=True, max_batch_tokens=100_000)[0] < 3
    available[:] = [None]
    assert layout(forks=True)[0] == 8


@pytest.mark.parametrize(
    "forks", [False, pytest.param(True, marks=pytest.mark.skipif(not loading.CAN_FORK, reason="Linux"))]
)
def test_a_program_keeps_its_threads_and_its_random_numbers(model: TrainedModel, forks: bool) -> None:
    before, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(3)
    try:
        translator = Translator([model], load_engine([model], EngineOptions(threads=2, forks=forks, **CPU)))
        assert torch_engine(translator.engine).forks == forks
        assert torch.get_num_threads() == 3
        translator.translate(SENTENCES)
        assert torch.get_num_threads() == 3
        assert torch.equal(torch.get_rng_state(), state)
        with ThreadPoolExecutor(1) as pool:  # a thread that has never used torch
            assert pool.submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(before)


def threads_of_torch(engine: Engine, items: list[float]) -> list[int]:
    time.sleep(items[0])
    return [torch.get_num_threads()]


def test_each_worker_has_its_own_number_of_threads(model: TrainedModel) -> None:
    engine = load_engine([model], EngineOptions(threads=6, workers=2, **CPU))
    with closing(Workers(engine)) as workers:
        tasks = [workers.submit(threads_of_torch, [0.1]) for _ in range(4)]
        assert [task.result() for task in tasks] == [[3]] * 4


def test_auto_chooses_bfloat16_only_where_it_is_multiplied(
    model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for in_hardware, expected in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(loading, "multiplies_bf16", lambda device, found=in_hardware: found)
        assert load_engine([model], EngineOptions(device="cpu")).precision == expected
        assert load_engine([model], EngineOptions(device="cpu", precision="float32")).precision == "float32"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "steam"}, "engine='steam' is not one of auto, torch, ctranslate2"),
        ({"device": "abacus"}, "no device 'abacus' here; use auto or cpu"),
        ({"device": ""}, "no device '' here"),
        ({"precision": "int8"}, "others need --engine ctranslate2"),
    ],
)
def test_what_does_not_exist_is_refused(model: TrainedModel, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TranslationError, match=message):
        load_engine([model], EngineOptions(**options))


def test_a_gpu_that_is_not_there_is_refused(model: TrainedModel) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(TranslationError, match="no device 'cuda' here"):
        load_engine([model], EngineOptions(device="cuda"))
    assert torch_engine(load_engine([model], EngineOptions(precision="float32"))).device.type == "cpu"


def test_several_devices_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"device='cuda:0,cuda:1' names several devices, .*; start a process for each"
    ):
        EngineOptions(device="cuda:0,cuda:1")


def test_attention_is_soft_or_hard(model: TrainedModel) -> None:
    for name, is_hard in (("", False), ("soft", False), ("hard", True)):
        engine = torch_engine(load_engine([model], EngineOptions(attention=name, **CPU)))
        assert engine.models[0].config.hard_attention == is_hard
    with pytest.raises(TranslationError, match="attention='firm' is not one of soft, hard"):
        load_engine([model], EngineOptions(attention="firm", **CPU))


def test_torch_needs_no_ctranslate2(model: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert torch_engine(load_engine([model], EngineOptions(**CPU)))
