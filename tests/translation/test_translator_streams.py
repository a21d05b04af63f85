"""How long workers live, streams side by side, and progress."""

import threading
from pathlib import Path

import pytest

import seq2seq
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES
from tests.translation.translations import SHORT, texts


def test_workers_live_as_long_as_the_translator(random_run: Path) -> None:
    before = set(threading.enumerate())  # those of other tests may end meanwhile
    translator = seq2seq.load(random_run, device="cpu", precision="float32", threads=2, workers=2)
    assert set(threading.enumerate()) <= before
    with translator:
        first = texts(translator.translate(SENTENCES, SHORT))
        alive = set(threading.enumerate()) - before
        assert alive
        assert texts(translator.translate(SENTENCES, SHORT)) == first
        assert set(threading.enumerate()) - before == alive
    assert set(threading.enumerate()) <= before
    assert texts(translator.translate(SENTENCES, SHORT)) == first  # with new ones
    translator.close()
    translator.close()
    assert set(threading.enumerate()) <= before


def test_two_streams_of_one_translator_do_not_disturb_each_other(translator: Translator) -> None:
    expected = texts(translator.translate(SENTENCES, SHORT))
    one, other = (translator.translate_stream(SENTENCES * 5, SHORT) for _ in range(2))
    found = [(next(one).text, next(other).text) for _ in SENTENCES]
    assert found == list(zip(expected, expected, strict=True))
    one.close()
    assert texts(other) == expected * 4


def test_progress_counts_each_line_once(translator: Translator) -> None:
    counts: list[float] = []
    lines = [*SENTENCES, "", "Un chat dort. " * 20]  # the last is several parts of one line
    list(translator.translate_stream(lines, SHORT, on_done=counts.append))
    assert sum(counts) == pytest.approx(6)
