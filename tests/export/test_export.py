"""From a run to what one ships, and the comparison that stands between the two."""

import builtins
import copy
import dataclasses
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq import cli
from seq2seq.artifacts.checkpoint import description_of, write_checkpoint, write_model
from seq2seq.artifacts.model_directory import is_model_directory, read_model_directory, write_safetensors
from seq2seq.config import read_config
from seq2seq.errors import CorpusError
from seq2seq.export import conversion, export
from seq2seq.export.parity import N_LINES, find_lines
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from tests.places import ROOT
from tests.translation.engines.models import SENTENCES, random_model, run_content, tokenizer

pytestmark = pytest.mark.slow

MODEL = random_model(seed=3, end_bonus=2.0)


def main(arguments: list[str]) -> None:
    cli.main(["export", *arguments])


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    write_model(run_content(MODEL), folder / "checkpoints" / "model.ckpt", step=1)
    return folder


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A few lines to compare with."""
    file = tmp_path / "lines.fr"
    file.write_text("\n".join(["", *SENTENCES, "  ", "trop long " * 20]) + "\n", encoding="utf-8")
    return file


def needs_ctranslate2() -> None:
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")


def needs_exact_int8() -> None:
    """On x86 without VNNI sums of 8-bit products overflow, and random weights make the most of that."""
    cpu_info = Path("/proc/cpuinfo")
    if platform.machine() == "x86_64" and cpu_info.is_file() and "_vnni" not in cpu_info.read_text():
        pytest.skip("8-bit products overflow on this processor")


def refused(capsys: pytest.CaptureFixture[str], status: int, *args: object) -> str:
    """What `main` says on stderr when it ends with this status."""
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    assert stopped.value.code == status
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    return message


# --- what comes out ---


def test_a_run_becomes_a_directory_for_ctranslate2(run_dir: Path) -> None:
    needs_ctranslate2()
    command = [sys.executable, "-m", "seq2seq", "export", str(run_dir), "--format", "ctranslate2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "PyTorch and CTranslate2 in float32, 100 lines of the sample corpus (valid.fr):" in done.stdout
    assert "against each other (no references)" in done.stdout
    output = run_dir / "export" / "ctranslate2"
    assert f"wrote {output}; translate with: python translate.py --model {output}" in done.stdout
    assert is_model_directory(output)
    assert {file.name for file in (output / "ctranslate2").iterdir()} == {
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
    }
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize("quantization", ["int8", "float16", "int8_bfloat16", "int16"])
def test_weights_are_stored_as_asked_for_and_checked_as_this_machine_can(
    run_dir: Path, lines: Path, quantization: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    if quantization.startswith("int"):
        needs_exact_int8()
    main([str(run_dir), "--format", "ctranslate2", "--quantization", quantization, "--parity-input", str(lines)])
    shown = capsys.readouterr().out
    assert "PyTorch and CTranslate2 in float32, 4 lines of" in shown
    assert f"with {quantization} weights, which this CPU computes in " in shown
    output = run_dir / "export" / f"ctranslate2-{quantization}"
    size = (output / "ctranslate2" / "model.bin").stat().st_size
    assert size < 0.65 * 4 * MODEL.n_parameters
    assert f"weights for CTranslate2, {quantization}" in (output / "README.md").read_text()


def test_weights_for_pytorch_come_back_bit_for_bit(
    run_dir: Path, lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "shipped"
    main([str(run_dir), "--format", "safetensors", "--output", str(output), "--parity-input", str(lines)])
    assert "tensors equal bit for bit; 4 lines of" in capsys.readouterr().out
    expected = dict(run_content(MODEL).weights)
    torch.testing.assert_close(dict(read_model_directory(output).weights), expected, rtol=0, atol=0)


def test_one_directory_may_hold_both_and_be_exported_again(run_dir: Path, lines: Path) -> None:
    needs_ctranslate2()
    options = ["--parity-input", str(lines)]
    main([str(run_dir / "checkpoints" / "model.ckpt"), "--format", "ctranslate2", "--format", "safetensors", *options])
    both = run_dir / "export" / "safetensors-ctranslate2"
    assert (both / "model.safetensors").is_file()
    assert (both / "ctranslate2" / "model.bin").is_file()
    main([str(both), "--format", "ctranslate2", "--quantization", "float16", *options])
    assert is_model_directory(run_dir / "export" / "ctranslate2-float16")


def test_the_model_card_says_what_it_is_and_what_it_scored(run_dir: Path, lines: Path) -> None:
    bleu = {"score": 41.2345, "mean": 41.2, "half_width": 1.057, "signature": "nrefs:1|bs:1000|seed:12345|tok:13a"}
    (run_dir / "scores.json").write_text(json.dumps({"news": {"bleu": bleu}}))
    (run_dir / "selection.json").write_text(json.dumps({"selected": "last", "valid": {"last": {"bleu": 40.0}}}))
    main([str(run_dir), "--format", "safetensors", "--parity-input", str(lines)])
    card = (run_dir / "export" / "safetensors" / "README.md").read_text()
    for part in (
        "fr to en",
        f"{MODEL.n_parameters:,} parameters; 1 encoder and 2 decoder layers, d_model 24, 3 heads, d_ff 40",
        "pre-norm, relu, sinusoidal positions, shared embeddings",
        r"| valid | bleu | 40.00 | `nrefs:1\|tok:13a` |",
        r"| news | bleu | 41.23 ± 1.06 | `nrefs:1\|bs:1000\|seed:12345\|tok:13a` |",
        "python translate.py --model DIR",
        'seq2seq.load("DIR").translate(["..."])',
    ):
        assert part in card


def test_an_unscored_run_has_a_card_that_says_so(run_dir: Path, lines: Path) -> None:
    main([str(run_dir), "--format", "safetensors", "--parity-input", str(lines)])
    assert "had not been scored" in (run_dir / "export" / "safetensors" / "README.md").read_text()


def test_damaged_scores_are_named(run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_dir / "selection.json").write_text('{"selected": "last", "valid": {}}')
    (run_dir / "scores.json").write_text('{"news": ')
    message = refused(capsys, 2, run_dir, "--format", "safetensors", "--parity-input", lines)
    assert "scores.json: is not JSON, so it is damaged" in message


def test_ctrl_c_leaves_nothing(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seq2seq.translation.engines.pytorch.PyTorchEngine.decode", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main([str(run_dir), "--format", "safetensors", "--parity-input", str(lines)])
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not list((run_dir / "export").iterdir())


def test_an_existing_directory_is_replaced_only_if_asked_for(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [run_dir, "--format", "safetensors", "--parity-input", lines]
    main([str(arg) for arg in args])
    assert "exists already, and is kept; add --force" in refused(capsys, 2, *args)
    main([str(arg) for arg in [*args, "--force"]])


# --- the comparison ---


def swap_two_biases(spec: Any) -> None:
    first, second = (layer.ffn.linear_1 for layer in spec.decoder.layer)
    first.bias, second.bias = second.bias, first.bias


def swap_queries_and_keys(spec: Any) -> None:
    attention = spec.encoder.layer[0].self_attention.linear[0]
    attention.weight = attention.weight.reshape(3, 24, 24)[[1, 0, 2]].reshape(72, 24)


def forget_the_positions(spec: Any) -> None:
    spec.decoder.position_encodings.encodings = 0 * spec.decoder.position_encodings.encodings


@pytest.mark.parametrize("quantization", ["float32", "int8"])
@pytest.mark.parametrize("damage", [swap_two_biases, swap_queries_and_keys, forget_the_positions])
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


def test_rounding_that_changes_too_much_fails(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_ctranslate2()
    monkeypatch.setattr(export, "_MEAN_DIFFERENCE", {"int8": 1e-6})
    options = ("--format", "ctranslate2", "--quantization", "int8", "--parity-input", lines)
    assert "more than 1e-06; nothing was written, choose another --quantization" in refused(
        capsys, 1, run_dir, *options
    )
    assert not list((run_dir / "export").iterdir())


def test_tensors_that_come_back_otherwise_fail(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounded(directory: Path, weights: dict[str, torch.Tensor], fingerprint: str) -> None:
        name = "decoder.norm.weight"
        write_safetensors(directory, {**weights, name: weights[name] * (1 + 1e-6)}, fingerprint)

    monkeypatch.setattr("seq2seq.export.export.write_safetensors", rounded)
    message = refused(capsys, 1, run_dir, "--format", "safetensors", "--parity-input", lines)
    assert "did not come back as it was written (decoder.norm.weight)" in message
    assert not list((run_dir / "export").iterdir())


def test_both_scores_are_shown_where_there_are_references(
    run_dir: Path, lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    references = tmp_path / "lines.en"
    references.write_text("\n".join(str(n) for n in range(7)) + "\n")
    files = ["--parity-input", str(lines), "--parity-reference", str(references)]
    main([str(run_dir), "--format", "ctranslate2", *files])
    assert "BLEU 0.00 before and 0.00 after" in capsys.readouterr().out


def test_log_probabilities_are_those_of_the_search() -> None:
    """What is compared, `score`, is about what the search computes."""
    engine = PyTorchEngine([copy.deepcopy(MODEL)], torch.device("cpu"), "float32")
    sources = tokenizer().encode(SENTENCES)
    decoding = dataclasses.replace(read_config(run_content(MODEL).config).decoding, n_best=1)
    found = [hypotheses[0] for hypotheses in engine.decode([Sentence(source) for source in sources], decoding)]
    assert any(hypothesis.finished for hypothesis in found)
    for hypothesis, log_probs in zip(found, engine.score(sources, [each.tokens for each in found]), strict=True):
        assert len(log_probs) == len(hypothesis.tokens) + 1
        expected = sum(log_probs if hypothesis.finished else log_probs[:-1])
        assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)


# --- the lines ---


def configuration(**data: Any) -> Any:
    config = read_config(run_content(MODEL).config)
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **data))


def test_lines_are_the_first_that_the_model_can_take(lines: Path) -> None:
    assert find_lines(configuration(), tokenizer(), lines).sources == SENTENCES


def test_lines_come_from_the_validation_set_with_its_references(tmp_path: Path) -> None:
    for language, word in (("fr", "Oui"), ("en", "Yes")):
        (tmp_path / f"dev.{language}").write_text("".join(f"{word} {n}\n" for n in range(120)))
    found = find_lines(configuration(dir=str(tmp_path), valid="dev"), tokenizer())
    assert found.origin == "the validation set"
    assert found.sources == [f"Oui {n}" for n in range(N_LINES)]
    assert found.references == [f"Yes {n}" for n in range(N_LINES)]


def test_without_it_they_come_from_the_sample_corpus() -> None:
    found = find_lines(configuration(), tokenizer())
    assert found.origin == "the sample corpus (valid.fr)"
    assert len(found.sources) == N_LINES
    assert found.references is None


def test_in_another_language_they_are_random_pieces() -> None:
    found = find_lines(configuration(src_lang="sw"), tokenizer())
    assert found.origin == "random pieces of the vocabulary"
    assert len(found.sources) > 0.9 * N_LINES
    assert len(set(found.sources)) > 0.8 * N_LINES
    assert all(len(ids) < 50 for ids in tokenizer().encode(found.sources))


@pytest.mark.parametrize(
    ("text", "reference", "message"),
    [
        ("\n \n", None, "has no line that the model can translate"),
        ("Oui\nNon\n", "Yes\n", r"lines\.en has 1 lines and .*lines\.fr 2"),
    ],
)
def test_lines_of_no_use_are_refused(tmp_path: Path, text: str, reference: str | None, message: str) -> None:
    (tmp_path / "lines.fr").write_text(text)
    (tmp_path / "lines.en").write_text(reference or "")
    with pytest.raises(CorpusError, match=message):
        find_lines(configuration(), tokenizer(), tmp_path / "lines.fr", tmp_path / "lines.en" if reference else None)


# --- what is refused ---


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere", "--format", "safetensors"], "nowhere: no such run directory or checkpoint"),
        (["RUN", "--format", "safetensors", "--quantization", "int8"], "is for CTranslate2; add --format ctranslate2"),
        (["RUN", "--format", "safetensors", "--parity-reference", "x"], "--parity-reference translates the lines of"),
        (["RUN", "--format", "safetensors", "--parity-input", "nowhere"], "nowhere"),
        (["RUN", "--format", "safetensors", "--output", "RUN"], "exists already, and is kept; choose another --output"),
    ],
)
def test_mistakes_are_one_sentence(
    run_dir: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, 2, *[str(run_dir) if arg == "RUN" else arg for arg in args])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"model": {"d_modle": 8}}}, "not one of this version of seq2seq"),
        ({"config": 3}, "its config is a int, so this project did not write it"),
        ({"tokenizer_sha256": "0" * 64}, "not the one that the model was trained with"),
        ({"tokenizer": b"bytes"}, "its tokenizer is not stored as bytes"),
        ({"state_dict": {}}, "holds no weights of a Transformer"),
        ({"state_dict": {"model.x": torch.ones(2)}}, "its weights do not fit its own configuration"),
    ],
)
def test_checkpoints_that_do_not_fit_together_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state_dict = {f"model.{name}": weight for name, weight in MODEL.state_dict().items()}
    content = {**description_of(run_content(MODEL)), "state_dict": state_dict, **changes}
    write_checkpoint(content, tmp_path / "model.ckpt")
    assert message in refused(capsys, 2, tmp_path / "model.ckpt", "--format", "safetensors")


def test_weights_for_ctranslate2_cannot_be_exported_again(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    main([str(run_dir), "--format", "ctranslate2", "--parity-input", str(lines)])
    message = refused(capsys, 2, run_dir / "export" / "ctranslate2", "--format", "safetensors")
    assert "holds weights for CTranslate2 only; give the run that it came from" in message


def test_without_the_package_the_message_names_the_extra(
    run_dir: Path, lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ctranslate2":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    message = refused(capsys, 2, run_dir, "--format", "ctranslate2", "--parity-input", lines)
    assert "pip install -e '.[ctranslate2]'" in message


def test_help_says_what_there_is_to_choose(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for word in ("safetensors", "ctranslate2", "int8_float16", "--parity-input", "--force"):
        assert word in shown
