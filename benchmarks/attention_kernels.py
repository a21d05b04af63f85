"""Which kernel computes attention, and how fast?  python benchmarks/attention_kernels.py --device cuda

Forward and backward of torch's fused attention with each of its kernels, and with the one that a run gets: with the
decoder's causal flag, with the mask that hides padding from encoder and cross-attention, and without any mask. Flash
kernels take no mask. It prints a line of JSON: milliseconds for each, or null where the kernel refuses.

Shapes: B sentences, H heads, T tokens, K d_head
"""

import argparse
import json
import statistics
import time
import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from seq2seq.hardware import speed_up_gpu
from seq2seq.model.masks import additive

KERNELS = {
    "flash": [SDPBackend.FLASH_ATTENTION],
    "efficient": [SDPBackend.EFFICIENT_ATTENTION],
    "cudnn": [SDPBackend.CUDNN_ATTENTION],
    "math": [SDPBackend.MATH],
}
N_RUNS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--device", default="cuda")
    add("--length", type=int, default=128, metavar="T")
    add("--tokens", type=int, default=32_768, help="B x T; default: 32,768")
    add("--n-heads", type=int, default=16, metavar="H")
    add("--d-head", type=int, default=64, metavar="K")
    args = parser.parse_args()
    sizes = max(1, args.tokens // args.length), args.n_heads, args.length, args.d_head
    print(json.dumps(measure(torch.device(args.device), *sizes)))


def measure(device: torch.device, n: int, n_heads: int, length: int, d_head: int) -> dict[str, dict[str, Any]]:
    """By kind of mask and kernel, milliseconds; `chosen` is what a run gets."""
    if device.type == "cuda":
        speed_up_gpu()
    is_token = torch.arange(length, device=device) < torch.randint(length // 2, length + 1, (n, 1), device=device)
    kinds: dict[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "masked": {"attn_mask": additive(is_token[:, None, None, :]).bfloat16()},  # (B, 1, 1, T)
        "open": {},
    }
    qkv = [
        torch.randn(n, n_heads, length, d_head, device=device, dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    ]
    found: dict[str, dict[str, Any]] = {}
    for kind, options in kinds.items():
        found[kind] = {"chosen": _milliseconds(qkv, options)}
        for name, kernels in KERNELS.items():
            with sdpa_kernel(kernels), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they say why a kernel refuses
                try:
                    found[kind][name] = _milliseconds(qkv, options)
                except RuntimeError as error:
                    if "out of memory" in str(error).lower():
                        raise
                    found[kind][name] = None
    return found


def _milliseconds(qkv: list[Tensor], options: dict[str, Any]) -> float:
    """The median of forward and backward."""
    runs = []
    for _ in range(N_RUNS):
        began = time.perf_counter()
        F.scaled_dot_product_attention(*qkv, **options).sum().backward()
        if qkv[0].is_cuda:
            torch.cuda.synchronize()
        runs.append(1000 * (time.perf_counter() - began))
    return statistics.median(runs)


if __name__ == "__main__":
    main()
