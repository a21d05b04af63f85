"""What the CTranslate2 engine finds, against a slow search that asks the PyTorch model."""

import builtins
import dataclasses
import math
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.config import DecodingConfig, TokenizerConfig
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Needs, Sentence
from seq2seq.translation.options import EngineOptions
from seq2seq.vocabulary import BOS, EOS, PAD, UNK
from tests.translation.engines.models import BEAM, GREEDY, SOURCES, TARGETS, random_model, tokenizer
from tests.translation.engines.reference import assert_alike, beam_search, next_log_probs

pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
from seq2seq.export.conversion import convert
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine, load

MODEL = random_model(seed=12, end_bonus=2.0)


def sentences() -> list[Sentence]:
    return [Sentence(source) for source in SOURCES]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    convert(MODEL, tokenizer(), folder / "ctranslate2", None)
    return folder


@pytest.fixture(scope="module")
def engine(directory: Path) -> CTranslate2Engine:
    return load(directory, tokenizer(), MODEL.config.max_length, EngineOptions(device="cpu", threads=1))


# --- the search ---


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"normalization": "none"},
        {"alpha": 0.0},
        {"n_best": 1},
        {"beam_size": 1, "n_best": 1},
        {"max_length_b": 0, "max_length_a": 1.5},
        {"max_length_b": 9},
        {"min_length_a": 0.5, "min_length_b": 2},
        {"min_length_a": 1.2, "beam_size": 1, "n_best": 1},
        {"min_length_b": 30, "max_length_b": 2},
        {"no_repeat_ngram": 1},
        {"no_repeat_ngram": 3, "beam_size": 1, "n_best": 1, "max_length_b": 20},
        {"repetition_penalty": 0.7, "no_repeat_ngram": 3},
        {"patience": 1.0},
        {"patience": 2.4, "max_length_b": 2},
        {"patience": 4.0, "alpha": 0.4},
        {"patience": 4.0, "max_length_b": 1, "min_length_a": 0.5},
    ],
)
def test_a_batch_has_what_a_search_for_each_sentence_alone_finds(
    engine: CTranslate2Engine, changes: dict[str, Any]
) -> None:
    config = dataclasses.replace(BEAM, **changes)
    expected = [beam_search(MODEL, source, config) for source in SOURCES[::2]]
    assert_alike(engine.decode(sentences()[::2], config), expected)


def test_the_sentences_above_end_early_and_late_and_are_cut(engine: CTranslate2Engine) -> None:
    found = [h for hypotheses in engine.decode(sentences()[::2], BEAM) for h in hypotheses]
    assert 3 < sum(h.finished for h in found) < len(found) - 3
    assert len({len(h.tokens) for h in found}) > 4


def test_the_model_can_be_asked_up_to_its_last_position(engine: CTranslate2Engine) -> None:
    source = [7] * (MODEL.config.max_length - 1)
    config = dataclasses.replace(GREEDY, min_length_b=1000, max_length_b=1000)
    ((hypothesis,),) = engine.decode([Sentence(source)], config)
    assert len(hypothesis.tokens) == MODEL.config.max_length
    assert not hypothesis.finished


def test_scores_are_those_of_the_search_without_constraints(engine: CTranslate2Engine) -> None:
    sources, targets = SOURCES[:4], TARGETS[:4]
    for source, target, found in zip(sources, targets, engine.score(sources, targets), strict=True):
        expected = [next_log_probs(MODEL, source, target[:t], GREEDY)[token] for t, token in enumerate([*target, EOS])]
        assert found == pytest.approx(expected, abs=1e-4)


def test_what_is_never_generated_has_probability_0(engine: CTranslate2Engine) -> None:
    (scores,) = engine.score([[5, 6]], [[7, PAD, UNK, BOS, 8]])
    assert scores[1:4] == [-math.inf] * 3
    assert math.isfinite(scores[0] + scores[4] + scores[5])
    assert engine.score([[5, 6]], [[]]) == [[-math.inf]]


def test_several_threads_may_ask_at_the_same_time(directory: Path) -> None:
    engine = load(directory, tokenizer(), MODEL.config.max_length, EngineOptions(device="cpu", threads=2))
    assert engine.n_workers == 2
    expected = engine.decode(sentences(), BEAM)
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: engine.decode(sentences(), BEAM)})) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == [expected] * 4


