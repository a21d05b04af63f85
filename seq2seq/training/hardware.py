"""Choose processor and precision for the user, and remove what slows a CPU down."""

import ctypes
import platform
from pathlib import Path

import torch

from seq2seq.config import TrainerConfig
from seq2seq.errors import ConfigError


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


def use_fast_float32() -> None:
    """Let oneDNN do the float32 products where MKL is slow at them and the result is as exact.

    MKL holds back on processors that are not Intel's: on an AMD EPYC oneDNN was 2.4 times as fast. torch 2.13 hands it
    float32 products only when told that bfloat16 would do; without bf16 matrix units (AMX) oneDNN multiplies in
    float32 all the same. Whether it does is tried out, and if not, all is left as it was.
    """
    matmul = getattr(torch.backends.mkldnn, "matmul", None)  # not in older releases
    if matmul is None or not torch.backends.mkldnn.is_available() or _is_intel() or matmul.fp32_precision != "none":
        return
    a, b = torch.randn(256, 512), torch.randn(512, 256)
    exact = (a.double() @ b.double()).float()
    matmul.fp32_precision = "bf16"
    if (a @ b - exact).abs().max() > 1e-4:  # float32 is off by 1e-5, bfloat16 by 0.3
        matmul.fp32_precision = "none"


def _is_intel() -> bool:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            return any("GenuineIntel" in line for line in file)
    except OSError:  # no Linux: leave its products alone
        return True


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory instead of giving it back to the kernel.

    A training step allocates and frees large tensors all the time; by default each is mapped, cleared page by
    page, and unmapped again, which cost a third of a bf16 step (docs/performance.md). The resident size grows by
    about a quarter. Without glibc (macOS, Windows, musl) there is nothing to do.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    m_trim_threshold, m_top_pad, m_mmap_threshold, m_mmap_max = -1, -2, -3, -4
    mallopt(m_mmap_threshold, 1 << 30)
    mallopt(m_trim_threshold, (1 << 31) - 1)
    mallopt(m_top_pad, 256 << 20)
    mallopt(m_mmap_max, 0)
