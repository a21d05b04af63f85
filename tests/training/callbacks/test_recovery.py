import os
import signal
import time
from pathlib import Path

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import ConfigError
from seq2seq.training.callbacks.recovery import STALE_AFTER_S, Recovery
from seq2seq.training.run import claim


def test_only_old_unfinished_files_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    young, old = folder / ".last.ckpt.a.tmp", folder / ".last.ckpt.b.tmp"
    for file in (young, old):
        file.touch()
    long_ago = time.time() - STALE_AFTER_S - 1
    os.utime(old, (long_ago, long_ago))
    before = signal.getsignal(signal.SIGTERM)
    recovery = Recovery(RunDirectory(tmp_path))
    recovery.on_train_start(None, None)  # type: ignore[arg-type]  # neither is looked at
    recovery.on_train_end(None, None)  # type: ignore[arg-type]
    assert young.exists()
    assert not old.exists()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_run_that_died_before_its_first_checkpoint_leaves_its_directory_free(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").touch()
    claim(RunDirectory(tmp_path / "run"))
    (tmp_path / "run" / "checkpoints" / "last.ckpt").touch()
    with pytest.raises(ConfigError, match="holds a run already"):
        claim(RunDirectory(tmp_path / "run"))
