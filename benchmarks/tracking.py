"""What do trackers cost?  python benchmarks/tracking.py [--experiment multi30k --data DIR] [--steps N] [--rounds N]

It trains the demo, or another experiment, without trackers and with each of them in turn, each time in a fresh process.
W&B is offline. The tests at the end are left out. benchmarks/README.md says how to read it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rounds import as_table, in_turn, median_ratio

from seq2seq.artifacts.checkpoint import read_state
from seq2seq.artifacts.run_directory import RunDirectory

ROOT = Path(__file__).parent.parent
CASES = {"metrics.csv only": "csv", "W&B": "wandb", "TensorBoard": "tensorboard", "both": "all"}
BASELINE = next(iter(CASES))


class Training(NamedTuple):
    seconds: float  # of steps, validations, saves and trackers
    in_calls: float  # of these, how many the training waited for loggers
    n_validations: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--experiment", default="demo")
    add("--data", type=Path, metavar="DIR", help="data.dir of the experiment; the demo needs none")
    add("--steps", type=int, default=0, help="optimizer steps of each training; 0: as the experiment has it")
    add("--rounds", type=int, default=3)
    args = parser.parse_args()
    found: dict[str, list[Training]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        train(args, BASELINE, Path(folder) / "warm-up", steps=1)  # prepares the text
        for number, case in in_turn(list(CASES), args.rounds):
            found[case].append(train(args, case, Path(folder) / f"{number}-{CASES[case]}", args.steps))
            print(f"round {number}: {case}: {found[case][-1].seconds:,.0f} s", file=sys.stderr, flush=True)
    print(as_table(["trackers", "training, s", "x without", "validations", "share of waiting"], table_rows(found)))


def table_rows(found: dict[str, list[Training]]) -> list[list[str]]:
    seconds = {case: [each.seconds for each in trainings] for case, trainings in found.items()}
    return [
        [
            case,
            f"{statistics.median(seconds[case]):,.0f}",
            f"{median_ratio(seconds[case], seconds[BASELINE]):.3f}",
            str(trainings[-1].n_validations),
            f"{statistics.median(each.in_calls / each.seconds for each in trainings):.2%}",
        ]
        for case, trainings in found.items()
    ]


def train(args: argparse.Namespace, case: str, run_dir: Path, steps: int) -> Training:
    words = [f"experiment={args.experiment}", f"logger={CASES[case]}", "logger.wandb_mode=offline", "data.test=null"]
    words += [f"run_dir={run_dir}", "trainer.progress=false"]
    words += [f"data.dir={args.data.absolute()}"] if args.data else []
    words += [f"trainer.max_steps={steps}"] if steps else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stderr}\nThis failed: train.py {' '.join(words)}")
    return measured(RunDirectory(run_dir))


def measured(run: RunDirectory) -> Training:
    counters = read_state(run.last)["callbacks"]["Counters"]  # of the end, when the last validation had been shown
    n_validations = sum(metric.name == "valid/loss" for metric in run.metrics())
    return Training(counters["seconds"], counters["spent"]["tracking"], n_validations)


if __name__ == "__main__":
    main()
