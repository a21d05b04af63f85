"""How long until something happens?  python benchmarks/start_up.py --model RUN --data DIR [--lines N]

It measures CPU seconds and seconds of importing the package, of `--help`, of translating three lines with each engine,
and of train.py on a prepared corpus up to its first step. Each measurement is a fresh process.
benchmarks/README.md says how to read it.
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
from typing import NamedTuple

from rounds import as_table, in_turn

from seq2seq.cli import command_names
from seq2seq.corpus.reader import read_lines

ROOT = Path(__file__).parent.parent
LANGUAGES = ("fr", "en")
LINES = "Un chat dort.\nDeux chiens courent dans la neige.\nUne femme lit un livre.\n"
SEED = 1


class Seconds(NamedTuple):
    """What one process took, together with those that it started."""

    cpu: float
    wall: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--model", type=Path, metavar="RUN", help="a trained model, to translate with")
    add("--data", type=Path, metavar="DIR", help="folder with train.fr(.gz), train.en(.gz), to train on")
    add("--lines", type=int, default=1_000_000, metavar="N", help="pairs to prepare, made of those in --data")
    add("--vocab-size", type=int, default=16_000)
    add("--rounds", type=int, default=5, help="of all but the preparation")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = measured_in_turn(commands(args.model, Path(name)), args.rounds)
        if args.data:
            rows += training(args, Path(name))
    print(as_table(["what", "CPU, median (least - most)", "wall, median (least - most)", "peak memory"], rows))


def commands(model: Path | None, folder: Path) -> dict[str, list[object]]:
    """What is measured, by name: the words after `python`."""
    words: dict[str, list[object]] = {"import seq2seq": ["-c", "import seq2seq"]}
    words |= {f"seq2seq {name} --help": ["-m", "seq2seq", name, "--help"] for name in command_names()}
    if model:
        exported = folder / "exported"
        export = ["-m", "seq2seq", "export", model, "--format", "ctranslate2", "--output", exported]
        measure(export)
        for engine, path in (("torch", model), ("ctranslate2", exported)):
            words[f"translate.py, 3 lines, {engine}"] = [ROOT / "translate.py", "--model", path, "--engine", engine]
    return words


def measured_in_turn(commands: dict[str, list[object]], n_rounds: int) -> list[list[str]]:
    found: dict[str, list[Seconds]] = {name: [] for name in commands}
    for _, name in in_turn(list(commands), n_rounds):
        found[name].append(measure(commands[name]))
    return [
        [name, describe([s.cpu for s in each]), describe([s.wall for s in each]), ""] for name, each in found.items()
    ]


def measure(words: Sequence[object]) -> Seconds:
    """Run Python with these words, and `LINES` as its stdin."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *map(str, words)], cwd=ROOT, input=LINES, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return Seconds(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def training(args: argparse.Namespace, folder: Path) -> list[list[str]]:
    write_corpus(args.data, args.lines, folder)
    settings = [f"data.dir={folder}", f"data.cache_dir={folder / 'cache'}", "data.valid=valid", "data.test=valid"]
    settings += [f"tokenizer.vocab_size={args.vocab_size}", "trainer.max_steps=1", "trainer.log_every_n_steps=1"]
    settings += ["trainer.valid_sentences=1", "logger=csv"]
    seconds = first_step_s(settings, folder / "run")
    peak_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9  # in KiB on Linux
    cached = [first_step_s(settings, folder / f"run{number}") for number in range(args.rounds)]
    return [
        [f"preparing {args.lines:,} pairs, up to the first step", "", f"{seconds:.1f} s", f"{peak_gb:.2f} GB"],
        [f"train.py up to the first step, {args.lines:,} prepared pairs", "", describe(cached), ""],
    ]


def describe(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} - {max(seconds):.2f})"


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
    """Each pair is the first half of one and the second half of another: as long as real ones, and all different."""
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
