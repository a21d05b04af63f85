"""A trained model as a function from text to text."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seq2seq.checkpoint import bytes_to_tensor, write_checkpoint
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
from seq2seq.decoding.search import search
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, TranslationError
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.translator import Translation, Translator
from seq2seq.vocabulary import EOS

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
SENTENCES = ["Un chat dort.", "Le chien de la voisine court après la balle rouge.", "Oui !", "Où est la gare ?"]


def model_content(**changes: Any) -> dict[str, Any]:
    """What a run saves as its model: random weights, but a real tokenizer and configuration."""
    config = RunConfig(
        model=ModelConfig(
            d_model=32, n_heads=2, d_ff=48, n_encoder_layers=1, n_decoder_layers=2, norm="post", max_length=60
        ),
        decoding=DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=3),
    )
    config.data.max_tokens = 40
    config.trainer.max_steps = 1
    config.tokenizer.vocab_size = 320
    lines = [f"{a} {b} {c}." for a in SENTENCES for b in ("et", "ou", "sans") for c in ("moi", "toi", "elle")]
    tokenizer = Tokenizer.train(lines, config.tokenizer)
    torch.manual_seed(3)
    weights = Transformer(config.model, tokenizer.vocab_size).state_dict()
    return {
        "state_dict": {f"model.{name}": weight for name, weight in weights.items()},
        "config": dataclasses.asdict(config),
        "tokenizer": bytes_to_tensor(tokenizer.proto),
        "tokenizer_sha256": tokenizer.fingerprint,
        "selected": "last (step 1)",
        "valid": {},
        "global_step": 1,
    } | changes


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_checkpoint(model_content(), folder / "checkpoints" / "model.ckpt")
    return folder


@pytest.fixture(scope="module")
def translator(run_dir: Path) -> Translator:
    return Translator.load(run_dir, device="cpu", precision="float32")


def texts(translations: list[Translation]) -> list[str]:
    return [translation.text for translation in translations]


# --- what comes out ---


def test_a_translation_is_what_the_search_finds_for_the_ids_of_the_line(translator: Translator) -> None:
    source = translator.tokenizer.encode([SENTENCES[1]])[0]
    decoding = dataclasses.replace(translator.config.decoding, n_best=2)
    with torch.inference_mode():
        (expected,) = search(translator.model, torch.tensor([[*source, EOS]]), decoding, max_length=60)
    (found,) = translator.translate([SENTENCES[1]], decoding)
    assert [text for text, _ in found.hypotheses] == translator.tokenizer.decode([h.tokens for h in expected])
    assert [score for _, score in found.hypotheses] == pytest.approx([h.score for h in expected])
    assert found.text == found.hypotheses[0][0]


def test_settings_of_the_checkpoint_are_the_default(translator: Translator) -> None:
    assert translator.translate(SENTENCES) == translator.translate(
        SENTENCES, DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=3)
    )
    assert translator.translate(SENTENCES) != translator.translate(SENTENCES, DecodingConfig(beam_size=1))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_neither_order_nor_text_depends_on_the_batches(translator: Translator, beam_size: int) -> None:
    lines = [" ".join(SENTENCES[: 1 + i % 3][::-1]) if i % 5 else " \t" for i in range(11)]
    decoding = dataclasses.replace(translator.config.decoding, beam_size=beam_size)
    alone = [translator.translate([line], decoding)[0].text for line in lines]
    assert len(set(alone)) > 3
    for batch_tokens in (1, 100, 100_000):
        decoding = dataclasses.replace(decoding, batch_tokens=batch_tokens)
        assert texts(translator.translate(lines, decoding)) == alone
    for window in (1, 4, 11):
        assert texts(list(translator.translate_stream(lines, decoding, window))) == alone


def test_a_stream_is_read_no_further_than_its_window(translator: Translator) -> None:
    endless = (f"Oui {i} !" for i in iter(int, 1))
    stream = translator.translate_stream(endless, window=3)
    assert next(stream) == next(stream) == translator.translate(["Oui 0 !"])[0]


def test_blank_lines_stay_blank_and_do_not_reach_the_model(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator.model, "start", lambda *_: pytest.fail("the model was asked"))
    assert translator.translate(["", " ", "\t\u2028\u00a0"]) == [Translation("", [("", 0.0)])] * 3
    assert translator.translate([]) == []


def test_progress_counts_every_line(translator: Translator) -> None:
    counts: list[int] = []
    list(translator.translate_stream([*SENTENCES, ""], window=2, on_batch=counts.append))
    assert sum(counts) == 5


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=4))
def test_every_line_of_any_text_gives_one_line(translator: Translator, lines: list[str]) -> None:
    found = translator.translate(lines, DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=4))
    assert len(found) == len(lines)
    for line, translation in zip(lines, found, strict=True):
        assert len(translation.text.splitlines()) <= 1
        assert line.strip() or not translation.text


@pytest.mark.parametrize("end", LINE_ENDS)
def test_what_could_end_a_line_becomes_a_space(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [f"A{end}cat" for _ in ids])
    assert texts(translator.translate(["Un chat"])) == ["A cat"]


# --- warnings ---


def of_length(translator: Translator, n_tokens: int) -> str:
    """A line of unknown characters: two byte pieces each, after a first space, and a third byte for one euro sign."""
    line = "é" * ((n_tokens - 1) // 2) if n_tokens % 2 else "é" * ((n_tokens - 4) // 2) + "€"
    assert len(translator.tokenizer.encode([line])[0]) == n_tokens
    return line


def test_longer_lines_than_in_training_are_translated_with_a_warning(translator: Translator) -> None:
    fits, longer, longest = translator.translate([of_length(translator, n) for n in (40, 41, 59)])
    assert not any("in training" in warning for warning in fits.warnings)
    assert any("41 tokens are more than the 40" in warning for warning in longer.warnings)
    assert any("59 tokens" in warning for warning in longest.warnings)
    assert longest.text


def test_lines_beyond_the_model_are_refused_with_their_number(translator: Translator) -> None:
    lines = [*SENTENCES, of_length(translator, 60)]
    for translate in (translator.translate, translator.check_sources):
        with pytest.raises(TranslationError, match=r"line 5 has 60 tokens, .* at most 59; split the line"):
            translate(lines)
    with pytest.raises(TranslationError, match="line 5 "):
        list(translator.translate_stream(lines, window=2))
    assert translator.check_sources(lines[:-1]) == 4


def test_cut_and_empty_translations_are_marked(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    (cut,) = translator.translate(["Oui !"], DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=1))
    assert "the translation was cut off after 1 tokens" in cut.warnings
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [" " for _ in ids])
    (empty,) = translator.translate(["Oui !"])
    assert any("is empty" in warning for warning in empty.warnings)


# --- what is refused ---


def test_one_string_is_not_a_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="one string"):
        translator.translate("Un chat dort.")


def test_settings_that_cannot_work_are_refused_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"decoding\.n_best=3 is above"):
        translator.translate_stream([], DecodingConfig(beam_size=2, n_best=3))


def test_unknown_devices_and_precisions_are_refused(run_dir: Path) -> None:
    with pytest.raises(TranslationError, match="no device 'abacus'"):
        Translator.load(run_dir, device="abacus")
    with pytest.raises(TranslationError, match="precision='int3' is not one of auto, float32, bfloat16"):
        Translator.load(run_dir, precision="int3")
    if not torch.cuda.is_available():
        with pytest.raises(TranslationError, match="no device 'cuda'"):
            Translator.load(run_dir, device="cuda")


def test_running_out_of_memory_names_what_to_lower(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(translator.model, "start", start)
    with pytest.raises(TranslationError, match=r"not enough memory on cpu for decoding\.batch_tokens=4096"):
        translator.translate(["Oui !"])


def other_tokenizer() -> Tokenizer:
    config = dataclasses.replace(RunConfig().tokenizer, vocab_size=290)
    return Tokenizer.train(["a completely different text", "with other words"], config)


def mismatched_weights() -> dict[str, torch.Tensor]:
    content = model_content()
    weights: dict[str, torch.Tensor] = content["state_dict"]
    return {name: weight for name, weight in weights.items() if "decoder" not in name}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"tokenizer_sha256": "0" * 64}, TokenizerError, "not the one that the model was trained with"),
        ({"tokenizer": bytes_to_tensor(b"no model")}, TokenizerError, "model.ckpt: not a SentencePiece model"),
        ({"tokenizer": b"bytes"}, CheckpointError, "its tokenizer is not stored as bytes"),
        (
            {
                "tokenizer": bytes_to_tensor(other_tokenizer().proto),
                "tokenizer_sha256": other_tokenizer().fingerprint,
            },
            TokenizerError,
            "embedding table has 320 rows and the tokenizer 290 pieces",
        ),
        ({"state_dict": {}}, CheckpointError, "holds no weights of a Transformer"),
        ({"state_dict": ["a list"]}, CheckpointError, "holds no weights of a Transformer"),
        ({"state_dict": mismatched_weights()}, CheckpointError, "weights do not fit its own configuration"),
        ({"config": ["a list"]}, CheckpointError, "its config is a list"),
        ({"config": {"model": {"d_modle": 8}}}, CheckpointError, "(?s)not one of this version.*d_modle"),
    ],
)
def test_checkpoints_that_do_not_fit_together_are_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    write_checkpoint(model_content(**changes), tmp_path / "model.ckpt")
    with pytest.raises(error, match=message):
        Translator.load(tmp_path / "model.ckpt")


# --- precision ---


def test_bfloat16_gives_nearly_the_scores_of_float32(run_dir: Path, translator: Translator) -> None:
    rounded = Translator.load(run_dir, device="cpu", precision="bfloat16")
    assert rounded.model.embeddings.target.dtype == torch.bfloat16
    greedy = DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=1)
    expected = [translation.hypotheses[0][1] for translation in translator.translate(SENTENCES, greedy)]
    found = [translation.hypotheses[0][1] for translation in rounded.translate(SENTENCES, greedy)]
    assert found == pytest.approx(expected, abs=0.05)


def test_auto_chooses_bfloat16_only_where_it_is_multiplied(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for in_hardware, expected in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr("seq2seq.translator.multiplies_bf16", lambda device, found=in_hardware: found)
        assert Translator.load(run_dir).precision == expected
