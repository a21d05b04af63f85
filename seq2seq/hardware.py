"""Choose processor and precision for the user, and remove what slows a CPU down."""

import os
import platform
from pathlib import Path
from typing import Any

import torch

from seq2seq.config import TrainerConfig
from seq2seq.errors import ConfigError
from seq2seq.training.callbacks.heap import keep_freed_memory


def accelerator_of(config: TrainerConfig) -> str:
    """`cpu`, `cuda` or `mps`: what `auto` means on this machine.

    Raises:
        ConfigError: a GPU is asked for and there is none.
    """
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if config.accelerator == "auto":
        return "cuda" if cuda else "mps" if mps else "cpu"
    if (config.accelerator in ("cuda", "gpu") and not cuda) or (config.accelerator == "mps" and not mps):
        raise ConfigError(
            f"trainer.accelerator={config.accelerator}, but torch {torch.__version__} sees no such device; "
            "use trainer.accelerator=auto, or install a torch build for the device"
        )
    return "cuda" if config.accelerator == "gpu" else config.accelerator


def precision_of(config: TrainerConfig, accelerator: str) -> str:
    """bf16 mixed precision where `auto` finds it multiplied natively, else plain float32."""
    if config.precision != "auto":
        return config.precision
    return "bf16-mixed" if multiplies_bf16(accelerator) else "32-true"


def multiplies_bf16(accelerator: str) -> bool:
    """Whether bf16 products are done in hardware: emulated ones are slower than float32."""
    if accelerator == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if accelerator == "cpu" and platform.machine() in ("x86_64", "AMD64"):
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False


def speed_up_cpu() -> None:
    """What makes this whole process faster on a CPU, and changes nothing but the last digits of float32 products."""
    keep_freed_memory()
    keep_compiled_products()
    multiply_float32_in_onednn()


def keep_compiled_products() -> None:
    """Ask oneDNN, before its first product, to keep the machine code for the shapes of an epoch.

    It compiles each product for its shape, for milliseconds, and an epoch of Multi30k has thousands of shapes, which
    come in another order the next time: of the 1,024 that oneDNN keeps by default hardly any is still there when it
    comes again (docs/performance.md). One takes up to 0.3 MB.
    """
    if "DNNL_PRIMITIVE_CACHE_CAPACITY" not in os.environ:
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")


def multiply_float32_in_onednn() -> None:
    """On AMD's CPUs, let oneDNN do float32 products in place of MKL, which is half as fast there (docs/performance.md).

    The switch allows products in bf16, of which oneDNN makes use on CPUs with AMX alone: AMD has none, and a product is
    tried, so that results stay float32. Process-wide.
    """
    if not _is_amd():
        return
    matmul: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    a, b = torch.linspace(-1, 1, 64 * 64).view(64, 64), torch.linspace(1, 2, 64 * 64).view(64, 64)
    if (a @ b - (a.double() @ b.double())).abs().max() > 1e-3:  # bf16 is 0.1 off, float32 less than 1e-5
        matmul.fp32_precision = before


def _is_amd() -> bool:
    cpu_info = Path("/proc/cpuinfo")  # of Linux; elsewhere torch has other libraries
    return cpu_info.is_file() and "AuthenticAMD" in cpu_info.read_text(encoding="utf-8", errors="replace")
