"""Choose processor and precision for the user, and remove what slows a CPU down.

Importing this module does not import torch. The functions that need torch import it themselves.
"""

import ctypes
import os
import platform
from pathlib import Path
from typing import Any

from seq2seq.config import TrainerConfig
from seq2seq.errors import ConfigError

TOP_PAD = 256 << 20  # bytes by which the heap grows, and that stay at its end
JEMALLOC_ALL_ARENAS = 4096  # MALLCTL_ARENAS_ALL of its header


def accelerator_of(config: TrainerConfig) -> str:
    """`cpu`, `cuda` or `mps`: what `auto` means on this machine.

    Raises:
        ConfigError: a GPU is asked for and there is none.
    """
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if config.accelerator == "auto":
        return "cuda" if cuda else "mps" if mps else "cpu"
    if (config.accelerator in ("cuda", "gpu") and not cuda) or (config.accelerator == "mps" and not mps):
        raise ConfigError(
            f"trainer.accelerator={config.accelerator}, but torch {torch.__version__} sees no such device; "
            "use trainer.accelerator=auto, or install a torch build for the device"
        )
    return "cuda" if config.accelerator == "gpu" else config.accelerator


def gpu_names(accelerator: str) -> list[str]:
    """The names of the GPUs that this process sees, if it computes on one."""
    if accelerator != "cuda":
        return ["Apple GPU"] if accelerator == "mps" else []
    import torch

    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]


def precision_of(config: TrainerConfig, accelerator: str) -> str:
    """bf16 mixed precision where `auto` finds it multiplied natively, else plain float32."""
    if config.precision != "auto":
        return config.precision
    return "bf16-mixed" if multiplies_bf16(accelerator) else "32-true"


def multiplies_bf16(accelerator: str) -> bool:
    """Whether bf16 products are done in hardware: emulated ones are slower than float32."""
    import torch

    if accelerator == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if accelerator == "cpu" and platform.machine() in ("x86_64", "AMD64"):
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False


def speed_up_cpu() -> None:
    """Make this whole process faster on a CPU. Only the last digits of float32 products change."""
    keep_freed_memory()
    keep_compiled_products()
    multiply_float32_in_onednn()


def speed_up_gpu() -> None:
    """Keep this whole process from cuDNN's attention, which compiles each shape that it meets for the first time.

    Text has many shapes, and a search has another one at each step. On an H100, training on Multi30k was 6.5 times as
    fast without it, and translation more than twice as fast (docs/performance.md). Flash attention and torch's
    memory-efficient kernel take its place.
    """
    import torch

    torch.backends.cuda.enable_cudnn_sdp(False)


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory instead of giving it back to the kernel.

    A training step allocates and frees large tensors all the time. By default each one is mapped, cleared page by
    page, and unmapped again, which cost a third of a bf16 step (docs/performance.md). The resident size grows by
    about a quarter. Without glibc (macOS, musl) there is nothing to do.
    """
    if not _is_glibc():
        return
    mallopt = ctypes.CDLL(None).mallopt
    m_trim_threshold, m_top_pad, m_mmap_threshold, m_mmap_max = -1, -2, -3, -4
    mallopt(m_mmap_threshold, 1 << 30)
    mallopt(m_trim_threshold, (1 << 31) - 1)
    mallopt(m_top_pad, TOP_PAD)
    mallopt(m_mmap_max, 0)


def give_back_holes() -> None:
    """Ask for the holes in the heap to go back to the kernel, but not the free memory at its end."""
    _trim(TOP_PAD)


def give_back_freed_memory() -> None:
    """Ask for all that was freed to go back to the kernel, so that oneDNN's compiler can have it, for example."""
    _trim(0)


def _trim(n_kept: int) -> None:
    """Give free memory back, but for as many bytes at the end of glibc's heap."""
    if not _is_glibc():
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallctl"):  # jemalloc was loaded before glibc; its memory has no end
        library.mallctl(b"arena.%d.purge" % JEMALLOC_ALL_ARENAS, None, None, None, ctypes.c_size_t(0))
    else:
        library.malloc_trim(n_kept)


def keep_compiled_products() -> None:
    """Ask oneDNN to keep the machine code for the shapes of an epoch. Call it before the first product.

    oneDNN compiles each product for its shape, which takes milliseconds. An epoch of Multi30k has thousands of shapes,
    and the next epoch has them in another order. By default oneDNN keeps 1,024 of them, and hardly any is still there
    when its shape comes again (docs/performance.md).
    """
    if "DNNL_PRIMITIVE_CACHE_CAPACITY" not in os.environ:
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")


def multiply_float32_in_onednn() -> None:
    """On AMD's CPUs, let oneDNN do float32 products in place of MKL, which is half as fast there (docs/performance.md).

    The switch allows products in bf16, but oneDNN uses bf16 only on CPUs with AMX, and AMD's have none. One product is
    tried, and if it was rounded to bf16, the switch goes back: results stay float32. This acts on the whole process.
    """
    if not _is_amd():
        return
    import torch

    matmul: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    a, b = torch.linspace(-1, 1, 64 * 64).view(64, 64), torch.linspace(1, 2, 64 * 64).view(64, 64)
    if (a @ b - (a.double() @ b.double())).abs().max() > 1e-3:  # bf16 is 0.1 off, float32 less than 1e-5
        matmul.fp32_precision = before


def _is_amd() -> bool:
    cpu_info = Path("/proc/cpuinfo")  # of Linux; elsewhere torch has other libraries
    return cpu_info.is_file() and "AuthenticAMD" in cpu_info.read_text(encoding="utf-8", errors="replace")


def _is_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"
