"""glibc's heap, where the tensors of a CPU are: what is freed stays, holes that nobody fills do not.

Without glibc (macOS, Windows, musl) there is nothing to do.
"""

import ctypes
import platform
from typing import Any

import pytorch_lightning as pl

TOP_PAD = 256 << 20  # bytes by which the heap grows, and that stay at its end
BATCHES_BETWEEN_TRIMS = 50


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory instead of giving it back to the kernel.

    A training step allocates and frees large tensors all the time; by default each is mapped, cleared page by
    page, and unmapped again, which cost a third of a bf16 step (docs/performance.md). The resident size grows by
    about a quarter.
    """
    if not _is_glibc():
        return
    mallopt = ctypes.CDLL(None).mallopt
    m_trim_threshold, m_top_pad, m_mmap_threshold, m_mmap_max = -1, -2, -3, -4
    mallopt(m_mmap_threshold, 1 << 30)
    mallopt(m_trim_threshold, (1 << 31) - 1)
    mallopt(m_top_pad, TOP_PAD)
    mallopt(m_mmap_max, 0)


class HeapTrimming(pl.Callback):
    """Gives the holes in the heap back now and then, often enough to be small and too seldom to be felt.

    Tensors of each batch's own size leave holes between compiled products, which live longer; the next batch seldom
    fits them, so in a corpus of many lengths they come to be more than what is in use (docs/performance.md).
    """

    def __init__(self) -> None:
        self.n_batches = 0  # whatever the length of an epoch

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.n_batches += 1
        if self.n_batches % BATCHES_BETWEEN_TRIMS == 0 and _is_glibc():
            ctypes.CDLL(None).malloc_trim(TOP_PAD)


def _is_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"
