"""CTranslate2 computes what our Transformer computes, for every variant of it."""

import dataclasses
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from seq2seq.config import DecodingConfig, ModelConfig
from seq2seq.decoding.search import search
from seq2seq.errors import CheckpointError
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.options import EngineOptions
from seq2seq.vocabulary import BOS, EOS, PAD, UNK
from tests.nightly import IS_NIGHTLY
from tests.translation.engines.models import random_model, tokenizer

pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
from seq2seq.export.conversion import check_convertible, convert
from seq2seq.translation.engines.ctranslate2 import load

RANDOM = random.Random(7)
SOURCES = [[RANDOM.randrange(4, 310) for _ in range(n)] for n in (1, 4, 9, 6)]
NORMS, ACTIVATIONS = ("pre", "post"), ("relu", "gelu", "swiglu")
POSITIONS, EMBEDDINGS = ("sinusoidal", "learned", "rotary"), ("shared", "decoder", "separate")
ALL = [*product(NORMS, ACTIVATIONS, POSITIONS, EMBEDDINGS)]
# Each two settings together.
PAIRS = [
    (NORMS[(i + j) % 2], ACTIVATIONS[i], POSITIONS[j], EMBEDDINGS[(i + j) % 3]) for i in range(3) for j in range(3)
]
VARIANTS: list[dict[str, Any]] = [
    dict(zip(("norm", "activation", "positions", "embeddings"), variant, strict=True))
    for variant in (ALL if IS_NIGHTLY else PAIRS)
]
WIDTHS: list[dict[str, Any]] = [
    {"n_kv_heads": 1},
    {"n_heads": 4, "n_kv_heads": 2, "norm": "post"},
    {"n_heads": 4, "n_kv_heads": 2, "positions": "rotary"},
    {"d_head": 6},
    {"d_head": 10, "n_heads": 4, "n_kv_heads": 2, "bias": True, "positions": "rotary"},
    {"bias": True, "residual": 4.0},
    {"norm": "post", "residual": 4.0},
    {"activation": "swiglu", "residual": 0.5},
    {"output_bias": True, "activation": "swish"},
    {"d_encoder": 36, "embeddings": "decoder"},
    {"d_encoder": 12, "embeddings": "separate", "positions": "learned", "norm": "post"},
    {"norm_type": "rms"},
    {"norm_type": "rms", "norm": "post", "norm_eps": 1e-2},
    {"norm_eps": 1e-1, "activation": "swiglu"},
]
WITHOUT_POSITIONS: list[dict[str, Any]] = [{"positions": "none", "norm": norm} for norm in ("pre", "post")]
DEPTHS: list[dict[str, Any]] = [
    {"n_encoder_layers": 3, "n_decoder_layers": 1},
    {"n_encoder_layers": 1, "n_decoder_layers": 4, "norm": "post"},
]
CONVERTED = [*VARIANTS, *WITHOUT_POSITIONS, *WIDTHS, *DEPTHS]


def log_probs(model: Transformer, source: list[int], target: list[int]) -> list[float]:
    with torch.inference_mode():
        logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))[0]
        logits[:, [PAD, UNK, BOS]] = -torch.inf
        logits[0, EOS] = -torch.inf
    return [float(row.log_softmax(-1)[token]) for row, token in zip(logits, [*target, EOS], strict=True)]


@pytest.mark.parametrize("changes", CONVERTED, ids=lambda changes: "-".join(map(str, changes.values())))
def test_each_variant_has_the_same_probabilities_and_translations(changes: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(seed=5, max_length=23, **changes)
    convert(model, tokenizer(), tmp_path / "ctranslate2", None)
    engine = load(tmp_path, tokenizer(), 23, EngineOptions(device="cpu", threads=1))

    targets = [[RANDOM.randrange(4, 310) for _ in range(n)] for n in (3, 22, 1, 8)]
    for source, target, found in zip(SOURCES, targets, engine.score(SOURCES, targets), strict=True):
        assert found == pytest.approx(log_probs(model, source, target), abs=1e-4)

    src = pad_sequence([torch.tensor([*source, EOS]) for source in SOURCES], batch_first=True, padding_value=PAD)
    greedy = DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=8)
    # Without ends: where hypotheses end, the two beams stop at different times.
    for config in (greedy, dataclasses.replace(greedy, beam_size=4, min_length_b=8)):
        with torch.inference_mode():
            expected = search(model, src, config, 23)
        found_by_both = zip(engine.decode([Sentence(source) for source in SOURCES], config), expected, strict=True)
        for (theirs, *_), (ours, *_) in found_by_both:
            assert theirs.tokens == ours.tokens
            assert theirs.finished == ours.finished
            assert theirs.log_prob == pytest.approx(ours.log_prob, abs=1e-4)
            assert theirs.score == pytest.approx(ours.score, abs=1e-4)


@pytest.mark.parametrize("embeddings", ["shared", "decoder", "separate"])
def test_shared_tables_are_stored_once(embeddings: str, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "d_model": 96,
        "n_heads": 2,
        "d_ff": 8,
        "n_encoder_layers": 1,
        "n_decoder_layers": 1,
        "max_length": 4,
    }
    model = random_model(embeddings=embeddings, **sizes)
    convert(model, tokenizer(), tmp_path, None)
    stored = (tmp_path / "model.bin").stat().st_size
    assert stored == pytest.approx(4 * model.n_parameters, rel=0.1)


def test_converting_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    model = random_model()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    convert(model, tokenizer(), tmp_path, "int8")  # CTranslate2 quantises in place
    torch.testing.assert_close(dict(model.state_dict()), before, rtol=0, atol=0)


def test_only_what_the_conversion_was_written_for_is_converted() -> None:
    @dataclasses.dataclass(kw_only=True)
    class Later(ModelConfig):
        gate: int = 0

    check_convertible(Later(d_head=5, d_value=5))
    with pytest.raises(
        CheckpointError, match=r"model with model\.positions=other, model\.gate=3 cannot .*--engine torch"
    ):
        check_convertible(Later(positions="other", gate=3))
    others: dict[str, Any] = {"attention": "additive", "temperature": 2.0, "hard_attention": True}
    for name, value in (others | {"window": 3, "stride": 4, "d_value": 7}).items():
        message = rf"^a model with model\.{name}={value} cannot be converted to CTranslate2; .*--engine torch$"
        with pytest.raises(CheckpointError, match=message):
            check_convertible(ModelConfig(**{name: value}))
