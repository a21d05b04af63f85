import os
import pickle
import stat
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.checkpoint import (
    atomic_write,
    bytes_to_tensor,
    find_model,
    read_checkpoint,
    resumable,
    tensor_to_bytes,
    write_checkpoint,
)
from seq2seq.errors import CheckpointError

CONTENT = {"config": {"seed": 3}, "tokenizer": bytes_to_tensor(b"\x00spm\xff"), "tokenizer_sha256": "ab"}


def save(path, step=1):
    write_checkpoint({**CONTENT, "state_dict": {"w": torch.full((50, 7), float(step))}, "global_step": step}, path)
    return path


def truncate(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def test_what_is_written_is_read(tmp_path):
    content = read_checkpoint(save(tmp_path / "new" / "a.ckpt"))
    assert content["config"] == {"seed": 3}
    assert tensor_to_bytes(content["tokenizer"]) == b"\x00spm\xff"
    assert torch.equal(content["state_dict"]["w"], torch.ones(50, 7))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with atomic_write(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_files_get_the_permissions_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "file") as file:
            file.write(b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_truncated_checkpoint_is_refused(tmp_path):
    path = save(tmp_path / "a.ckpt")
    truncate(path)
    with pytest.raises(CheckpointError, match=r"a\.ckpt: not a checkpoint, or not a whole one"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"translations\n" * 99])
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "a.ckpt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        read_checkpoint(path)


def test_the_checkpoint_of_another_program_is_refused(tmp_path):
    torch.save({"model": torch.ones(3), "config": {}}, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match="has no tokenizer, tokenizer_sha256, state_dict"):
        read_checkpoint(tmp_path / "a.ckpt")
    torch.save([1, 2], tmp_path / "b.ckpt")
    with pytest.raises(CheckpointError, match="this project did not write it"):
        read_checkpoint(tmp_path / "b.ckpt")


class Payload:
    """Unpickling this writes a file."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))])
def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path, write):
    path, target = tmp_path / "a.ckpt", tmp_path / "harm"
    write({**CONTENT, "state_dict": {}, "extra": Payload(target)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        read_checkpoint(path)
    assert not target.exists()
    pickle.loads(pickle.dumps(Payload(target)))
    assert target.exists()  # so that the test could have failed


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=f"{tmp_path}/none.ckpt: no such checkpoint"):
        read_checkpoint(tmp_path / "none.ckpt")
    with pytest.raises(CheckpointError, match="none: no such run directory or checkpoint"):
        find_model(tmp_path / "none")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        find_model(tmp_path)


def test_a_run_is_translated_with_its_selected_then_best_then_last_weights(tmp_path):
    folder = tmp_path / "checkpoints"
    for name in ("last.ckpt", "best.ckpt", "model.ckpt"):
        save(folder / name)
        assert find_model(tmp_path) == folder / name
    assert find_model(folder / "last.ckpt") == folder / "last.ckpt"


def test_a_run_continues_from_its_newest_whole_checkpoint(tmp_path):
    folder = tmp_path / "checkpoints"
    with pytest.raises(CheckpointError, match="nothing to resume"):
        resumable(tmp_path)
    best, last = save(folder / "best.ckpt", 5), save(folder / "last.ckpt", 8)
    os.utime(best, (1000, 1000))
    assert resumable(tmp_path)[0] == last
    truncate(last)
    path, content = resumable(tmp_path)
    assert (path, content["global_step"]) == (best, 5)
    truncate(best)
    with pytest.raises(CheckpointError, match="no checkpoint of this run is whole") as caught:
        resumable(tmp_path)
    assert str(last) in str(caught.value) and str(best) in str(caught.value)
