"""Preparation in a process of its own, as large text is prepared: in blocks of few pairs, by several processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from seq2seq.corpus.hashes import file_sha256
from tests.places import ROOT

_SCRIPT = """
import logging, sys
from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.dataset import prepare as module
from seq2seq.exit_status import exit_status

corpus, cache, n_workers, block = sys.argv[1:]
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
module.LARGE, module.BLOCK = 1_000, int(block)
data = DataConfig(dir=corpus, cache_dir=cache, n_workers=int(n_workers), drop_duplicates=True)
config = RunConfig(data=data, tokenizer=TokenizerConfig(vocab_size=400, subword_regularization=0.1))
sys.exit(exit_status(lambda: print(module.prepare(config).train.directory)))
"""


def preparing(corpus: Path, cache: Path, n_workers: int, block: int = 100) -> "subprocess.Popen[str]":
    """A process that prepares a corpus; it prints the directory of the training store."""
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, *map(str, (corpus, cache, n_workers, block))],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def prepared(process: "subprocess.Popen[str]") -> tuple[Path, str]:
    """Wait for it: the directory that it printed, and what it said."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return Path(out.strip()), err


def content(store: Path) -> dict[str, str]:
    """SHA-256 of each file of a store."""
    return {file.name: file_sha256(file) for file in sorted(store.iterdir())}


def blocks(cache: Path) -> list[Path]:
    """The blocks that are there."""
    return sorted((cache / "stores").glob("*.blocks/*.block"))


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"


def until(is_so: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.01)


def kill_all(processes: Sequence["subprocess.Popen[str]"]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
