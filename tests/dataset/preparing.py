"""Preparation in a process of its own, as large text is prepared: in blocks of few pairs, by several processes."""

import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.corpus.hashes import file_sha256
from seq2seq.dataset import prepare as prepare_module
from seq2seq.dataset.block_work import BlockWork
from seq2seq.exit_status import exit_status
from tests.places import ROOT
from tests.processes import Warm

_PAUSE = "PAUSE_AT_BLOCK"


def config_of(corpus: Path, cache: Path, n_workers: int) -> RunConfig:
    data = DataConfig(dir=str(corpus), cache_dir=str(cache), n_workers=n_workers, drop_duplicates=True)
    return RunConfig(data=data, tokenizer=TokenizerConfig(vocab_size=400, subword_regularization=0.1))


def preparing(corpus: Path, cache: Path, n_workers: int, block: int = 100, pause: dict[str, str] | None = None) -> Warm:
    """A process that prepares a corpus; it prints the directory of the training store."""
    words = ["-m", "tests.dataset.preparing", *map(str, (corpus, cache, n_workers, block))]
    return Warm(words, env=os.environ | {"PYTHONPATH": str(ROOT)} | (pause or {}))


def pausing(folder: Path, block: int) -> dict[str, str]:
    """The environment of processes that make no block from this one on until there is a file `folder`/go."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text("from tests.dataset.preparing import pause\npause()\n")
    path = os.pathsep.join(map(str, (folder, ROOT)))
    return {"PYTHONPATH": path, _PAUSE: str(block), "PAUSE_UNTIL": str(folder / "go")}


def pause() -> None:
    """Do in this process as `pausing` says."""
    make, first, go = BlockWork._make, int(os.environ[_PAUSE]), Path(os.environ["PAUSE_UNTIL"])

    def paused(work, reader, number, k):
        while k >= first and not go.exists():
            time.sleep(0.01)
        return make(work, reader, number, k)

    BlockWork._make = paused  # type: ignore[method-assign]


def prepared(process: Warm) -> tuple[Path, str]:
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


def kill_all(processes: Sequence[Warm]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _main() -> None:
    corpus, cache, n_workers, block = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    vars(prepare_module).update(LARGE=500, BLOCK=int(block))
    if _PAUSE in os.environ:
        pause()
    config = config_of(Path(corpus), Path(cache), int(n_workers))
    sys.exit(exit_status(lambda: print(prepare_module.prepare(config).train.directory)))


if __name__ == "__main__":
    _main()
