"""How long does preparation take, and how much memory?  python benchmarks/prepare_speed.py [--pairs N] [--workers N]

It writes synthetic pairs, and prepares them with an empty cache, in fresh processes: with each number of workers in
turn. benchmarks/README.md says how to read it.
"""

import argparse
import json
import logging
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from rounds import as_table, in_turn, median_ratio

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.corpus.hashes import file_sha256
from seq2seq.dataset.prepare import prepare

N_WORDS = 200_000  # of each language
SYLLABLES = [
    "a",
    "be",
    "ci",
    "do",
    "fu",
    "gre",
    "la",
    "mi",
    "no",
    "pour",
    "ri",
    "sta",
    "té",
    "tion",
    "un",
    "ve",
    "ment",
]
BATCH = 10_000  # pairs to write at a time
LOOK_S = 0.5
PHASES = {
    "training a tokenizer": "tokenizer",
    "encoding train": "encoding",
    "encoding valid": "rest",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--model-type", default="bpe")
    parser.add_argument("--lines", type=int, default=TokenizerConfig.max_sentences, help="to learn subwords from")
    parser.add_argument(
        "--folder", type=Path, help="where to write; 0.7 kB a pair; by default where temporary files are"
    )
    parser.add_argument("--job", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        print(json.dumps(job(**json.loads(args.job))))
        return
    rows = []
    for n_pairs in args.pairs:
        with tempfile.TemporaryDirectory(dir=args.folder) as name:
            folder = Path(name)
            write_text(folder, n_pairs)
            found = measured(folder, args)
        rows += rows_of(n_pairs, found)
    titles = ["pairs", "workers", "s", "pairs/s", "x first", "CPU s", "tokenizer s", "encoding s", "rest s"]
    print(as_table([*titles, "peak MB", "of it not files"], rows))


def measured(folder: Path, args: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
    """The figures of each round, by number of workers."""
    found: dict[int, list[dict[str, float]]] = {n: [] for n in args.workers}
    stores = set()
    for number, n_workers in in_turn(args.workers, args.rounds):
        words = {"folder": str(folder), "n": n_workers}
        words |= {"size": args.vocab_size, "kind": args.model_type, "most": args.lines}
        figures, store = watched([sys.executable, __file__, "--job", json.dumps(words)])
        shutil.rmtree(folder / "cache")
        found[n_workers].append(figures)
        stores.add(store)
        print(f"round {number}: {n_workers} workers: {figures}", file=sys.stderr, flush=True)
    assert len(stores) == 1, "the number of workers has changed what came out"
    return found


def rows_of(n_pairs: int, found: dict[int, list[dict[str, float]]]) -> list[list[str]]:
    def median(n_workers: int, key: str) -> float:
        return statistics.median(each[key] for each in found[n_workers])

    first = next(iter(found))
    rows = []
    for n, figures in found.items():
        seconds = median(n, "s")
        ratio = median_ratio([each["s"] for each in found[first]], [each["s"] for each in figures])
        phases = [f"{median(n, phase):.1f}" for phase in ("CPU s", *PHASES.values())]
        memory = [f"{median(n, key):,.0f}" for key in ("peak MB", "anonymous MB")]
        rows.append(
            [f"{n_pairs:,}", str(n), f"{seconds:.1f}", f"{n_pairs / seconds:,.0f}", f"{ratio:.2f}", *phases, *memory]
        )
    return rows


def job(folder: str, n: int, size: int, kind: str, most: int) -> dict[str, object]:
    """Prepare once: seconds of each phase, and what the store is."""
    clock = PhaseClock()
    logging.basicConfig(level=logging.INFO, handlers=[clock])
    config = RunConfig(
        data=DataConfig(dir=folder, cache_dir=f"{folder}/cache", n_workers=n, drop_duplicates=True),
        tokenizer=TokenizerConfig(vocab_size=size, model_type=kind, max_sentences=most),
    )
    begin = time.perf_counter()
    prepared = prepare(config)
    end = time.perf_counter()
    return {
        "s": end - begin,
        **clock.phases(end),
        "store": file_sha256(prepared.train.directory / "manifest.json"),
    }


class PhaseClock(logging.Handler):
    """Notes when the messages come that begin a phase."""

    def __init__(self) -> None:
        super().__init__()
        self._begins: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        for start, phase in PHASES.items():
            if message.startswith(start):
                self._begins.setdefault(phase, time.perf_counter())

    def phases(self, end: float) -> dict[str, float]:
        """Seconds of each phase; 0 of one that did not come."""
        phases = list(PHASES.values())
        begins = [*(self._begins.get(phase) for phase in phases), end]
        found = {}
        for number, phase in enumerate(phases):
            following = [begin for begin in begins[number + 1 :] if begin is not None]
            found[phase] = following[0] - self._begins[phase] if phase in self._begins else 0.0
        return found


def watched(command: list[str]) -> tuple[dict[str, float], str]:
    """What a command prints, with the highest memory of it and its children together, and what its store is."""
    before = cpu_seconds()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak, anonymous = 0.0, 0.0
    while process.poll() is None:
        found = [memory_of(pid) for pid in family(process.pid)]
        peak = max(peak, sum(pss for pss, _ in found))
        anonymous = max(anonymous, sum(own for _, own in found))
        time.sleep(LOOK_S)
    assert process.returncode == 0 and process.stdout is not None
    figures = json.loads(process.stdout.read())
    store = figures.pop("store")
    return figures | {"CPU s": cpu_seconds() - before, "peak MB": peak, "anonymous MB": anonymous}, store


def cpu_seconds() -> float:
    """Of all processes that this one has waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def family(pid: int) -> Iterator[int]:
    """A process and those that it has started."""
    yield pid
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from family(int(child))


def memory_of(pid: int) -> tuple[float, float]:
    """Resident MB of a process, of which it has a share of pages that others have too: all, and those of no file."""
    fields = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, amount, *_ = line.split()
            fields[name] = int(amount) / 1000
    return fields.get("Pss:", 0.0), fields.get("Pss_Anon:", 0.0)


def write_text(folder: Path, n_pairs: int) -> None:
    """Pairs of words that are as frequent as Zipf's law says: 22 words a side on average, always the same."""
    rng = np.random.default_rng(0)
    shares = np.cumsum(1 / np.arange(1, N_WORDS + 1))
    shares /= shares[-1]
    words = [invented_words(seed) for seed in (1, 2)]
    for split, n in (("train", n_pairs), ("valid", 1_000), ("test", 1_000)):
        files = [(folder / f"{split}.{language}").open("w", encoding="utf-8") for language in ("fr", "en")]
        for begin in range(0, n, BATCH):
            n_rows = min(BATCH, n - begin)
            lengths = np.clip(rng.lognormal(np.log(19), 0.55, n_rows), 1, 100)
            for side, file in enumerate(files):
                ends = np.cumsum(np.maximum(lengths * rng.normal(1, 0.15, n_rows), 1).astype(int))
                row = words[side][np.searchsorted(shares, rng.random(ends[-1]))].tolist()
                starts = [0, *ends[:-1].tolist()]
                file.write("".join(" ".join(row[i:j]) + "\n" for i, j in zip(starts, ends.tolist(), strict=True)))
        for file in files:
            file.close()


def invented_words(seed: int) -> np.ndarray:
    """Frequent words are short."""
    rng = np.random.default_rng(seed)
    syllables = np.array(SYLLABLES)
    n_syllables = np.minimum(1 + rng.poisson(np.log10(np.arange(1, N_WORDS + 1)) / 2.2), 6)
    return np.array(["".join(rng.choice(syllables, n)) for n in n_syllables])


if __name__ == "__main__":
    main()
