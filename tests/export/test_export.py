"""From a run to what one ships."""

import builtins
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.artifacts.model_directory import is_model_directory, read_model_directory
from seq2seq.export import export
from seq2seq.translation.engines.ctranslate2 import require_ctranslate2
from tests.export.exporting import MODEL, main, needs_ctranslate2, needs_exact_int8, refused
from tests.nightly import drawn
from tests.places import ROOT
from tests.translation.engines.models import run_content

pytestmark = pytest.mark.slow

# --- what comes out ---


def test_a_run_becomes_a_directory_for_ctranslate2_which_becomes_no_other(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
    main([str(run_dir), "--format", "ctranslate2"])
    shown = capsys.readouterr().out
    assert "PyTorch and CTranslate2 in float32, 100 lines of the sample corpus (valid.fr):" in shown
    assert "100 of 100 translations identical\n" in shown
    output = run_dir / "export" / "ctranslate2"
    assert f"wrote {output}; translate with: python translate.py --model {output}" in shown
    assert is_model_directory(output)
    assert {file.name for file in (output / "ctranslate2").iterdir()} == {
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
    }
    message = refused(capsys, 2, output, "--format", "safetensors")
    assert "holds weights for CTranslate2 only; give the run that it came from" in message
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize("quantization", ["int8", "int8_bfloat16"])
def test_weights_are_stored_as_asked_for_and_checked_as_this_machine_can(
    run_dir: Path, lines: Path, quantization: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_ctranslate2()
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
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "shipped"
    main([str(run_dir), "--format", "safetensors", "--output", str(output)])
    assert "tensors equal bit for bit" in capsys.readouterr().out
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


def test_the_model_directory_that_one_is_in_is_exported_beside_it(
    run_dir: Path, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_ctranslate2()
    main([str(run_dir), "--format", "safetensors"])
    monkeypatch.chdir(run_dir / "export" / "safetensors")
    before = sorted(Path().iterdir())
    main([".", "--format", "ctranslate2", "--parity-input", str(lines)])
    assert sorted(Path().iterdir()) == before and is_model_directory(run_dir / "export" / "ctranslate2")


def test_the_model_card_says_what_it_is_and_what_it_scored(run_dir: Path) -> None:
    main([str(run_dir), "--format", "safetensors"])
    assert "had not been scored" in (run_dir / "export" / "safetensors" / "README.md").read_text()
    bleu = {"score": 41.2345, "mean": 41.2, "half_width": 1.057, "signature": "nrefs:1|bs:1000|seed:12345|tok:13a"}
    (run_dir / "scores.json").write_text(json.dumps({"news": {"bleu": bleu}}))
    of_valid = bleu | {"score": 40.0, "signature": "nrefs:var|bs:1000|seed:12345|tok:13a"}
    selection = {"selected": "last", "valid": {"last": {"bleu": 40.0, "ter": 50.0}}, "intervals": {"bleu": of_valid}}
    (run_dir / "selection.json").write_text(json.dumps(selection))
    main([str(run_dir), "--format", "safetensors", "--force"])
    card = (run_dir / "export" / "safetensors" / "README.md").read_text()
    for part in (
        "fr to en",
        f"{MODEL.n_parameters:,} parameters; 1 encoder and 2 decoder layers, d_model 24, 3 heads, d_ff 40",
        "pre-norm, relu, sinusoidal positions, shared embeddings",
        "| valid | ter | 50.00 | |",  # of a run that kept no interval
        r"| valid | bleu | 40.00 ± 1.06 | `nrefs:var\|bs:1000\|seed:12345\|tok:13a` |",
        r"| news | bleu | 41.23 ± 1.06 | `nrefs:1\|bs:1000\|seed:12345\|tok:13a` |",
        "seq2seq translate --model DIR",
        'seq2seq.load("DIR").translate(["..."])',
    ):
        assert part in card


def test_damaged_scores_are_named(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_dir / "selection.json").write_text('{"selected": "last", "valid": {"last": {}}}')
    (run_dir / "scores.json").write_text('{"news": ')
    message = refused(capsys, 2, run_dir, "--format", "safetensors")
    assert "scores.json: is not JSON, so it is damaged" in message


@pytest.mark.parametrize(("signum", "said"), [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, "")])
def test_a_signal_leaves_nothing(
    run_dir: Path,
    signum: int,
    said: str,
    own_signals: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[Path] = []

    def interrupted(*_: object) -> None:
        began.extend((run_dir / "export").glob(".*.tmp/new/model.safetensors"))
        os.kill(os.getpid(), signum)

    monkeypatch.setattr(export, "_check_stored", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main([str(run_dir), "--format", "safetensors"])
    assert stopped.value.code == 128 + signum
    assert capsys.readouterr().err == said
    assert began and not list((run_dir / "export").iterdir())


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(10))
def test_sigterm_at_any_moment_leaves_nothing_or_all(run_dir: Path, number: int) -> None:
    needs_ctranslate2()
    command = [sys.executable, "-m", "seq2seq", "export", str(run_dir), "--format", "ctranslate2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list((run_dir / "export").glob(".*.tmp/new/ctranslate2")):
        time.sleep(0.002)
    time.sleep(drawn(number).uniform(0.0, 0.1))
    process.terminate()
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) in ((143, ""), (0, ""))
    assert [path.name for path in (run_dir / "export").iterdir()] == ["ctranslate2"] * (process.returncode == 0)


# --- what is refused ---


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere", "--format", "safetensors"], "nowhere: no such run directory or checkpoint"),
        (["wandb:ann/demo:v1", "--format", "safetensors"], "lies in a cache; name a directory for its"),
        (["RUN", "--format", "safetensors", "--quantization", "int8"], "is for CTranslate2; add --format ctranslate2"),
        (["RUN", "--format", "ctranslate2", "--tolerance", "1"], "--tolerance is for rounded weights"),
        (["RUN", "--format", "safetensors", "--parity-input", "x"], "--parity-input is for CTranslate2"),
        (["RUN", "--format", "ctranslate2", "--parity-input", "nowhere"], "nowhere"),
        (["RUN", "--format", "safetensors", "--output", "RUN"], "exists already, and is kept; choose another --output"),
    ],
)
def test_mistakes_are_one_sentence(
    run_dir: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, 2, *[str(run_dir) if arg == "RUN" else arg for arg in args])


def test_a_signal_while_the_package_is_imported_does_not_make_it_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def interrupted(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ctranslate2":
            raise ImportError("initialization failed") from SystemExit(143)  # so does C++
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit, match="143"):
        require_ctranslate2()