# --- what is refused ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalization": "gnmt"}, r"decoding\.normalization=gnmt .* with engine=torch"),
        ({"beam_size": 154}, r"decoding\.beam_size=154 is too wide for 306 pieces .* with engine=torch"),
    ],
)
def test_settings_that_ctranslate2_does_not_have_are_refused(
    engine: CTranslate2Engine, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        engine.check(dataclasses.replace(BEAM, **changes), Needs())


def test_each_setting_is_followed_or_refused() -> None:
    """If this fails, a setting is new: let the engine follow it, or `search_problems` refuse it, and name it here."""
    followed = {"beam_size", "n_best", "alpha", "patience", "no_repeat_ngram", "repetition_penalty", "max_batch_tokens"}
    followed |= {"max_length_a", "max_length_b", "min_length_a", "min_length_b"}
    refused = {"normalization", "sampling", "temperature", "top_k", "top_p", "seed"}  # the last four with `sampling`
    assert {field.name for field in dataclasses.fields(DecodingConfig)} == followed | refused


def test_all_that_it_cannot_do_is_named_at_once(engine: CTranslate2Engine) -> None:
    with pytest.raises(ConfigError) as refused:
        engine.check(dataclasses.replace(BEAM, sampling=True), Needs(attention=True, required=True, prefixes=True))
    lines = str(refused.value).split("\n")
    messages = ["sampling", "given words", "given phrases", "no attention to align words"]
    assert len(lines) == len(messages)
    assert all(any(message in line for line in lines) for message in messages)
    assert all(line.endswith("; use the run that the model comes from, with engine=torch") for line in lines)


def test_gnmt_without_an_exponent_is_no_normalisation(engine: CTranslate2Engine) -> None:
    gnmt, none = (dataclasses.replace(BEAM, alpha=0.0, normalization=name) for name in ("gnmt", "none"))
    assert engine.decode(sentences(), gnmt) == engine.decode(sentences(), none)


# --- loading ---


def test_each_core_gets_a_worker_unless_told_otherwise(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2seq.translation.engines.ctranslate2.n_cores", lambda: 3)
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 3),
        ({"threads": 2}, 2),
        ({"workers": 1}, 1),
        ({"threads": 4, "workers": 2}, 2),
    ]
    for settings, expected in cases:
        engine = load(directory, tokenizer(), 50, EngineOptions(device="cpu", **settings))
        assert engine.n_workers == expected
        assert engine.translator.num_active_batches == 0
        assert engine.translator.num_translators == expected


def test_an_unquantised_model_can_be_loaded_in_8_bits(directory: Path) -> None:
    engine = load(directory, tokenizer(), 50, EngineOptions(device="cpu", precision="int8", threads=1))
    assert engine.translator.compute_type == "int8_float32"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"precision": "int3"},
            r"cannot run with device=auto and precision=int3 here .*or precision=auto",
        ),
        ({"device": "abacus"}, r"cannot run with device=abacus and precision=auto here .*; use device=cpu"),
    ],
)
def test_unknown_devices_and_precisions_are_refused(directory: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(directory, tokenizer(), 50, EngineOptions(**settings))


def test_a_device_that_is_not_here_is_refused(directory: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ConfigError, match="cannot run with device=cuda"):
        load(directory, tokenizer(), 50, EngineOptions(device="cuda"))


def test_without_the_package_the_message_names_the_extra(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ctranslate2":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[ctranslate2\]'"):
        load(directory, tokenizer(), 50, EngineOptions())


def test_damaged_weights_are_refused(directory: Path, tmp_path: Path) -> None:
    shutil.copytree(directory, tmp_path / "model")
    weights = tmp_path / "model" / "ctranslate2" / "model.bin"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(CheckpointError, match="cannot be loaded, so it is damaged"):
        load(tmp_path / "model", tokenizer(), 50, EngineOptions(device="cpu"))
    (tmp_path / "model" / "ctranslate2" / "shared_vocabulary.json").write_text('["a"')
    with pytest.raises(CheckpointError, match="cannot be read, so it is damaged"):
        load(tmp_path / "model", tokenizer(), 50, EngineOptions())


def test_weights_for_another_tokenizer_are_refused(directory: Path) -> None:
    other = Tokenizer.train(["a completely different text", "with other words"], TokenizerConfig(vocab_size=290))
    with pytest.raises(TokenizerError, match="other pieces than the tokenizer"):
        load(directory, other, 50, EngineOptions())
