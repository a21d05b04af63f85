"""What only a GPU can show (`make gpu` runs it), and the program that shows it, as far as a CPU goes."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.places import ROOT
from tests.test_benchmarks import script
from tests.training.tiny_runs import command


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return script("gpu.py")


def where(gpu: ModuleType, folder: Path, peak: Any = None) -> Any:
    return gpu.Where("cpu", True, peak, folder, None)


# --- the program ---


def test_parts_run_and_become_one_table(tmp_path: Path) -> None:
    table = tmp_path / "gpu.md"
    words = ["--device", "cpu", "--quick", "--output", str(table), "--parts", "tests", "attention"]
    done = command(*words, script="benchmarks/gpu.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == table.read_text().strip()
    rows = [line for line in table.read_text().splitlines() if line.startswith("|")]
    assert f"| torch | {torch.__version__}, " in done.stdout
    assert "| tests |  | skipped |  |  |  | no tests are of a CPU alone; run make test |" in rows
    assert sum("| attention, " in row for row in rows) == 3


def test_a_part_that_fails_or_takes_too_long_is_a_row_and_the_others_go_on(gpu: ModuleType, tmp_path: Path) -> None:
    def failing(where: Any) -> Any:
        yield gpu.Row("first")
        gpu.run(["-c", "raise SystemExit('error: no such thing | here')"], 60)

    def endless(where: Any) -> Any:
        yield gpu.Row("first", gpu.run(["-c", "import time; time.sleep(60)"], 0.5))

    def strange(where: Any) -> Any:
        yield gpu.Row("first", note=json.loads("{"))

    (first, failed), ended_well = gpu.rows_of("broken", failing, where(gpu, tmp_path))
    assert (first.what, failed.what, failed.result, ended_well) == ("first", "broken", "**failed**", False)
    assert failed.note.startswith("error: no such thing | here (status 1: python -c ")
    assert "no such thing / here" in gpu.page([failed], "cpu", 1.0)
    ((late,), ended_well) = gpu.rows_of("late", endless, where(gpu, tmp_path))
    assert (late.note.startswith("no end within 0 s: python -c "), ended_well) == (True, False)
    ((odd,), ended_well) = gpu.rows_of("odd", strange, where(gpu, tmp_path))
    assert (odd.note.startswith("JSONDecodeError: "), ended_well) == (True, False)


def test_without_a_gpu_one_sentence_says_so(gpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(
        SystemExit, match=r"^There is no GPU here that torch .* can use; with --device cpu --quick all "
    ):
        gpu.main()


def test_shares_of_the_peak_and_of_the_products(gpu: ModuleType, tmp_path: Path) -> None:
    """A step of 1,000 target tokens at 4,000 a second takes 0.25 s; 20,000 GFLOP in it are 80 TFLOP/s."""
    measured = {"contender": "ours bf16", "tgt_per_s": 4000.0, "n_compilations": 0, "peak_gb": 1.5}
    record = {
        "arguments": {"synthetic": 32, "max_tokens": 1024, "compile": False},
        "measurements": [measured, measured | {"contender": "ours fp32"}],
        "limit": {"batch": {"scored": 1000}, "gflop": 20_000.0, "seconds": {"bf16": 0.1, "fp32": 0.2}},
    }
    peak = script("gpu_peaks.py").Peak(bf16=320, fp32=160)
    bf16, fp32 = gpu.speed_rows(record, "training", where(gpu, tmp_path, peak), ["bf16", "fp32"])
    assert (bf16.of_peak, bf16.of_products, fp32.of_peak, fp32.of_products) == ("25.0%", "40%", "50.0%", "80%")
    assert (bf16.result, bf16.memory) == ("4,000 target tokens/s", "1.50 GB")


@pytest.mark.parametrize(
    ("name", "bf16"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A10G", 70),
        ("NVIDIA L40S", 362),
        ("NVIDIA L4", 121),
        ("NVIDIA RTX 6000 Ada Generation", 364),
        ("NVIDIA RTX A6000", 154.8),
        ("NVIDIA Something 100", None),
    ],
)
def test_the_peak_is_that_of_the_name(name: str, bf16: float | None) -> None:
    peak = script("gpu_peaks.py").peak_of(name)
    assert (peak and peak.bf16) == bf16


# --- what a GPU computes ---


@pytest.mark.slow
def test_parity_is_judged_by_differences_and_translations() -> None:
    parity = script("device_parity.py")
    found = parity.compare(torch.device("cpu"))
    assert found["fp32"] == {
        **dict.fromkeys(("logits", "loss", "gradient"), 0.0),
        **dict.fromkeys(("same_greedy", "same_beam"), 1.0),
        "limit": 1e-4,
        "is_near": True,
    }
    assert found["bf16"]["is_near"]
    assert found["bf16"]["logits"] > 1e-4  # so float32 would be too far with bf16 in its place


@pytest.mark.gpu
def test_a_gpu_is_near_the_cpu() -> None:
    found = script("device_parity.py").compare(torch.device("cuda"))
    assert {precision: figures["is_near"] for precision, figures in found.items()} == {"fp32": True, "bf16": True}
