"""What the CTranslate2 engine finds, against a slow search that asks the PyTorch model."""

import builtins
import dataclasses
import json
import math
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.config import DecodingConfig, TokenizerConfig
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.options import EngineOptions
from seq2seq.translation.engines.protocol import Needs, Sentence
from seq2seq.vocabulary import BOS, EOS, PAD, UNK
from tests.translation.engines.models import random_model, tokenizer
from tests.translation.engines.reference import beam_search, next_log_probs

pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
from seq2seq.export.conversion import convert
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine, load

GREEDY = DecodingConfig(beam_size=1, max_length_a=1.0, max_length_b=5)
BEAM = DecodingConfig(beam_size=3, n_best=3, max_length_a=1.0, max_length_b=5)
MODEL = random_model(seed=12, end_bonus=2.0)
RANDOM = random.Random(4)
SOURCES = [[RANDOM.randrange(4, 310) for _ in range(n)] for n in (1, 2, 3, 5, 8, 2, 4, 13)]


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


def assert_alike(found: list[list[Any]], expected: list[list[Any]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.finished for h in ours] == [h.finished for h in theirs]
        assert [h.log_prob for h in ours] == pytest.approx([h.log_prob for h in theirs], abs=1e-4)
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


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


def test_a_forced_prefix_begins_the_hypothesis_and_counts(engine: CTranslate2Engine) -> None:
    prefixed = [
        Sentence(source, prefix) for source, prefix in zip(SOURCES, ([9], [], [20, 30], [9] * 25), strict=False)
    ]
    for sentence, (found,) in zip(prefixed, engine.decode(prefixed, GREEDY), strict=True):
        source, prefix = list(sentence.source), list(sentence.prefix)
        limit = max(int(len(source) + 5), len(prefix) + 1)
        tokens: list[int] = []
        log_prob = 0.0
        while len(tokens) < limit and tokens[-1:] != [EOS]:
            gains = next_log_probs(MODEL, source, tokens, GREEDY)
            best = max(range(len(gains)), key=gains.__getitem__)
            tokens.append(prefix[len(tokens)] if len(tokens) < len(prefix) else best)
            log_prob += gains[tokens[-1]]
        assert found.tokens == [token for token in tokens if token != EOS]
        assert found.finished == (EOS in tokens)
        assert found.log_prob == pytest.approx(log_prob, abs=1e-4)
        assert found.score == pytest.approx(log_prob / len(tokens), abs=1e-4)


def test_scores_are_those_of_the_search_without_constraints(engine: CTranslate2Engine) -> None:
    targets = [[RANDOM.randrange(4, 310) for _ in range(n)] for n in (3, 1, 7, 2)]
    for source, target, found in zip(SOURCES, targets, engine.score(SOURCES[:4], targets), strict=False):
        expected = [next_log_probs(MODEL, source, target[:t], GREEDY)[token] for t, token in enumerate([*target, EOS])]
        assert found == pytest.approx(expected, abs=1e-4)


def test_scores_of_what_the_search_found_sum_to_its_log_probabilities(engine: CTranslate2Engine) -> None:
    best = [hypotheses[0] for hypotheses in engine.decode(sentences(), BEAM)]
    for hypothesis, scores in zip(best, engine.score(SOURCES, [h.tokens for h in best]), strict=True):
        counted = scores if hypothesis.finished else scores[:-1]
        assert sum(counted) == pytest.approx(hypothesis.log_prob, abs=1e-4)


def test_each_token_has_its_score_and_they_add_up(engine: CTranslate2Engine) -> None:
    found = engine.decode(sentences(), BEAM, token_scores=True)
    plain = engine.decode(sentences(), BEAM)
    for source, hypotheses, unscored in zip(SOURCES, found, plain, strict=True):
        for hypothesis, same in zip(hypotheses, unscored, strict=True):
            tokens = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            expected = [next_log_probs(MODEL, source, tokens[:t], BEAM)[token] for t, token in enumerate(tokens)]
            assert hypothesis.token_log_probs == pytest.approx(expected, abs=1e-4)
            assert sum(hypothesis.token_log_probs or ()) == pytest.approx(hypothesis.log_prob, abs=1e-4)
            assert dataclasses.replace(hypothesis, token_log_probs=None) == same


@pytest.mark.parametrize("n_tokens", [MODEL.config.max_length - 1, MODEL.config.max_length])
def test_the_last_token_at_the_length_limit_has_its_score_too(engine: CTranslate2Engine, n_tokens: int) -> None:
    prefix = [RANDOM.randrange(4, 310) for _ in range(n_tokens - 1)]
    ((hypothesis,),) = engine.decode([Sentence([5, 6, 7], prefix)], GREEDY, token_scores=True)
    expected = next_log_probs(MODEL, [5, 6, 7], prefix, GREEDY)
    last = (hypothesis.tokens + [EOS] * hypothesis.finished)[n_tokens - 1]
    assert hypothesis.token_log_probs is not None
    assert len(hypothesis.token_log_probs) == n_tokens
    assert hypothesis.token_log_probs[-1] == pytest.approx(expected[last], abs=2e-4)  # a sum of 50 float32 numbers


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
    ("changes", "prefix", "message"),
    [
        ({"sampling": True}, (), r"decoding\.sampling=true .*; use engine=torch"),
        ({"normalization": "gnmt"}, (), r"decoding\.normalization=gnmt .*; use engine=torch"),
        ({"beam_size": 154}, (), r"decoding\.beam_size=154 is too wide for 306 pieces .*; use engine=torch"),
        ({}, (9,), r"a forced prefix with decoding\.beam_size=3.*; use engine=torch"),
        ({"beam_size": 1, "n_best": 1, "no_repeat_ngram": 2}, (9,), r"prefix with decoding\.no_repeat_ngram=2.*torch"),
        ({"beam_size": 1, "n_best": 1, "repetition_penalty": 1.2}, (9,), r"decoding\.repetition_penalty=1\.2.*torch"),
        ({"beam_size": 1, "n_best": 1, "min_length_b": 3}, (9,), r"prefix with decoding\.min_length_b=3.*torch"),
    ],
)
def test_settings_that_ctranslate2_does_not_have_are_refused(
    engine: CTranslate2Engine, changes: dict[str, Any], prefix: tuple[int, ...], message: str
) -> None:
    config = dataclasses.replace(BEAM, **changes)
    with pytest.raises(ConfigError, match=message):
        engine.check(config, Needs(prefixes=bool(prefix)))
    with pytest.raises(ConfigError, match=message):
        engine.decode([Sentence([5, 6], prefix)], config)


