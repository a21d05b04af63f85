"""A random and a trained translator."""

from pathlib import Path

import pytest

import seq2seq
from seq2seq.translation.translator import Translator


@pytest.fixture(scope="module")
def translator(random_run: Path) -> Translator:
    return seq2seq.load(random_run, device="cpu", precision="float32", threads=1)


@pytest.fixture(scope="module")
def trained(trained_run: Path) -> Translator:
    return seq2seq.load(trained_run, device="cpu", precision="float32", threads=1)
