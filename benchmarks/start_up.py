"""How long until something happens?  python benchmarks/start_up.py --data DIR [--lines N]

Seconds of `--help`, of preparing a large corpus, and from starting train.py on a corpus that is prepared to its first
step; everything in fresh processes. See benchmarks/README.md for how to read it.
"""

import argparse
import csv
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rounds import as_table

from seq2seq.corpus.reader import read_lines

ROOT = Path(__file__).parent.parent
LANGUAGES = ("fr", "en")
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with train.fr(.gz), train.en(.gz)")
    add("--lines", type=int, default=1_000_000, metavar="N", help="pairs to prepare, made of those in --data")
    add("--vocab-size", type=int, default=16_000)
    add("--rounds", type=int, default=3, help="of all but the preparation")
    args = parser.parse_args()
    rows = [
        [f"python {script} --help", describe([help_s(script) for _ in range(args.rounds)]), ""]
        for script in ("train.py", "translate.py")
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(args.data, args.lines, folder)
        settings = [f"data.dir={folder}", f"data.cache_dir={folder / 'cache'}", "data.valid=valid", "data.test=valid"]
        settings += [f"tokenizer.vocab_size={args.vocab_size}", "trainer.max_steps=1", "trainer.log_every_n_steps=1"]
        settings += ["trainer.valid_sentences=1", "logger=csv"]
        seconds = first_step_s(settings, folder / "run")
        peak_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9  # in KiB on Linux
        rows.append([f"preparing {args.lines:,} pairs, up to the first step", f"{seconds:.1f} s", f"{peak_gb:.2f} GB"])
        cached = [first_step_s(settings, folder / f"run{number}") for number in range(args.rounds)]
        rows.append([f"first step with {args.lines:,} prepared pairs", describe(cached), ""])
    print(as_table(["what", "median (least - most)", "peak memory"], rows))


def describe(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} - {max(seconds):.2f})"


def help_s(script: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, ROOT / script, "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def first_step_s(settings: Sequence[str], run_dir: Path) -> float:
    """Seconds from the start of train.py to the end of its first step, by the clock of metrics.csv."""
    began = time.time()
    command = [sys.executable, str(ROOT / "train.py"), *settings, f"run_dir={run_dir}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    with (run_dir / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return min(float(row["unix_time"]) for row in csv.DictReader(file) if row["metric"] == "train/loss") - began


def write_corpus(data: Path, n_pairs: int, folder: Path) -> None:
    """Each the first half of one pair and the second half of another: as long as real ones, and all different."""
    pairs = list(zip(*(list(read_lines(find(data, language))) for language in LANGUAGES), strict=True))
    drawn = random.Random(SEED)

    def crossed() -> Iterator[list[str]]:
        for _ in range(n_pairs):
            sides = zip(*drawn.choices(pairs, k=2), strict=True)
            yield [f"{first[: len(first) // 2]}{second[len(second) // 2 :]}" for first, second in sides]

    files = [(folder / f"train.{language}").open("w", encoding="utf-8") for language in LANGUAGES]
    for sides in crossed():
        for file, text in zip(files, sides, strict=True):
            file.write(f"{text}\n")
    for file in files:
        file.close()
    for language, lines in zip(LANGUAGES, zip(*pairs[:100], strict=True), strict=True):
        (folder / f"valid.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def find(data: Path, language: str) -> Path:
    return next(path for path in (data / f"train.{language}", data / f"train.{language}.gz") if path.is_file())


if __name__ == "__main__":
    main()
