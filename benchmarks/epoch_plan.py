"""What does the plan of an epoch cost?  python benchmarks/epoch_plan.py [--pairs N] [--ranks N] [--max-tokens N]

It plans an epoch of random lengths like those of WMT14, in fresh processes: of each pair once, with a temperature, with
weights, and with augmentations. benchmarks/README.md says how to read it.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from rounds import as_table, in_fresh_process, in_turn, memory_mb

from seq2seq.config import BatchConfig
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.epoch import AS_STORED, Draws, Epoch, Growth, copies

KINDS = {
    "pairs": "each pair once",
    "mixture": "a temperature of 5, a fifth of the pairs in the second source",
    "weights": "weights 0.7 and 2.5, a fifth of the pairs in the second source",
    "augmentation": "three augmentations, a tenth each",
}
LONGEST = 250


class RandomLengths:
    """Pairs that have lengths and nothing else: log-normal, 33 and 36 tokens on average."""

    def __init__(self, n: int) -> None:
        rng = np.random.default_rng(0)
        tgt = rng.lognormal(np.log(31), 0.6, n).astype(np.float32)
        self.tgt_lengths = np.clip(tgt, 1, LONGEST).astype(np.uint8)
        src = tgt * rng.normal(0.92, 0.15, n).astype(np.float32)
        self.src_lengths = np.clip(src, 1, LONGEST).astype(np.uint8)

    def __len__(self) -> int:
        return len(self.src_lengths)

    def src(self, index: int) -> np.ndarray:
        raise NotImplementedError

    tgt = src


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=3125)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--worker", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(plan(args)))
        return
    command = [sys.executable, __file__, "--pairs", args.pairs, "--ranks", args.ranks, "--max-tokens", args.max_tokens]
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in args.kinds}
    for number, kind in in_turn(args.kinds, args.rounds):
        found[kind].append(in_fresh_process([*command, "--worker", kind]))
        print(f"round {number}: {kind}: {found[kind][-1]}", file=sys.stderr, flush=True)
    titles = ["CPU s", "wall s", "peak MB", "kept MB", "lengths MB", "rows", "batches"]
    rows = [
        [KINDS[kind], *(f"{statistics.median(each[t] for each in found[kind]):,.1f}" for t in titles)] for kind in found
    ]
    print(as_table(["epoch", *titles], rows))


def plan(args: argparse.Namespace) -> dict[str, float]:
    """The first plan of a process: seconds, and memory with that of the lengths."""
    empty = memory_mb("VmRSS")
    pairs = RandomLengths(args.pairs)
    gc.collect()
    lengths = memory_mb("VmRSS") - empty
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest memory so far
    cpu, wall = time.process_time(), time.perf_counter()
    epoch = epoch_of(args.worker, pairs)
    config = BatchConfig(max_tokens=args.max_tokens)
    loader = BatchLoader(pairs, config, seed=1, world_size=args.ranks, epoch=epoch)
    n_batches = len(loader) * args.ranks
    return {
        "CPU s": time.process_time() - cpu,
        "wall s": time.perf_counter() - wall,
        "peak MB": memory_mb("VmHWM") - empty,
        "kept MB": memory_mb("VmRSS") - empty,
        "lengths MB": lengths,
        "rows": epoch.n_rows,
        "batches": n_batches,
    }


def epoch_of(kind: str, pairs: RandomLengths) -> Epoch:
    n_second = len(pairs) // 5 if kind in ("mixture", "weights") else 0
    n_pairs = [len(pairs) - n_second, n_second]
    of_sources = copies(n_pairs, 1.0, [0.7, 2.5]) if kind == "weights" else copies(n_pairs, 5.0)
    growths = {
        "typos": Growth(np.array([[1.2], [1.0]]), np.array([[1], [0]])),
        "upper": Growth(np.full((2, 1), 1.4), np.ones((2, 1))),
    }
    augmented = Draws({"join": 0.1, "typos": 0.1, "upper": 0.1}, growths, None, LONGEST)
    return Epoch(pairs, n_pairs, of_sources, seed=1, draws=augmented if kind == "augmentation" else AS_STORED)


if __name__ == "__main__":
    main()
