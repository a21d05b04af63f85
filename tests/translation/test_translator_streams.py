"""A translator's stream: workers, errors, and an early end."""

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.translation.engines import Sentence
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES
from tests.translation.translations import SHORT, texts


def test_several_workers_keep_the_order(run_dir: Path, translator: Translator) -> None:
    lines = [" ".join(SENTENCES[i % 4 :]) for i in range(8)]
    decoding = dataclasses.replace(translator.decoding, max_length_a=0.0, max_length_b=3, max_batch_tokens=60)
    options = TranslationOptions(alignment=True, token_scores=True)
    with seq2seq.load(run_dir, device="cpu", precision="float32", threads=3, workers=3) as several:
        found, expected = (list(each.translate_stream(lines, decoding, options)) for each in (several, translator))
    assert texts(found) == texts(expected)
    assert [each.hypotheses[0].alignment for each in found] == [each.hypotheses[0].alignment for each in expected]
    assert [each.hypotheses[0].score for each in found] == pytest.approx(
        [each.hypotheses[0].score for each in expected], abs=1e-5
    )


def test_workers_live_as_long_as_the_translator(run_dir: Path) -> None:
    before = threading.active_count()
    translator = seq2seq.load(run_dir, device="cpu", precision="float32", threads=2, workers=2)
    assert threading.active_count() == before
    with translator:
        first = texts(translator.translate(SENTENCES, SHORT))
        n_alive = threading.active_count()
        assert n_alive > before
        assert texts(translator.translate(SENTENCES, SHORT)) == first
        assert threading.active_count() == n_alive
    assert threading.active_count() == before
    assert texts(translator.translate(SENTENCES, SHORT)) == first  # with new ones
    translator.close()
    translator.close()
    assert threading.active_count() == before


def test_two_streams_of_one_translator_do_not_disturb_each_other(translator: Translator) -> None:
    expected = texts(translator.translate(SENTENCES, SHORT))
    one, other = (translator.translate_stream(SENTENCES * 5, SHORT) for _ in range(2))
    found = [(next(one).text, next(other).text) for _ in SENTENCES]
    assert found == list(zip(expected, expected, strict=True))
    one.close()
    assert texts(other) == expected * 4


def test_an_error_in_a_worker_reaches_the_caller(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = translator.engine.decode

    def breaks(batch: list[Sentence], config: DecodingConfig, **options: Any) -> list[list[Any]]:
        if any(sentence.number == 5 for sentence in batch):
            raise RuntimeError("the sixth line")
        return decode(batch, config, **options)

    monkeypatch.setattr(translator.engine, "decode", breaks)
    one_by_one = dataclasses.replace(SHORT, max_batch_tokens=1)
    stream = translator.translate_stream(SENTENCES * 9, one_by_one)
    assert [next(stream).source for _ in SENTENCES] == SENTENCES
    with pytest.raises(RuntimeError, match="the sixth line"):
        list(stream)


def test_a_stream_that_is_closed_early_searches_no_further(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_searched = 0
    decode = translator.engine.decode

    def counts(batch: list[Sentence], config: DecodingConfig, **options: Any) -> list[list[Any]]:
        nonlocal n_searched
        n_searched += len(batch)
        return decode(batch, config, **options)

    monkeypatch.setattr(translator.engine, "decode", counts)
    stream = translator.translate_stream(SENTENCES * 50, dataclasses.replace(SHORT, max_batch_tokens=1))
    next(stream)
    stream.close()
    translator.close()  # which waits for what is searched
    assert n_searched < 20


def test_progress_counts_each_line_once(translator: Translator) -> None:
    counts: list[float] = []
    lines = [*SENTENCES, "", "Un chat dort. " * 20]  # the last is several parts of one line
    list(translator.translate_stream(lines, SHORT, on_done=counts.append))
    assert sum(counts) == pytest.approx(6)


def test_the_caller_s_own_error_comes_after_the_blocks_before_it(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield from SENTENCES * 9
        raise ValueError("mine")

    stream = translator.translate_stream(lines(), dataclasses.replace(SHORT, max_batch_tokens=1))
    assert [next(stream).source for _ in range(20)] == (SENTENCES * 9)[:20]
    with pytest.raises(ValueError, match="mine"):
        list(stream)
