"""What are more processes worth for one file?  python benchmarks/translate_processes.py --model RUN --input FILE

One process on one core, and N processes on a core each, take turns. So do N cores with a single process. Each time is
that of the whole command, start included, so the input should keep one core busy for some minutes. The outputs are
compared, byte for byte.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from rounds import as_table, in_turn, machine, median_ratio

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("options", nargs="*", help="of translate.py, after --")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[: args.processes]
    if len(cores) < args.processes:
        sys.exit(f"{args.processes} processes need as many cores, and there are {len(cores)}")
    alone, wide, shared = "1 process, 1 core", f"1 process, {len(cores)} cores", f"{len(cores)} processes, 1 core each"
    layouts = {alone: [cores[:1]], wide: [cores], shared: [[core] for core in cores]}
    command = [ROOT / "translate.py", "--device", "cpu", "--quiet", *args.options]
    command += ["--model", args.model, "--input", args.input]
    seconds: dict[str, list[float]] = {name: [] for name in layouts}
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / str(number) for number in range(len(layouts))]
        for number, name in in_turn(list(layouts), args.rounds):
            output = outputs[list(layouts).index(name)]
            output.unlink(missing_ok=True)
            seconds[name].append(time_of([*command, "--output", output], layouts[name]))
            print(f"round {number}: {name}: {seconds[name][-1]:.1f} s", file=sys.stderr, flush=True)
        texts = [output.read_bytes() for output in outputs]
        print(f"{machine()}\nall outputs are the same: {len(set(texts)) == 1}\n")
    rows = [
        [name, f"{statistics.median(times):.1f}", f"{median_ratio(seconds[alone], times):.2f}"]
        for name, times in seconds.items()
    ]
    print(as_table(["layout", "seconds", "times as fast"], rows))


def time_of(command: list[object], cores: list[list[int]]) -> float:
    """Seconds until processes of one job have ended, each of which is bound to some cores."""
    begin_s = time.monotonic()
    processes = []
    for rank, own in enumerate(cores):
        variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": len(cores), "OMP_NUM_THREADS": 1}
        environment = os.environ | {name: str(value) for name, value in variables.items()}
        bind = partial(os.sched_setaffinity, 0, own)
        words = [sys.executable, *map(str, command)]
        processes.append(subprocess.Popen(words, cwd=ROOT, env=environment, preexec_fn=bind))
    if any(process.wait() for process in processes):
        sys.exit("this failed")
    return time.monotonic() - begin_s


if __name__ == "__main__":
    main()
