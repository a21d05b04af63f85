"""The comparison that stands between a model and its export, and the lines that it is made on."""

import copy
import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.model_directory import is_model_directory, write_safetensors
from seq2seq.config import read_config
from seq2seq.errors import CorpusError
from seq2seq.export import conversion, export
from seq2seq.export.export import N_LINES, ParityError, find_lines, measure_parity
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines.pytorch import PyTorchEngine
from tests.export.exporting import MODEL, main, needs_ctranslate2, refused
from tests.translation.engines.models import SENTENCES, run_content, tokenizer

pytestmark = pytest.mark.slow

# --- the comparison ---


def swap_two_biases(spec: Any) -> None:
    first, second = (layer.ffn.linear_1 for layer in spec.decoder.layer)
    first.bias, second.bias = second.bias, first.bias


def swap_queries_and_keys(spec: Any) -> None:
    attention = spec.encoder.layer[0].self_attention.linear[0]
    attention.weight = attention.weight.reshape(3, 24, 24)[[1, 0, 2]].reshape(72, 24)


def forget_the_positions(spec: Any) -> None:
    spec.decoder.position_encodings.encodings = 0 * spec.decoder.position_encodings.encodings


@pytest.mark.parametrize(
    ("damage", "quantization"),
    [
        (swap_two_biases, "float32"),
        (swap_queries_and_keys, "float32"),
        (forget_the_positions, "float32"),
        (swap_queries_and_keys, "int8"),
    ],
)
def test_a_wrong_conversion_fails_and_leaves_nothing(
    run_dir: Path,
    lines: Path,
    damage: Any,
    quantization: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_ctranslate2()
    original = conversion._transformer

    def damaged(model: Any) -> Any:
        spec = original(model)
        damage(spec)
        return spec

    monkeypatch.setattr(conversion, "_transformer", damaged)
    options = ("--format", "ctranslate2", "--quantization", quantization, "--parity-input", lines)
    message = refused(capsys, 1, run_dir, *options)
    assert "so this is not the same model; nothing was written" in message
    assert message.count("\n") == 1
    assert not list((run_dir / "export").iterdir())


@pytest.mark.parametrize(
    ("form", "name", "value"),
    [
        ("ctranslate2", "decoder.layers.1.feed_forward.to_hidden.weight", math.inf),
        ("safetensors", "decoder.layers.1.feed_forward.to_hidden.weight", -math.inf),
        ("safetensors", "embeddings.tables.shared", math.nan),
    ],
)
def test_weights_that_are_not_numbers_are_refused_even_where_a_relu_hides_them(
    tmp_path: Path, form: str, name: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(run_content(changed_model(name, value)), tmp_path / "model.ckpt", step=1)
    message = refused(capsys, 2, tmp_path / "model.ckpt", "--format", form)
    assert re.search(rf"model\.ckpt: the weights in .*{re.escape(name)}.* are not all finite.* earlier", message)
    assert message.count("\n") == 1
    assert not (tmp_path / "export").exists()


def changed_model(name: str, value: float) -> Transformer:
    model = copy.deepcopy(MODEL)
    with torch.no_grad():
        dict(model.named_parameters())[name].view(-1)[100] = value
    return model


def test_finite_weights_with_products_that_are_not_fail(
    tmp_path: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    model = changed_model("decoder.layers.1.cross_attention.to_out.weight", 3e38)
    write_model(run_content(model), tmp_path / "model.ckpt", step=1)
    options = ("--format", "ctranslate2", "--parity-input", lines, "--output", tmp_path / "o")
    message = refused(capsys, 1, tmp_path / "model.ckpt", *options)
    assert re.search(r"the (original|exported) model gives .* no finite number, so it cannot", message)
    assert [path.name for path in tmp_path.iterdir() if path.name != "lines.fr"] == ["model.ckpt"]


@pytest.mark.parametrize(("place", "who"), [(0, "original"), (-1, "original"), (1, "exported")])
def test_one_number_that_is_none_fails_the_comparison_wherever_it_stands(place: int, who: str) -> None:
    """`max` and `>` both let nan pass, depending on where it stands."""

    class Broken(PyTorchEngine):
        def score(self, sources: Any, targets: Any) -> list[list[float]]:
            log_probs = super().score(sources, targets)
            log_probs[place][place] = math.nan
            return log_probs

    sound, broken = (
        engine([copy.deepcopy(MODEL)], torch.device("cpu"), "float32") for engine in (PyTorchEngine, Broken)
    )
    pair = (broken, sound) if who == "original" else (sound, broken)
    decoding = read_config(run_content(MODEL).config).decoding
    with pytest.raises(ParityError, match=rf"the {who} model gives .* no finite number"):
        measure_parity(*pair, tokenizer(), decoding, SENTENCES)


@pytest.mark.parametrize(
    "changes",
    [{"sampling": True}, {"normalization": "gnmt", "n_best": 3}],
    ids=str,
)
def test_models_validated_in_a_way_that_ctranslate2_lacks_are_compared_all_the_same(
    tmp_path: Path, lines: Path, changes: dict[str, Any]
) -> None:
    needs_ctranslate2()
    content = run_content(MODEL)
    config = dict(content.config)
    config["decoding"] = {**config["decoding"], **changes}
    write_model(dataclasses.replace(content, config=config), tmp_path / "model.ckpt", step=1)
    main([str(tmp_path / "model.ckpt"), "--format", "ctranslate2", "--parity-input", str(lines)])


def test_weights_that_float16_cannot_hold_are_refused(
    tmp_path: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    write_model(
        run_content(changed_model("encoder.layers.0.feed_forward.to_hidden.weight", 7e4)), tmp_path / "m", step=1
    )
    options = ("--format", "ctranslate2", "--quantization", "float16", "--parity-input", lines)
    message = refused(capsys, 2, tmp_path / "m", *options)
    assert "beyond 65,504, the largest number of float16" in message
    assert "choose bfloat16" in message


def test_rounding_that_changes_too_much_fails(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_ctranslate2()
    monkeypatch.setattr(export, "_MEAN_DIFFERENCE", {"int8": 1e-6})
    options = [str(run_dir), "--format", "ctranslate2", "--quantization", "int8", "--parity-input", str(lines)]
    assert "more than 1e-06; nothing was written, choose another --quantization" in refused(capsys, 1, *options)
    assert "more than 2e-06; nothing was written" in refused(capsys, 1, *options, "--tolerance", "2e-6")
    assert not list((run_dir / "export").iterdir())
    main([*options, "--tolerance", "10"])
    assert is_model_directory(run_dir / "export" / "ctranslate2-int8")


def test_tensors_that_come_back_otherwise_fail(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounded(directory: Path, weights: dict[str, torch.Tensor], fingerprint: str) -> None:
        name = "decoder.norm.weight"
        write_safetensors(directory, {**weights, name: weights[name] * (1 + 1e-6)}, fingerprint)

    monkeypatch.setattr("seq2seq.export.export.write_safetensors", rounded)
    message = refused(capsys, 1, run_dir, "--format", "safetensors")
    assert "did not come back as it was written (decoder.norm.weight)" in message
    assert not list((run_dir / "export").iterdir())


# --- the lines ---


def configuration(**data: Any) -> Any:
    config = read_config(run_content(MODEL).config)
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **data))


def test_lines_are_the_first_that_the_model_can_take(lines: Path) -> None:
    assert find_lines(configuration(), tokenizer(), lines).sources == SENTENCES


def test_lines_come_from_the_validation_set(tmp_path: Path) -> None:
    for language, word in (("fr", "Oui"), ("en", "Yes")):
        (tmp_path / f"dev.{language}").write_text("".join(f"{word} {n}\n" for n in range(120)))
    found = find_lines(configuration(dir=str(tmp_path), valid="dev"), tokenizer())
    assert found.origin == "the validation set"
    assert found.sources == [f"Oui {n}" for n in range(N_LINES)]


def test_without_it_they_come_from_the_sample_corpus() -> None:
    found = find_lines(configuration(), tokenizer())
    assert found.origin == "the sample corpus (valid.fr)"
    assert len(found.sources) == N_LINES


def test_in_another_language_they_must_be_given() -> None:
    with pytest.raises(CorpusError, match=r"no lines to compare the exported model on; name a file .* --parity-input"):
        find_lines(configuration(src_lang="sw"), tokenizer())


def test_lines_of_no_use_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.fr").write_text("\n \n")
    with pytest.raises(CorpusError, match=r"lines\.fr: has no line that the model can translate"):
        find_lines(configuration(), tokenizer(), tmp_path / "lines.fr")
