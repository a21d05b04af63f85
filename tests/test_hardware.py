import os
import platform
import sys
from pathlib import Path

import pytest
import torch

from seq2seq import hardware
from seq2seq.config import TrainerConfig
from seq2seq.errors import ConfigError
from seq2seq.hardware import accelerator_of, multiplies_bf16, precision_of
from seq2seq.training.trainer import set_up_machine
from tests.places import ROOT
from tests.training.tiny_runs import command


@pytest.fixture
def cuda(monkeypatch):
    """Say whether there is a GPU."""

    def there_is(present, bf16=True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: bf16)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)

    return there_is


@pytest.mark.parametrize(("asked", "found"), [("auto", "cuda"), ("gpu", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")])
def test_a_gpu_is_used_where_there_is_one(cuda, asked, found):
    cuda(True)
    assert accelerator_of(TrainerConfig(accelerator=asked)) == found


@pytest.mark.parametrize("asked", ["gpu", "cuda", "mps"])
def test_a_gpu_that_is_asked_for_and_missing_is_an_error(cuda, asked):
    cuda(False)
    assert accelerator_of(TrainerConfig()) == "cpu"
    with pytest.raises(ConfigError, match=f"trainer.accelerator={asked}, but torch .* sees no such device; use"):
        accelerator_of(TrainerConfig(accelerator=asked))


def test_a_gpu_computes_attention_without_cudnn_which_compiles_each_shape(cuda):
    """Training on text was 6.5 times as fast without it, on an H100."""
    cuda(True)
    assert torch.backends.cuda.cudnn_sdp_enabled()
    try:
        set_up_machine(TrainerConfig(accelerator="cuda"))
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)


def test_precision_is_what_is_asked_for_or_what_the_hardware_multiplies(cuda, monkeypatch):
    assert precision_of(TrainerConfig(precision="64-true"), "cpu") == "64-true"
    for bf16, expected in ((True, "bf16-mixed"), (False, "32-true")):
        cuda(True, bf16)
        assert precision_of(TrainerConfig(), "cuda") == expected
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda bf16=bf16: bf16)
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
        assert precision_of(TrainerConfig(), "cpu") == expected
    assert precision_of(TrainerConfig(), "mps") == "32-true"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/cpuinfo")
def test_this_cpu_is_judged_by_its_flags():
    flags = Path("/proc/cpuinfo").read_text().split()
    assert multiplies_bf16("cpu") == bool({"avx512_bf16", "amx_tile"} & set(flags))


OF_WHOLE_PROCESS = """
import sys
import torch
from seq2seq.hardware import keep_compiled_products, keep_freed_memory, multiplies_bf16, speed_up_cpu

torch.manual_seed(0)
keep_compiled_products()
x = torch.randn(700, 700)
before = (x @ x).sum().item()
keep_freed_memory()
assert [(x @ x).sum().item() for _ in range(3)] == [before] * 3
speed_up_cpu()
a, b = torch.randn(300, 500), torch.randn(500, 200)
q, k = torch.randn(8, 30, 64), torch.randn(8, 64, 20)
for x, y in ((a, b), (b.T, a.T), (q, k)):
    torch.testing.assert_close((x @ y).double(), x.double() @ y.double(), atol=1e-4, rtol=1e-4)
if multiplies_bf16("cpu"):
    weight = torch.ones(32, 32, dtype=torch.bfloat16)
    for epoch in range(2):
        print("epoch", epoch, flush=True)
        for n_tokens in range(32, 32 + 1100):  # more than oneDNN keeps by itself
            torch.ones(n_tokens, 32, dtype=torch.bfloat16) @ weight
"""


CAPACITIES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY")


@pytest.fixture
def _no_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CAPACITIES:
        monkeypatch.setenv(name, "")  # it comes back as it was
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("_no_capacity")
def test_what_speeds_a_process_up_changes_no_result_and_keeps_compiled_products(tmp_path: Path) -> None:
    script = tmp_path / "whole_process.py"
    script.write_text(OF_WHOLE_PROCESS)
    done = command(script=script, env={"ONEDNN_VERBOSE": "profile_create", "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    if multiplies_bf16("cpu"):
        first, second = done.stdout.partition("epoch 0")[2].split("epoch 1")
        assert (first.count("create:cache_hit"), second.count("create:cache_hit")) == (0, 1100)


@pytest.mark.usefixtures("_no_capacity")
@pytest.mark.parametrize("name", CAPACITIES)
def test_a_number_of_compiled_products_that_the_user_chose_is_kept(name: str) -> None:
    os.environ[name] = "1024"
    hardware.keep_compiled_products()
    assert [os.environ[each] for each in CAPACITIES if each in os.environ] == ["1024"]


def test_onednn_is_left_alone_where_it_would_round_to_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = type("Setting", (), {"fp32_precision": "none"})()
    monkeypatch.setattr(torch.backends.mkldnn, "matmul", setting)
    monkeypatch.setattr(hardware, "_is_amd", lambda: False)
    hardware.multiply_float32_in_onednn()
    assert setting.fp32_precision == "none"
    monkeypatch.setattr(hardware, "_is_amd", lambda: True)
    hardware.multiply_float32_in_onednn()
    assert setting.fp32_precision == "bf16"  # the product that is tried, in MKL here, is exact
    product = torch.Tensor.__matmul__

    def rounded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        is_float32 = a.dtype == torch.float32
        return product(a.bfloat16(), b.bfloat16()).float() if is_float32 else product(a, b)

    setting.fp32_precision = "none"
    monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)
    hardware.multiply_float32_in_onednn()
    assert setting.fp32_precision == "none"
