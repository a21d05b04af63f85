"""The end of a run does without the checkpoints that are damaged."""

import dataclasses
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import read_config
from seq2seq.model.transformer import Transformer
from seq2seq.training.selection import candidates
from tests.translating import model_content

CONTENT = model_content()


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_a_damaged_candidate_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = read_config(CONTENT.config)
    model = Transformer(config.model, vocab_size=320)
    run = RunDirectory(tmp_path)
    files = [run.best, *(run.checkpoints / f"recent-0000000{step}.ckpt" for step in (5, 6, 7))]
    for step, file in enumerate(files):
        write_model(dataclasses.replace(CONTENT, weights=model.state_dict()), file, step)

    def names() -> list[str]:
        return [name for name, _ in candidates(model, run, 9, None, 3)]

    assert names() == ["last (step 9)", "best (step 0)", "average of the last 3 validations"]
    flip_a_bit(files[2])
    assert names() == ["last (step 9)", "best (step 0)", "average of the last 2 validations"]
    flip_a_bit(files[0])
    assert names() == ["last (step 9)", "average of the last 2 validations"]
    for file in (files[0], files[2]):
        assert f"left out of the selection: {file}: is damaged" in caplog.text
