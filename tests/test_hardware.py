import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from seq2seq import hardware
from seq2seq.config import TrainerConfig
from seq2seq.errors import ConfigError
from seq2seq.hardware import accelerator_of, multiplies_bf16, precision_of


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


@pytest.mark.slow
@pytest.mark.skipif(not multiplies_bf16("cpu"), reason="oneDNN does no bf16 products on this CPU")
@pytest.mark.parametrize(("users_own", "kept"), [({}, 1200), ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024"}, 0)])
def test_a_second_epoch_finds_the_compiled_products_of_the_first(users_own: dict[str, str], kept: int) -> None:
    code = (
        "import torch\n"
        "from seq2seq.hardware import speed_up_cpu\n"
        "speed_up_cpu()\n"
        "weight = torch.ones(32, 32, dtype=torch.bfloat16)\n"
        "for epoch in range(2):\n"
        "    for n_tokens in range(32, 32 + 1200):\n"
        "        torch.ones(n_tokens, 32, dtype=torch.bfloat16) @ weight\n"
    )
    verbose = os.environ | {"ONEDNN_VERBOSE": "profile_create"} | users_own
    log = subprocess.run([sys.executable, "-c", code], check=True, env=verbose, capture_output=True, text=True).stdout
    assert log.count("create:cache_hit") == kept


@pytest.mark.slow
def test_float32_products_stay_float32_wherever_they_are_done():
    code = (
        "import torch\n"
        "from seq2seq.hardware import speed_up_cpu\n"
        "torch.manual_seed(0)\n"
        "a, b = torch.randn(300, 500), torch.randn(500, 200)\n"
        "q, k = torch.randn(8, 30, 64), torch.randn(8, 64, 20)\n"
        "speed_up_cpu()\n"
        "for x, y in ((a, b), (b.T, a.T), (q, k)):\n"
        "    torch.testing.assert_close((x @ y).double(), x.double() @ y.double(), atol=1e-4, rtol=1e-4)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_keeping_freed_memory_changes_no_result():
    code = (
        "import torch\n"
        "from seq2seq.hardware import keep_freed_memory\n"
        "torch.manual_seed(0)\n"
        "x = torch.randn(1500, 1500)\n"
        "before = (x @ x).sum().item()\n"
        "keep_freed_memory()\n"
        "for _ in range(3):\n"
        "    assert (x @ x).sum().item() == before\n"
        "keep_freed_memory()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
