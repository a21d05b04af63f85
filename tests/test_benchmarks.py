"""What the benchmarks count and compute; how fast something is, no test can say."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.config import ModelConfig
from seq2seq.model.transformer import Transformer
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.vocabulary import PAD
from tests.export.exporting import needs_exact_int8
from tests.places import ROOT
from tests.training.tiny_runs import command


def script(name: str) -> ModuleType:
    path = ROOT / "benchmarks" / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # as for a program: a benchmark imports others
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("changes", [{}, {"n_heads": 4, "n_kv_heads": 2, "d_head": 5, "d_value": 7}], ids=str)
def test_the_products_of_a_step_have_the_operations_that_torch_counts(changes: dict[str, Any]) -> None:
    config = replace(ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1), **changes)
    model = Transformer(config, vocab_size=31)
    src, tgt = torch.randint(4, 31, (130, 7)), torch.randint(4, 31, (130, 5))
    tgt[:30, 4] = PAD  # 620 tokens are left, more than the loss takes at a time
    with FlopCounterMode(display=False) as counter:
        hidden = model.decode(tgt, model.encode(src), src)
        smoothed_cross_entropy(hidden, model.embeddings.output, tgt, 0.1).smoothed.backward()

    forward = script("product_rate.py").products_of(config, 31, "cpu", sentences=130, src=7, tgt=5, scored=620)
    counted = sum(product.n_operations for each in forward for product in each.of_a_step)
    assert counted == counter.get_total_flops()


def test_the_meter_counts_what_follows_the_warmup() -> None:
    meter_module = script("peers/meter.py")
    job = meter_module.Job(precision="fp32", steps=2, warmup=1, config={}, folder="")
    meter = meter_module.Meter(job)
    for n_pads in (3, 1, 0):  # the first step is the warm-up
        src, tgt = torch.ones(2, 5, dtype=torch.bool), torch.ones(2, 7, dtype=torch.bool)
        src[0, :n_pads] = False
        meter.count(src, tgt)
        meter.end_step()

    assert meter.is_done
    assert meter.counts == {"src": 19, "tgt": 28, "src_slots": 20, "tgt_slots": 28, "sentences": 4}


def test_ratios_are_taken_within_rounds() -> None:
    # The second round was half as fast for both; the ratio of medians would be 2.5 / 1.5.
    assert script("rounds.py").median_ratio([4.0, 2.0, 2.5], [2.0, 1.0, 1.5]) == pytest.approx(2.0)


@pytest.mark.slow
def test_translation_is_measured_with_both_engines(trained_run: Path, tmp_path: Path) -> None:
    needs_exact_int8()
    (tmp_path / "text").write_text("Ba bi.\nFo fu da.\n")
    words = ["--model", trained_run, "--input", tmp_path / "text", "--rounds", 1, "--beam", 1, "--warmup", 1]
    words += ["--contenders", "torch fp32", "ct2 int8", "--threads", 1]
    done = command(*map(str, words), script="benchmarks/translate_speed.py")
    assert done.returncode == 0, done.stderr
    assert [row.split("|")[1].strip() for row in done.stdout.splitlines()[-2:]] == ["torch fp32", "ct2 int8"]


def test_a_record_takes_three_seeds_that_are_surely_above_the_target() -> None:
    verdict = script("speedrun.py").verdict
    assert "a record takes three seeds" in verdict([60.0, 60.0], [0.1, 0.1])
    # Student's t of these is (52.9 - 52.5) / (0.1 / sqrt(3)) = 6.93, and 6.965 has p = 0.01 with 2 degrees of freedom.
    assert "52.5 BLEU is not reached: 52.90 on average of 3 after 360 s" in verdict([52.8, 52.9, 53.0], [0.1, 0.1, 0.1])
    assert "52.5 BLEU is reached: 52.91 on average of 3" in verdict([52.81, 52.91, 53.01], [0.1, 0.1, 0.1])
