"""What does the plan of an epoch cost?  python benchmarks/epoch_plan.py [--pairs N] [--ranks N] [--max-tokens N]

It plans an epoch of random lengths like those of WMT14, in fresh processes: of the pairs themselves, and of each kind
of slots. Then it measures training steps with and without a thread that plans.
benchmarks/README.md says how to read it.
"""

import argparse
import gc
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rounds import as_table, in_fresh_process, in_turn
from torch import nn

from seq2seq.config import BatchConfig
from seq2seq.config.doses import Dose
from seq2seq.dataset.augmentation import Augmentation, Growth
from seq2seq.dataset.batches import BatchLoader
from seq2seq.dataset.mixture import Mixture, copies
from seq2seq.dataset.plan import Plan, Slots
from seq2seq.dataset.plan_ahead import LARGE, PlansAhead

KINDS = {
    "pairs": "the pairs themselves",
    "mixture": "a temperature of 5, a fifth of the pairs in the second source",
    "weights": "weights 0.7 and 2.5, a fifth of the pairs in the second source",
    "augmentation": "three augmentations, a tenth each",
}
WINDOW_S = 2.0  # how long steps are measured at a time
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
    parser.add_argument("--worker", choices=[*KINDS, "steps"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(steps(args) if args.worker == "steps" else plan(args)))
        return
    command = [sys.executable, __file__, "--pairs", args.pairs, "--ranks", args.ranks, "--max-tokens", args.max_tokens]
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in args.kinds}
    for number, kind in in_turn(args.kinds, args.rounds):
        found[kind].append(in_fresh_process([*command, "--worker", kind]))
        print(f"round {number}: {kind}: {found[kind][-1]}", file=sys.stderr, flush=True)
    titles = ["CPU s", "wall s", "peak MB", "kept MB", "lengths MB", "slots", "batches"]
    rows = [
        [KINDS[kind], *(f"{statistics.median(each[t] for each in found[kind]):,.1f}" for t in titles)] for kind in found
    ]
    print(as_table(["slots", *titles], rows))
    print(in_fresh_process([*command, "--worker", "steps"]))


def plan(args: argparse.Namespace) -> dict[str, float]:
    """The first plan of a process: seconds, also those of the slots; and memory, with that of lengths and slots."""
    empty = memory_mb("VmRSS")
    pairs = RandomLengths(args.pairs)
    gc.collect()
    lengths = memory_mb("VmRSS") - empty
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest memory so far
    cpu, wall = time.process_time(), time.perf_counter()
    slots = slots_of(args.worker, pairs)
    loader = BatchLoader(
        pairs,
        BatchConfig(max_tokens=args.max_tokens),
        seed=1,
        world_size=args.ranks,
        slots=slots,
        read_pair=as_augmented if args.worker == "augmentation" else None,
    )
    plan = loader._make_plan(0)
    return {
        "CPU s": time.process_time() - cpu,
        "wall s": time.perf_counter() - wall,
        "peak MB": memory_mb("VmHWM") - empty,
        "kept MB": memory_mb("VmRSS") - empty,
        "lengths MB": lengths,
        "slots": len(plan.slots),
        "batches": len(plan),
    }


def slots_of(kind: str, pairs: RandomLengths) -> Slots | None:
    if kind == "pairs":
        return None
    n_second = len(pairs) // 5 if kind in ("mixture", "weights") else 0
    n_pairs = [len(pairs) - n_second, n_second]
    of_sources = copies(n_pairs, 1.0, [Dose(0.7), Dose(2.5)]) if kind == "weights" else copies(n_pairs, 5.0)
    slots: Slots = Mixture(pairs, n_pairs, of_sources, seed=1)
    if kind == "augmentation":
        growths = {"upper": (Growth(1.4, 1),) * 2, "typos": (Growth(1.2, 1), Growth(1.0, 0))}
        slots = Augmentation(slots, {"upper": 0.1, "join": 0.1, "typos": 0.1}, growths, LONGEST, seed=1)
    return slots


def as_augmented(index: int, epoch: int, slot: int) -> tuple[list[int], list[int]]:
    """Stands in for the reader that a plan keeps slots for."""
    raise NotImplementedError


def steps(args: argparse.Namespace) -> dict[str, float]:
    """The median step of a small network on one thread, in ms: alone, and while a thread plans."""
    torch.set_num_threads(1)
    pairs = RandomLengths(max(args.pairs, LARGE))
    loader = BatchLoader(pairs, BatchConfig(max_tokens=args.max_tokens), seed=1, world_size=args.ranks)
    network = nn.Sequential(*(nn.Linear(64, 64) for _ in range(40)))
    optimizer = torch.optim.AdamW(network.parameters())
    rows = torch.randn(64, 64)

    def steps_until(is_over: Callable[[], bool]) -> list[float]:
        times = []
        while not is_over():
            begin = time.perf_counter()
            optimizer.zero_grad()
            network(rows).sum().backward()
            optimizer.step()
            times.append(time.perf_counter() - begin)
        return times

    def steps_for_a_while() -> list[float]:
        end = time.perf_counter() + WINDOW_S
        return steps_until(lambda: time.perf_counter() > end)

    steps_for_a_while()
    alone, beside = [], []
    for epoch in range(3):
        alone += steps_for_a_while()
        is_planned = threading.Event()

        def make(epoch: int, is_planned: threading.Event = is_planned) -> Plan:
            made = loader._make_plan(epoch)
            is_planned.set()
            return made

        plans = PlansAhead(make, len(pairs))
        plans.begin(epoch)
        beside += steps_until(is_planned.is_set)
        plans.of(epoch)
    return {f"{name} ms": 1000 * statistics.median(times) for name, times in (("alone", alone), ("beside", beside))}


def memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1000


if __name__ == "__main__":
    main()
