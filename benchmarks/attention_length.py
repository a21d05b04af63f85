"""From which length on does a window pay?  python benchmarks/attention_length.py

One layer of self-attention reads one sequence and learns from it (forward and backward), with full attention and with
`model.window`. Each measurement is a process of its own. Memory is what the process, or the GPU, needs at most above
what it had before.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rounds import as_table, in_fresh_process, in_turn, machine, median_ratio, memory_mb

LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192]
TITLES = ("tokens", "full, ms", "window, ms", "full / window", "full, MB", "window, MB")
ENOUGH_S = 1.0  # for the median time of a pass


def main() -> None:
    args = _parser().parse_args()
    if args.worker:
        print(json.dumps(measure(json.loads(args.worker))))
        return
    cases = [(length, window) for length in args.lengths for window in (0, args.window)]
    found: dict[tuple[int, int], list[dict[str, float]]] = {case: [] for case in cases}
    for number, (length, window) in in_turn(cases, args.rounds):
        print(f"round {number}: {length} tokens, window {window or 'of all'}", file=sys.stderr, flush=True)
        job = {"length": length, "window": window, "is_causal": args.causal, "threads": args.threads}
        job |= {"device": args.device, "dtype": args.dtype, "d_model": args.d_model, "n_heads": args.n_heads}
        found[length, window].append(in_fresh_process([sys.executable, Path(__file__), "--worker", json.dumps(job)]))
    print(as_table(TITLES, [row(length, found[length, 0], found[length, args.window]) for length in args.lengths]))
    print(f"\n{crossing(args.lengths, [ratio(found[n, 0], found[n, args.window]) for n in args.lengths])}")
    print(f"window {args.window}, {'decoder' if args.causal else 'encoder'}, {args.dtype}, {args.device}, {machine()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N", help="tokens; default: 64 to 8,192")
    add("--window", type=int, default=64, metavar="W", help="tokens on each side; default: 64")
    add("--causal", action="store_true", help="as in the decoder: tokens look back only")
    add("--d-model", type=int, default=256, metavar="D")
    add("--n-heads", type=int, default=4, metavar="H")
    add("--dtype", choices=("bf16", "fp32"), default="bf16")
    add("--device", default="cpu")
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=3)
    add("--worker", default="", help=argparse.SUPPRESS)
    return parser


def row(length: int, full: list[dict[str, float]], window: list[dict[str, float]]) -> list[str]:
    def median(figures: list[dict[str, float]], name: str) -> float:
        return statistics.median(each[name] for each in figures)

    times = [f"{median(each, 'ms'):,.1f}" for each in (full, window)]
    return [
        *(f"{length:,}", *times, f"{ratio(full, window):.2f}"),
        *(f"{median(each, 'mb'):,.0f}" for each in (full, window)),
    ]


def ratio(full: list[dict[str, float]], window: list[dict[str, float]]) -> float:
    return median_ratio([each["ms"] for each in full], [each["ms"] for each in window])


def crossing(lengths: Sequence[int], ratios: Sequence[float]) -> str:
    """The lengths between which the window begins to win, and goes on to."""
    losing = [length for length, ratio in zip(lengths, ratios, strict=True) if ratio <= 1]
    winning = [length for length in lengths if not losing or length > losing[-1]]
    if not winning:
        return f"The window is not faster at any length up to {lengths[-1]:,} tokens."
    since = f"between {losing[-1]:,} and {winning[0]:,}" if losing else f"at {winning[0]:,} or before"
    return f"The window begins to be faster {since} tokens."


def measure(job: dict[str, Any]) -> dict[str, float]:
    """Milliseconds of one pass, and the megabytes that it needs."""
    import torch

    from seq2seq.config import ModelConfig
    from seq2seq.hardware import speed_up_cpu
    from seq2seq.model import masks
    from seq2seq.model.attention import SelfAttention

    if job["device"] == "cpu":
        speed_up_cpu()
        torch.set_num_threads(job["threads"])
    config = ModelConfig(d_model=job["d_model"], n_heads=job["n_heads"], window=job["window"])
    attention = SelfAttention(config).to(job["device"])
    x = torch.randn(1, job["length"], job["d_model"], device=job["device"], requires_grad=True)

    def one_pass() -> None:
        is_table = job["is_causal"] and not job["window"]  # as Transformer.decode makes it
        may_attend = masks.causal(x.size(1), x.device) if is_table else masks.may_attend_to(torch.ones_like(x[..., 0]))
        with torch.autocast(job["device"], torch.bfloat16, enabled=job["dtype"] == "bf16"):
            outputs = attention(x, masks.additive(may_attend), is_causal=job["is_causal"])
        outputs.sum().backward()
        if job["device"] != "cpu":
            torch.cuda.synchronize()

    megabytes = peak(one_pass, job["device"])
    times: list[float] = []
    while not times or sum(times) < ENOUGH_S:
        start = time.perf_counter()
        one_pass()
        times.append(time.perf_counter() - start)
    return {"ms": statistics.median(times) * 1000, "mb": megabytes}


def peak(work: Callable[[], None], device: str) -> float:
    """Megabytes that `work` needs at most above what is in use before it. It is done once before, to compile."""
    from seq2seq.hardware import give_back_freed_memory

    work()
    if device != "cpu":
        import torch

        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        work()
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    give_back_freed_memory()  # of the first time; it would hide what the second one takes
    before = memory_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # Linux then counts the peak from here
    work()
    return memory_mb("VmHWM") - before


if __name__ == "__main__":
    main()
