"""Runs that get little memory: their activations take 160 kB a token and layer, their weights almost nothing."""

import sys
from pathlib import Path
from typing import Any

import pytest

needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")

LARGE = {
    "model.d_ff": 20_000,
    "batch.max_tokens": 4096,
    "trainer.max_epochs": 0,
    "trainer.max_steps": 2,
    "trainer.valid_sentences": 2,
    "trainer.average_last": 0,
    "decoding.beam_size": 1,
    "decoding.max_batch_tokens": 64,
}

# `{only}` is the rank that is short of memory, or empty for all.
_SCRIPT = """
import os
import resource
from pathlib import Path

import sacrebleu

import seq2seq.training.run
from seq2seq import hardware
from seq2seq.training import fitting, module
{patch}
from seq2seq.cli import front_door

hardware.keep_freed_memory = lambda: None  # what is freed would count, and its holes fit nothing
hardware.speed_up_cpu()
if os.environ.get("RANK", "0") in "{only}":
    in_use = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (in_use + ({memory} << 20), resource.RLIM_INFINITY))
front_door("train")
"""


def script(folder: Path, memory: int, patch: str = "", only: str = "01") -> Path:
    """A `train.py` that gets so many MiB more than it has after its imports.

    Args:
        patch: a line of Python that is run first.
        only: the ranks that this is true of.
    """
    path = folder / "train.py"
    path.write_text(_SCRIPT.format(memory=memory, patch=patch, only=only))
    return path


def large(**changes: Any) -> dict[str, Any]:
    return LARGE | {key.replace("__", "."): value for key, value in changes.items()}
