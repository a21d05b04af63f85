import dataclasses
import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.checkpoint import (
    FORMAT_VERSION,
    description_of,
    read_checkpoint,
    resumable,
    write_checkpoint,
    write_model,
)
from seq2seq.artifacts.run_directory import RunDirectory, find_model
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.dataset.seen import PERCENTS, SeenText
from seq2seq.errors import CheckpointError

MODEL = SavedModel({"seed": 3}, b"\x00spm\xff", "ab", {"w": torch.ones(50, 7)})
WEIGHT_BYTES = MODEL.weights["w"].numpy().tobytes()
PERCENTILES = {f"{percent:g}": i for i, percent in enumerate(PERCENTS)}
LENGTHS = SeenText(9, PERCENTILES, PERCENTILES, [0.9, 0.1])


def save(path, step=1):
    write_model(MODEL, path, step)
    return path


def save_state(path, step):
    """As a checkpoint to resume from, which also holds the state of Lightning."""
    state_dict = {f"model.{name}": weight for name, weight in MODEL.weights.items()}
    content = {
        **description_of(MODEL),
        "state_dict": state_dict,
        "global_step": step,
        "optimizer_states": [],
        "position": {"world_size": 1},
    }
    write_checkpoint(content, path)
    return path


def truncate(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def test_a_checkpoint_of_training_is_read_as_one_of_a_model(tmp_path):
    more = {"state_dict": {"model.w": torch.ones(3), "loss.w": torch.ones(2)}, "global_step": 4, "wandb_id": "a1"}
    write_checkpoint(
        {**description_of(MODEL), **more, "optimizer_states": [{}], "position": {"world_size": 1}},
        tmp_path / "last.ckpt",
    )
    found = read_checkpoint(tmp_path / "last.ckpt")
    assert found.model.weights.keys() == {"w"}
    assert (found.step, found.wandb_id) == (4, "a1")


def test_the_lengths_of_the_training_text_are_kept_and_may_be_missing(tmp_path):
    write_model(dataclasses.replace(MODEL, seen=LENGTHS), tmp_path / "new.ckpt", 1)
    assert read_checkpoint(tmp_path / "new.ckpt").model.seen == LENGTHS
    content = torch.load(save(tmp_path / "old.ckpt"), weights_only=True)
    assert "seen" not in content  # as in the checkpoints of older versions
    assert read_checkpoint(tmp_path / "old.ckpt").model.seen is None
    write_checkpoint(content | {"seen": [3]}, tmp_path / "damaged.ckpt")
    with pytest.raises(CheckpointError, match=r"damaged.ckpt: its 'seen' is not the lengths of a training text"):
        read_checkpoint(tmp_path / "damaged.ckpt")


@pytest.mark.parametrize("version", [None, 0, FORMAT_VERSION + 1])
def test_another_format_version_is_refused_by_its_number(tmp_path, version):
    content = {**description_of(MODEL), "state_dict": {"model.w": torch.ones(3)}, "format_version": version}
    write_checkpoint({name: value for name, value in content.items() if value is not None}, tmp_path / "a.ckpt")
    message = rf"a\.ckpt: has format version {version} and this version of seq2seq reads {FORMAT_VERSION}; use the"
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(tmp_path / "a.ckpt")


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
    write({**description_of(MODEL), "state_dict": {}, "extra": Payload(target)}, path)
    with pytest.raises(CheckpointError, match=r"not a checkpoint|asks for '\w+ getattr'"):
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


def flip_a_bit_of_the_weights(path):
    data = bytearray(path.read_bytes())
    data[data.index(WEIGHT_BYTES) + 9] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flip_a_bit_of_the_weights, truncate, lambda path: path.write_bytes(b"")])
def test_a_run_continues_from_the_whole_checkpoint_with_the_most_steps(tmp_path, caplog, damage):
    folder = tmp_path / "checkpoints"
    with pytest.raises(CheckpointError, match="nothing to resume"):
        resumable(RunDirectory(tmp_path))
    save(folder / "best.ckpt", 9)  # weights to translate with, from which no run can go on
    previous, last = save_state(folder / "previous.ckpt", 5), save_state(folder / "last.ckpt", 8)
    os.utime(last, (1000, 1000))  # as if the other had been copied since
    assert resumable(RunDirectory(tmp_path)).path == last
    assert caplog.text == ""
    damage(last)
    found = resumable(RunDirectory(tmp_path))
    assert (found.path, found.step, found.wandb_id) == (previous, 5, "")
    assert f"skipped a checkpoint: {last}: " in caplog.text
    damage(previous)
    with pytest.raises(CheckpointError, match="no checkpoint of this run is whole") as caught:
        resumable(RunDirectory(tmp_path))
    assert str(last) in str(caught.value) and str(previous) in str(caught.value)


def test_a_checkpoint_is_no_run_to_continue(tmp_path):
    file = tmp_path / "checkpoints" / "last.ckpt"
    file.parent.mkdir()
    file.touch()
    with pytest.raises(CheckpointError, match=f"is a file; resume takes the run directory: resume={tmp_path}$"):
        resumable(RunDirectory(file))


def test_the_checkpoint_with_the_most_steps_is_continued_and_a_tie_goes_to_the_last(tmp_path):
    folder = tmp_path / "checkpoints"
    last, previous = save_state(folder / "last.ckpt", 8), save_state(folder / "previous.ckpt", 9)
    assert resumable(RunDirectory(tmp_path)).path == previous
    save_state(previous, 8)
    assert resumable(RunDirectory(tmp_path)).path == last
    save(previous, 9)  # weights to translate with, from which no run can go on
    assert resumable(RunDirectory(tmp_path)).path == last


def test_a_flipped_bit_is_told_from_a_file_that_was_cut_off(tmp_path):
    path = save(tmp_path / "a.ckpt")
    flip_a_bit_of_the_weights(path)
    message = r"a\.ckpt: is damaged \('archive/data/1' differs from its checksum\); copy it again, or take another"
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(path)


def test_a_compressed_archive_is_refused_before_it_is_unpacked(tmp_path):
    path = save(tmp_path / "a.ckpt")
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "b.ckpt", "w", zipfile.ZIP_DEFLATED) as packed:
        for member in whole.namelist():
            packed.writestr(member, whole.read(member))
    with pytest.raises(CheckpointError, match=r"b\.ckpt: 'archive/data\.pkl' is compressed, so this project did not"):
        read_checkpoint(tmp_path / "b.ckpt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_step": "seven"}, "its global_step is not a number"),
        ({"tokenizer": torch.zeros(3, dtype=torch.uint8).to_sparse()}, "asks for .*sparse"),
    ],
)
def test_fields_of_another_kind_are_refused(tmp_path, changes, message):
    content = {**description_of(MODEL), "state_dict": {"model.w": torch.ones(3)}}
    write_checkpoint(content | changes, tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match=message):
        read_checkpoint(tmp_path / "a.ckpt")
