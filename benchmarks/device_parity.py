"""Does a device compute what a CPU does in float32?  python benchmarks/device_parity.py --device cuda

One model with random weights does a step on both, and translates a few sentences on both: in float32, which must agree
to rounding, and with the device's bf16, which must agree to that rounding. It prints a line of JSON: for each
precision how far apart things are, and whether that is too far.

Shapes: B sentences, S source tokens, T target tokens, V vocabulary
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig, ModelConfig
from seq2seq.decoding.search import decode_ids
from seq2seq.hardware import speed_up_gpu
from seq2seq.model.transformer import Transformer
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.vocabulary import BOS, EOS, PAD

VOCAB_SIZE = 1000
N_PAIRS, LONGEST = 24, 30
# Relative to the largest number that the CPU has. float32 sums in another order; bf16 keeps 8 bits of each factor.
LIMITS = {"fp32": 1e-4, "bf16": 5e-2}
SAME_LINES = {"fp32": 0.95, "bf16": 0.5}  # random weights have near ties, which rounding decides in another way


class Outcome(NamedTuple):
    """What is compared, on the CPU."""

    logits: Tensor  # (B, T, V)
    loss: Tensor
    gradient: Tensor  # of all weights, one after another
    translations: dict[str, list[list[int]]]  # by the name of the search, the best of each sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="of torch; default: cuda")
    print(json.dumps(compare(torch.device(parser.parse_args().device))))


def compare(device: torch.device) -> dict[str, dict[str, Any]]:
    """For each precision: differences, shares of equal translations, and whether all of it is within the limits."""
    if device.type == "cuda":
        speed_up_gpu()
    expected = outcome(torch.device("cpu"), bf16=False)
    found = {}
    for precision, limit in LIMITS.items():
        other = outcome(device, bf16=precision == "bf16")
        figures = {name: _apart(getattr(other, name), getattr(expected, name)) for name in Outcome._fields[:3]}
        is_near = all(difference <= limit for difference in figures.values())
        for name, lines in other.translations.items():
            figures[f"same_{name}"] = _same(lines, expected.translations[name])
            is_near &= figures[f"same_{name}"] >= SAME_LINES[precision]
        found[precision] = {**figures, "limit": limit, "is_near": is_near}
    return found


def outcome(device: torch.device, *, bf16: bool) -> Outcome:
    torch.manual_seed(1)
    sizes = ModelConfig(d_model=128, n_heads=4, d_ff=256, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0)
    model = Transformer(sizes, VOCAB_SIZE)
    src, tgt_in, tgt_out = _batch()
    model, src, tgt_in, tgt_out = model.to(device), src.to(device), tgt_in.to(device), tgt_out.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        hidden = model.decode(tgt_in, model.encode(src), src)
        n_tokens = int((tgt_out != PAD).sum())
        loss = smoothed_cross_entropy(hidden, model.embeddings.output, tgt_out, 0.1, n_tokens)
        logits = model.project(hidden).masked_fill(tgt_out.unsqueeze(-1) == PAD, 0.0)
    loss.smoothed.backward()
    gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    sources = [[token for token in row if token > EOS] for row in src.tolist()]
    translations = {}
    for name, beam_size in (("greedy", 1), ("beam", 4)):
        config = DecodingConfig(beam_size=beam_size, max_length_a=1.0, max_length_b=5)
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            found = decode_ids(model.eval(), sources, config, device, sizes.max_length)
        translations[name] = [best.tokens for best, *_ in found]
    return Outcome(logits.detach().float().cpu(), loss.smoothed.detach().float().cpu(), gradient.cpu(), translations)


def _batch() -> tuple[Tensor, Tensor, Tensor]:
    """Random pairs of all lengths: src (B, S), tgt_in (B, T), tgt_out (B, T)."""
    ids = torch.randint(EOS + 1, VOCAB_SIZE, (2, N_PAIRS, LONGEST))
    lengths = torch.randint(1, LONGEST, (2, N_PAIRS, 1))
    lengths[:, 0] = LONGEST - 1  # the longest one decides the width
    places = torch.arange(LONGEST)
    src, tgt_out = ids.where(places < lengths, EOS).where(places <= lengths, PAD)
    bos = torch.full((N_PAIRS, 1), BOS)
    tgt_in = torch.cat([bos, tgt_out[:, :-1].masked_fill(tgt_out[:, :-1] == EOS, PAD)], 1)
    return src, tgt_in, tgt_out


def _apart(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest number."""
    return float((found - expected).abs().max() / expected.abs().max())


def _same(found: Sequence[list[int]], expected: Sequence[list[int]]) -> float:
    return sum(a == b for a, b in zip(found, expected, strict=True)) / len(expected)


if __name__ == "__main__":
    main()
