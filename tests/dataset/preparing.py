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
from seq2seq.dataset import executors, store
from seq2seq.dataset.encoding import Encoder
from seq2seq.dataset.prepare import prepare
from seq2seq.exit_status import exit_status
from tests.places import ROOT
from tests.processes import Warm

_PAUSE = "PAUSE"  # the environment variable that names the folder


def config_of(corpus: Path, cache: Path, n_workers: int) -> RunConfig:
    data = DataConfig(dir=str(corpus), cache_dir=str(cache), n_workers=n_workers, drop_duplicates=True)
    return RunConfig(data=data, tokenizer=TokenizerConfig(vocab_size=400, subword_regularization=0.1))


def preparing(corpus: Path, cache: Path, n_workers: int, pause: dict[str, str] | None = None) -> Warm:
    """A process that prepares a corpus; it prints the directory of the training store."""
    words = ["-m", "tests.dataset.preparing", *map(str, (corpus, cache, n_workers))]
    return Warm(words, env=os.environ | {"PYTHONPATH": str(ROOT)} | (pause or {}))


def pausing(folder: Path) -> dict[str, str]:
    """The environment of workers that wait twice, and note it in the folder by a file in the name of their process.

    A worker waits in `folder`/starts until there is a file `begin`, and in `folder`/encodes until there is `go`.
    """
    for name in ("starts", "encodes"):
        (folder / name).mkdir(parents=True)
    (folder / "sitecustomize.py").write_text("from tests.dataset.preparing import pause\npause()\n")
    return {"PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT))), _PAUSE: str(folder)}


def pause() -> None:
    """Do in this worker, which starts, as `pausing` says."""
    folder, encode = Path(os.environ[_PAUSE]), Encoder.__call__

    def wait(where: str, until: str) -> None:
        (folder / where / str(os.getpid())).touch()
        while not (folder / until).exists():
            time.sleep(0.01)

    def paused(encoder, text):
        wait("encodes", "go")
        return encode(encoder, text)

    Encoder.__call__ = paused  # type: ignore[method-assign]
    if "multiprocessing.spawn" in " ".join(sys.orig_argv):
        wait("starts", "begin")


def prepared(process: Warm) -> tuple[Path, str]:
    """Wait for it: the directory that it printed, and what it said."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return Path(out.strip()), err


def content(store: Path) -> dict[str, str]:
    """SHA-256 of each file of a store."""
    return {file.name: file_sha256(file) for file in sorted(store.iterdir())}


def kill_all(processes: Sequence[Warm]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _main() -> None:
    corpus, cache, n_workers = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    executors.FEW, store.BLOCK = 5, 100
    config = config_of(Path(corpus), Path(cache), int(n_workers))
    sys.exit(exit_status(lambda: print(prepare(config).train.directory)))


if __name__ == "__main__":
    _main()
