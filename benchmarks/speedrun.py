"""How soon is a score reached?  python benchmarks/speedrun.py --data PATH --log FILE [WORD ...]

A record is the least time of training on two cores after which a model from French to English has 52.5 BLEU on the
valid set of Multi30k, learned from its 29,000 raw pairs and nothing else. The rules:

- The clock runs from the first step to the last one, validations included; preparing the text, choosing among weights
  and the score itself come before and after.
- BLEU is that of all 1,014 sentences, as a run decodes them. The mean of at least three seeds must be above the target
  with p < 0.01 (Student's t, one side). All seeds that were run count.
- The log has this program, the words of the recipe, each seed's time and score, and how fast this machine multiplies
  bf16 matrices, before and after: two machines are compared by time times rate. It names a preloaded allocator.

Seeds run one after another. Close everything else first.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import torch
from rounds import as_table, machine

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.files import write_text

RECIPE = [
    *("experiment=multi30k_fast", "augment=none"),
    *("trainer.max_time=", "trainer.max_steps=2100", "trainer.val_every_n_steps=2101"),
]
TARGET = 52.5
T_99 = (6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821)  # of Student's t with 2, 3, ... degrees of freedom
ROOT = Path(__file__).parents[1]
SIDE, SECONDS = 1024, 2.0  # of the products that are timed


def main() -> None:
    args = _parser().parse_args()
    if others := [word for word in args.words if word.startswith(("finetune=", "teacher=", "resume="))]:
        sys.exit(f"{others[0]} brings what another training has learned, which the rules exclude; leave it out")
    words, before, rows, scores, hours = args.words or RECIPE, product_rate(), [], [], []
    for seed in args.seeds:
        run = RunDirectory(args.runs / f"{datetime.now():%Y-%m-%d_%H%M%S}-{seed}")
        train(words, args.data, seed, run.path)
        scores.append(bleu(run))
        hours.append(max(metric.value for metric in run.metrics() if metric.name == "progress/hours"))
        rows.append([str(seed), f"{hours[-1] * 3600:,.0f}", f"{scores[-1]:.2f}"])
        print(f"seed {seed}: {hours[-1] * 3600:,.0f} s, {scores[-1]:.2f} BLEU", file=sys.stderr, flush=True)
    rates = f"{before:.0f} and {product_rate():.0f} billion operations a second before and after"
    memory = [Path(os.environ.get("LD_PRELOAD") or "the system's").name, os.environ.get("MALLOC_CONF", "")]
    about = f"{machine()}, torch {torch.__version__}, {rates}, memory: {' '.join(memory).strip()}, commit {_commit()}"
    table = as_table(["seed", "seconds", "BLEU of valid"], rows)
    log = f"{' '.join(words)}\n\n{table}\n\n{verdict(scores, hours)}\n{about}\n"
    print(log)
    if args.log:
        write_text(args.log, f"{log}\n{Path(__file__).read_text(encoding='utf-8')}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help=f"the recipe, in words of train.py; default: {' '.join(RECIPE)}")
    add("--data", type=Path, required=True, metavar="DIR", help="Multi30k")
    add("--log", type=Path, metavar="FILE", help="write the log there, with this program")
    add("--runs", type=Path, default=Path("runs/speedrun"), metavar="DIR", help="for the runs")
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser


def train(words: list[str], data: Path, seed: int, run_dir: Path) -> None:
    own = [f"data.dir={data}", f"seed={seed}", f"run_dir={run_dir}", "logger=csv", "data.test=null"]
    own += ["trainer.accelerator=cpu", "trainer.threads=2"]
    done = subprocess.run([sys.executable, str(ROOT / "train.py"), *words, *own], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def bleu(run: RunDirectory) -> float:
    """Of the weights that the run has chosen, on all of valid."""
    selection = run.selection()
    return selection.valid[selection.selected]["bleu"]


def verdict(scores: list[float], hours: list[float]) -> str:
    """Whether the target is reached, and in what time."""
    mean, seconds, n = statistics.mean(scores), statistics.mean(hours) * 3600, len(scores)
    if n < 3:
        return f"{mean:.2f} BLEU after {seconds:,.0f} s; a record takes three seeds"
    least = TARGET + T_99[min(n - 3, len(T_99) - 1)] * statistics.stdev(scores) / n**0.5
    is_reached = "reached" if mean > least else "not reached"
    return f"{TARGET} BLEU is {is_reached}: {mean:.2f} on average of {n} after {seconds:,.0f} s; it takes {least:.2f}"


def product_rate() -> float:
    """Billions of additions and multiplications a second, of square bf16 matrices."""
    a, b = (torch.randn(SIDE, SIDE, dtype=torch.bfloat16) for _ in range(2))
    n, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < SECONDS:
        a @ b
        n += 1
    return 2e-9 * SIDE**3 * n / spent


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