RULES: list[dict[str, Any]] = [
    {"no_repeat_ngram": 2},
    {"repetition_penalty": 1.2},
    {"min_length_a": 0.1},
    {"min_length_b": 1},
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_scores_of_tokens_that_would_not_add_up_are_refused(engine: CTranslate2Engine, rule: dict[str, Any]) -> None:
    config = dataclasses.replace(BEAM, **rule)
    ((name, value),) = rule.items()
    with pytest.raises(ConfigError, match=rf"scores of tokens with decoding\.{name}={value}: .*; use engine=torch"):
        engine.check(config, Needs(token_scores=True))
    with pytest.raises(ConfigError, match="scores of tokens with"):
        engine.decode(sentences(), config, token_scores=True)
    engine.check(config, Needs())
    engine.check(BEAM, Needs(token_scores=True))


@pytest.mark.parametrize(
    ("changes", "asked", "messages"),
    [
        ({}, {"required": True}, ["contain given phrases"]),
        ({}, {"attention": True}, ["no attention to align words"]),
        ({"sampling": True}, {"required": True, "prefixes": True}, ["sampling", "forced prefix", "given phrases"]),
    ],
)
def test_all_that_it_cannot_do_is_named_at_once(
    engine: CTranslate2Engine, changes: dict[str, Any], asked: dict[str, bool], messages: list[str]
) -> None:
    with pytest.raises(ConfigError) as refused:
        engine.check(dataclasses.replace(BEAM, **changes), Needs(**asked))
    lines = str(refused.value).split("\n")
    assert len(lines) == len(messages)
    assert all(any(message in line for line in lines) for message in messages)
    assert all(line.endswith("; use engine=torch") for line in lines)


def test_required_phrases_are_refused_where_they_come_too(engine: CTranslate2Engine) -> None:
    with pytest.raises(ConfigError, match="contain given phrases"):
        engine.decode([Sentence([5, 6]), Sentence([7], required=[[9]])], BEAM)


def test_a_setting_that_is_younger_than_the_engine_is_refused_unless_it_changes_nothing(
    engine: CTranslate2Engine,
) -> None:
    @dataclasses.dataclass(kw_only=True)
    class Younger(DecodingConfig):
        no_stutter: bool = False

    engine.check(Younger(), Needs())
    with pytest.raises(ConfigError, match=r"decoding\.no_stutter=True is unknown to CTranslate2; use engine=torch"):
        engine.check(Younger(no_stutter=True), Needs())


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
        ({"precision": "int3"}, r"precision='int3' is not one of auto, float32, .*int16"),
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


def test_a_directory_without_weights_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds no CTranslate2 model; .* --format ctranslate2"):
        load(tmp_path, tokenizer(), 50, EngineOptions())


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


def test_the_vocabulary_is_in_the_order_of_the_ids(directory: Path) -> None:
    stored = json.loads((directory / "ctranslate2" / "shared_vocabulary.json").read_text())
    assert stored == tokenizer().pieces(range(310))
