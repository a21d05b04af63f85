"""Whether tests draw the same few cases each time, as `make test` does, or many new ones, as `make nightly` does.

`make nightly` sets the variable NIGHTLY to a seed and prints it. With the same seed, the same cases are drawn.

As a program, this is `make nightly`: everything that takes too long for each change, and one screen of what came out.
"""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

SEED = int(os.environ.get("NIGHTLY", "0"))
IS_NIGHTLY = SEED != 0
PARTS = ("test", "mutants", "cluster", "lowest")  # targets of the Makefile; without root, a cluster is skipped
LOGS = Path("runs", "nightly")


def drawn(salt: object = "") -> random.Random:
    """A generator of random numbers that is the same each time; with NIGHTLY, each time with this seed.

    Args:
        salt: tells cases of one test apart.
    """
    return random.Random(f"{SEED} {salt}")


def main(seed: str) -> int:
    """Run all parts, whatever comes out. Returns 1 if one of them failed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    print(f"with SEED={seed}; what each part says is in {LOGS}/", flush=True)
    has_failed = False
    for part in PARTS:
        began_s = time.monotonic()
        log = LOGS / f"{part}.log"
        with log.open("wb") as out:
            env = os.environ | ({"NIGHTLY": seed, "PYTEST_ADDOPTS": "--ignore=tests/cluster"} if part == "test" else {})
            status = subprocess.run(
                ["make", part], env=env, stdout=out, stderr=subprocess.STDOUT, check=False
            ).returncode
        has_failed |= status != 0
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|caught|skipped)", line)), "")
        minutes = (time.monotonic() - began_s) / 60
        print(f"{'FAILED' if status else 'passed'}  {part:8}  {minutes:4.0f} min  {last.strip('= ')}", flush=True)
        for line in [line for line in lines if re.match("FAILED|ERROR|SURVIVED|STALE|BROKEN", line)][:10]:
            print(f"        {line[:160]}", flush=True)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
