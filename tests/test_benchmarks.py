"""What the benchmarks count and compute; how fast something is, no test can say."""

import importlib.util
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.config import ModelConfig
from seq2seq.model.transformer import Transformer
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.vocabulary import PAD
from tests.places import ROOT


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


# --- docs/scale.md ---


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return script("scale.py")


def test_the_page_on_scale_has_the_numbers_of_its_program(scale: ModuleType) -> None:
    page = scale.PAGE.read_text(encoding="utf-8")
    assert scale.filled(page) == page, "run python benchmarks/scale.py"
    assert scale.filled(page.replace("6.6 GB", "7.7 GB")) == page


def test_the_operations_of_a_step_are_those_of_its_products(scale: ModuleType) -> None:
    """Attention scores are left out: with sentences of 16 tokens they are small."""
    sizes = ModelConfig(d_model=512, n_heads=8, d_ff=2048, n_encoder_layers=6, n_decoder_layers=6)
    lengths = {"sentences": 64, "src": 16, "tgt": 16, "scored": 1024}
    forward = script("product_rate.py").products_of(sizes, 32_000, "cuda", **lengths)
    counted = sum(product.n_operations for each in forward for product in each.of_a_step)
    assert scale.BASE.operations(1024) == pytest.approx(counted, rel=0.01)


def test_the_products_of_a_step_are_the_parameters_of_a_big_model(scale: ModuleType) -> None:
    """209.1 million, less the biases and norms."""
    with torch.device("meta"):
        n = Transformer(
            ModelConfig(d_model=1024, n_heads=16, d_ff=4096, n_encoder_layers=6, n_decoder_layers=6), 32_000
        )
    assert scale.BIG.matrices == pytest.approx(n.n_parameters, rel=0.001)


def test_a_step_by_hand(scale: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """6 operations x 44,040,192 + 16,384,000 numbers x 1,000 tokens; 989 TFLOP/s; 4 bytes x 7/8 x 2 at 300 GB/s."""
    found = scale.step(scale.BASE, scale.GPUS[0], 1000, compiled=False, n_gpus=8)
    assert found.at_peak == pytest.approx(6 * 60_424_192 * 1000 / 989e12)
    assert found.products == pytest.approx(found.at_peak / 0.7)
    assert found.exchange == pytest.approx(4 * 60_424_192 * 1.75 / 300e9)
    assert found.total == pytest.approx(max(found.products + found.memory, 1201 * 6e-6) + found.exchange)
