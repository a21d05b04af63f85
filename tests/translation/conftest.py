"""A random and a trained translator."""

from pathlib import Path

import pytest

import seq2seq
from seq2seq.translation.translator import Translator
from tests.translating import model_content, trained_content, write_run


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def translator(run_dir: Path) -> Translator:
    return seq2seq.load(run_dir, device="cpu", precision="float32", threads=1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = write_run(tmp_path_factory.mktemp("trained"), trained_content())
    return seq2seq.load(folder, device="cpu", precision="float32", threads=1)
