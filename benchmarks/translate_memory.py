"""Does memory grow with the number of lines?  python benchmarks/translate_memory.py [--input FILE] [--lines N ...]

It runs translate.py on files of different length, made of the lines of one file, from file to file and from pipe to
pipe. It prints the highest resident size of each process. benchmarks/README.md says how to read it.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rounds import as_table

from seq2seq.corpus.reader import read_lines

ROOT = Path(__file__).parent.parent
PATHS = ("file", "pipe")
SEED = 1
_SAMPLE = 5000  # lines that the tiny model's tokenizer is trained on


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--input", type=Path, default=ROOT / "data" / "sample" / "train.fr", metavar="FILE", help="default: sample")
    add("--model", type=Path, metavar="PATH", help="default: a tiny model with random weights")
    add("--lines", type=int, nargs="+", default=[1, 10_000, 1_000_000], metavar="N")
    add("--paths", nargs="+", choices=PATHS, default=list(PATHS), help="from file to file, from pipe to pipe")
    add("--json", type=Path, metavar="FILE", help="also write the figures there")
    add("--make-model", type=Path, help=argparse.SUPPRESS)
    add(
        "options", nargs="*", metavar="-- OPTION", help="more options of translate.py, after --; default: --beam-size 1"
    )
    args = parser.parse_args()
    if args.make_model:
        make_model(args.input, args.make_model)
        return
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = args.model or folder / "model"
        if not args.model:  # in another process: a child is said to have used what its parent used before it began
            subprocess.run(
                [sys.executable, __file__, "--input", str(args.input), "--make-model", str(model)], check=True
            )
        for n_lines, path in itertools.product(args.lines, args.paths):
            source = folder / "source"
            write_lines(args.input, n_lines, source)
            options = ["--model", str(model), "--quiet", *(args.options or ["--beam-size", "1"])]
            results.append({"lines": n_lines, "path": path, **translate(options, source, folder / "output", path)})
            print(f"{n_lines:,} lines, {path}: {results[-1]['peak_mb']:,.0f} MB", file=sys.stderr, flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))


def make_model(text: Path, run: Path) -> None:
    """A run directory with a real tokenizer and random weights, whose translations are short."""
    import torch

    from seq2seq.artifacts.checkpoint import write_model
    from seq2seq.artifacts.saved_model import SavedModel
    from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
    from seq2seq.model.transformer import Transformer
    from seq2seq.tokenizer import Tokenizer

    config = RunConfig(
        model=ModelConfig(d_model=32, n_heads=2, d_ff=64, n_encoder_layers=1, n_decoder_layers=1, norm="post"),
        # Random weights hardly ever end a translation.
        decoding=DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=8),
    )
    config.tokenizer.vocab_size = 1000
    config.trainer.max_steps = 1  # a configuration has to end its run
    tokenizer = Tokenizer.train(itertools.islice(read_lines(text), _SAMPLE), config.tokenizer)
    torch.manual_seed(SEED)
    weights = Transformer(config.model, tokenizer.vocab_size).state_dict()
    write_model(SavedModel.of(config, tokenizer, weights), run / "checkpoints" / "model.ckpt", step=0)


def write_lines(text: Path, n_lines: int, file: Path) -> None:
    """The lines of `text` again and again, each time in another order. One number gives always the same lines."""
    lines = list(read_lines(text))
    shuffle = random.Random(SEED)

    def endless() -> Iterator[str]:
        while True:
            shuffle.shuffle(lines)
            yield from lines

    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in itertools.islice(endless(), n_lines))


def translate(options: list[str], source: Path, output: Path, path: str) -> dict[str, float]:
    """Peak memory and speed of one translate.py."""
    command = [sys.executable, str(ROOT / "translate.py"), *options]
    began = time.perf_counter()
    if path == "file":
        output.unlink(missing_ok=True)
        process = subprocess.Popen([*command, "--input", str(source), "--output", str(output)])
        peak_mb = wait(process)
        n_written = count_lines(output.open("rb"))
    else:
        with subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE) as feeder:
            process = subprocess.Popen(command, stdin=feeder.stdout, stdout=subprocess.PIPE)
            assert feeder.stdout and process.stdout
            feeder.stdout.close()  # so that the feeder notices if the other end goes away
            n_written = count_lines(process.stdout)
            peak_mb = wait(process)
    elapsed_s = time.perf_counter() - began
    n_lines = count_lines(source.open("rb"))
    if n_written != n_lines:
        sys.exit(f"translate.py wrote {n_written} lines for {n_lines}")
    return {"peak_mb": peak_mb, "elapsed_s": elapsed_s, "sentences_per_s": n_lines / elapsed_s}


def wait(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process, and say how many MB were resident at most."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"translate.py ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # bytes a unit of ru_maxrss
    return usage.ru_maxrss * unit / 1e6


def count_lines(stream: Any) -> int:
    with stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def table(results: list[dict[str, Any]]) -> str:
    """One run a row; the ratio is to the run before on the same path."""
    rows = []
    for path in dict.fromkeys(result["path"] for result in results):
        before = None
        for result in (each for each in results if each["path"] == path):
            ratio = "" if before is None else f"{result['peak_mb'] / before:.2f}"
            before = result["peak_mb"]
            lines, speed = f"{result['lines']:,}", f"{result['sentences_per_s']:,.0f}"
            rows.append([f"{path} to {path}", lines, f"{before:,.0f} MB", ratio, speed])
    return as_table(["path", "lines", "peak memory", "x the row above", "lines/s, start included"], rows)


if __name__ == "__main__":
    main()
