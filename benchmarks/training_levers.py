"""What is each trick worth in a training step on a CPU?  python benchmarks/training_levers.py [--rounds N]

It measures one step of the `small` model, forward, backward and optimizer, on random pairs of 20 tokens: once as it is,
and once without each trick. Each measurement is a fresh process, and all take turns. benchmarks/README.md says how to
read it.
"""

import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from rounds import as_table, in_fresh_process, in_turn, median_ratio
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.hardware import keep_freed_memory, multiply_float32_in_onednn
from seq2seq.model import attention, dropout
from seq2seq.model.transformer import Transformer
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.training.optimizer import MuonWithAdamW, parameters_of

VOCAB_SIZE = 8000
PAIRS, LENGTH = 204, 20
WARMUP, STEPS = 3, 10
EPS = 0.1  # label smoothing

AS_IT_IS = "as it is"
LEVERS = {
    "memory": "freed memory goes back to the kernel",
    "dropout": "masks from one draw an element (bernoulli_) in place of one byte",
    "attention": "torch's fused attention in place of plain products",
    "loss": "F.cross_entropy on the logits of the whole batch, in float32, in place of chunks",
    "optimizer": "AdamW without fused=True",
    "muon": "Muon for the matrices of the layers, AdamW for the rest",
    "threads": "one thread in place of all",
    "onednn": "float32 products in MKL in place of oneDNN (AMD only)",
    "no dropout": "no dropout at all",
}
CASES = [
    *(("bf16", lever) for lever in (AS_IT_IS, *LEVERS) if lever != "onednn"),
    ("fp32", AS_IT_IS),
    ("fp32", "onednn"),
    ("fp32", "memory"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps({"step_s": step_s(*args.worker)}))
        return
    seconds: dict[tuple[str, str], list[float]] = {case: [] for case in CASES}
    for number, case in in_turn(CASES, args.rounds):
        seconds[case].append(in_fresh_process([sys.executable, __file__, "--worker", *case])["step_s"])
        print(f"round {number}: {', '.join(case)}: {1000 * seconds[case][-1]:,.0f} ms", file=sys.stderr, flush=True)
    rows = [
        [
            precision,
            LEVERS.get(lever, lever),
            f"{1000 * statistics.median(each):,.0f}",
            f"{median_ratio(each, seconds[precision, AS_IT_IS]):.2f}",
        ]
        for (precision, lever), each in seconds.items()
    ]
    print(as_table(["precision", "step", "ms", "x as it is"], rows))


def step_s(precision: str, lever: str) -> float:
    """The median of some steps, in seconds."""
    if lever != "memory":
        keep_freed_memory()
    if lever != "onednn":
        multiply_float32_in_onednn()
    if lever == "dropout":
        dropout.random_mask = drawn_one_by_one
    if lever == "attention":
        attention.LONGEST_EXPLICIT = 0
    if lever == "threads":
        torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Transformer(ModelConfig(dropout=0.0 if lever == "no dropout" else 0.1), VOCAB_SIZE)
    fused = lever != "optimizer"
    optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)
    if lever == "muon":
        matrices, others = parameters_of(model)
        groups = [{"params": weights, "momentum": 0.95} for weights in matrices]
        optimizer = MuonWithAdamW([*groups, {"params": others}], lr=1e-4, fused=fused)
    loss_of = loss_on_all_logits if lever == "loss" else loss_in_chunks
    src, tgt = torch.randint(4, VOCAB_SIZE, (2, PAIRS, LENGTH))
    seconds = []
    for _ in range(WARMUP + STEPS):
        began = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(model, model.decode(tgt, model.encode(src), src), tgt)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[WARMUP:])


def loss_in_chunks(model: Transformer, hidden: Tensor, tgt: Tensor) -> Tensor:
    return smoothed_cross_entropy(hidden, model.embeddings.output, tgt, EPS).smoothed / tgt.numel()


def loss_on_all_logits(model: Transformer, hidden: Tensor, tgt: Tensor) -> Tensor:
    return F.cross_entropy(model.project(hidden).float().flatten(0, 1), tgt.flatten(), label_smoothing=EPS)


def drawn_one_by_one(shape: torch.Size, p: float) -> tuple[Tensor, float]:
    return torch.empty(shape, dtype=torch.uint8).bernoulli_(1 - p), 1 / (1 - p)


if __name__ == "__main__":
    main()
