"""A translator's windows and workers: lines in and out of a stream."""

import dataclasses
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.stream import WINDOWS
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES
from tests.translation.translations import SHORT, texts


class Taps:
    """Lines that say how many of them were taken."""

    def __init__(self, n_lines: int) -> None:
        self.n_lines = n_lines
        self.n_taken = 0

    def __iter__(self) -> Iterator[str]:
        for number in range(self.n_lines):
            self.n_taken += 1
            yield f"Oui {number} !"


def n_threads() -> int:
    return threading.active_count()


def test_a_dialogue_takes_no_line_before_the_one_before_is_answered(translator: Translator) -> None:
    lines = Taps(5)
    for n_given, window in enumerate(translator.translate_windows(lines, SHORT, windows=(1,)), start=1):
        assert len(window) == 1
        assert lines.n_taken == n_given


@pytest.mark.slow
def test_a_stream_is_read_only_a_few_windows_ahead(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        return [found] * len(batch)

    found = translator.engine.decode([Sentence([7])], SHORT)[0]
    monkeypatch.setattr(translator.engine, "decode", decode)
    lines = Taps(12_000)
    n_given = most_ahead = 0
    for window in translator.translate_windows(lines, SHORT):
        most_ahead = max(most_ahead, lines.n_taken - n_given)
        n_given += len(window)
    assert n_given == lines.n_taken == 12_000
    assert most_ahead <= 3 * WINDOWS[-1]
    assert WINDOWS[0] <= 256  # so that the first line comes early


def test_the_sizes_of_windows_are_those_that_are_asked_for(translator: Translator) -> None:
    windows = translator.translate_windows([*SENTENCES, *SENTENCES, "Oui !"], SHORT, windows=(1, 2, 3))
    assert [[translation.source for translation in window] for window in windows] == [
        [SENTENCES[0]], SENTENCES[1:3], [SENTENCES[3], *SENTENCES[:2]], [*SENTENCES[2:], "Oui !"]
    ]  # fmt: skip


@pytest.mark.slow
def test_several_workers_keep_the_order(run_dir: Path, translator: Translator) -> None:
    lines = [" ".join(SENTENCES[i % 4 :]) for i in range(25)]
    several = seq2seq.load(run_dir, device="cpu", precision="float32", threads=3, workers=3)
    decoding = dataclasses.replace(translator.decoding, max_batch_tokens=60)
    options = TranslationOptions(alignment=True, token_scores=True)
    found, expected = (
        list(chain.from_iterable(each.translate_windows(lines, decoding, options, windows=(7,))))
        for each in (several, translator)
    )
    assert texts(found) == texts(expected)
    assert [each.hypotheses[0].alignment for each in found] == [each.hypotheses[0].alignment for each in expected]
    assert [each.hypotheses[0].score for each in found] == pytest.approx(
        [each.hypotheses[0].score for each in expected], abs=1e-5
    )


def test_an_error_in_a_worker_reaches_the_caller_and_ends_the_threads(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = translator.engine.decode

    def breaks(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        if any(sentence.number == 5 for sentence in batch):
            raise RuntimeError("the sixth line")
        return decode(batch, config)

    monkeypatch.setattr(translator.engine, "decode", breaks)
    before = n_threads()
    stream = chain.from_iterable(translator.translate_windows(SENTENCES * 3, SHORT, windows=(2,)))
    assert [next(stream).source for _ in SENTENCES] == SENTENCES
    with pytest.raises(RuntimeError, match="the sixth line"):
        next(stream)
    assert n_threads() == before


def test_a_stream_that_is_closed_early_searches_no_further(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_searched = 0
    decode = translator.engine.decode

    def counts(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        nonlocal n_searched
        n_searched += len(batch)
        return decode(batch, config)

    monkeypatch.setattr(translator.engine, "decode", counts)
    before = n_threads()
    stream = translator.translate_windows(
        SENTENCES * 50, dataclasses.replace(SHORT, max_batch_tokens=1), windows=(1, 90)
    )
    next(stream)
    stream.close()
    assert n_threads() == before
    assert n_searched < 180


def test_progress_counts_the_lines_that_reach_the_model(translator: Translator) -> None:
    counts: list[int] = []
    lines = [*SENTENCES, "", "Un chat dort. " * 20]  # the last is several parts of one line
    list(translator.translate_windows(lines, SHORT, windows=(2,), on_batch=counts.append))
    assert sum(counts) == 5
