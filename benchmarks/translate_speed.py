"""How fast is translation?  python benchmarks/translate_speed.py --model RUN --input FILE --reference FILE

It runs the same weights in our PyTorch engine, in CTranslate2 and, with --peers-python, in Hugging Face's `generate`.
Each measurement is a fresh process, all contenders take turns, and the figures are medians over the
rounds. benchmarks/README.md says how to read it.
"""

import argparse
import dataclasses
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rounds import as_table, in_fresh_process, in_turn, machine, median_ratio

from seq2seq.cores import n_cores
from seq2seq.corpus.reader import read_lines

HUGGING_FACE = Path(__file__).parent / "peers" / "hf_marian.py"
BATCH_TOKENS = (1024, 2048, 4096, 8192, 16384)  # tried by --layouts
SEED = 1


@dataclass(frozen=True)
class Contender:
    """One way to translate.

    Attributes:
        engine: torch, ctranslate2 or hf.
        model: which of the exported directories.
        workers: batches at the same time; 0: as the engine decides, -1: as many as threads.
        max_batch_tokens: 0: what suits the engine.
    """

    name: str
    engine: str
    model: str
    precision: str
    workers: int = 0
    max_batch_tokens: int = 0


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("torch bf16", "torch", "safetensors", "bfloat16"),
        Contender("torch fp32", "torch", "safetensors", "float32"),
        Contender("ct2 fp32", "ctranslate2", "ctranslate2-float32", "auto"),
        Contender("ct2 fp32 one worker", "ctranslate2", "ctranslate2-float32", "auto", workers=1),
        Contender("ct2 int8", "ctranslate2", "ctranslate2-int8", "auto"),
        Contender("hf fp32", "hf", "safetensors", "float32"),
        Contender("hf bf16", "hf", "safetensors", "bfloat16"),
    )
}
# What others are compared with.
BASELINES = {"HF fp32": "hf fp32", "CT2 fp32": "ct2 fp32", "CT2 fp32 one worker": "ct2 fp32 one worker"}
SAME_TEXT = "torch fp32"  # whose translations the others are compared with


class Case(NamedTuple):
    """What each round measures once."""

    contender: Contender
    beam_size: int
    order: str


class Measurement(NamedTuple):
    """What a worker printed, and what it wrote."""

    figures: dict[str, Any]
    texts: list[str]


def main() -> None:
    parser = _parser()
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(measure(json.loads(args.worker))))
        return
    contenders = _contenders(args, parser)
    cases = [Case(*each) for each in itertools.product(contenders, args.beam, args.order)]
    results: dict[Case, list[Measurement]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(args, folder)
        export(args.model, {case.contender.model for case in cases}, folder)
        for number, case in in_turn(cases, args.rounds):
            results[case].append(one_measurement(args, case, folder))
            speed = results[case][-1].figures["sentences_per_s"]
            print(f"round {number}: {_label(case)}: {speed:,.1f} sentences/s", file=sys.stderr, flush=True)
            if args.json:
                args.json.write_text(json.dumps(_record(args, results), indent=1) + "\n", encoding="utf-8")
    print(table(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--model", type=Path, metavar="RUN", help="run directory or checkpoint; it is exported to a temporary place")
    add("--input", type=Path, metavar="FILE", help="lines to translate; may be compressed")
    add("--reference", type=Path, metavar="FILE", help="known translations, for BLEU; may be compressed")
    add("--limit", type=int, default=0, metavar="N", help="only the first N lines")
    add("--beam", type=int, nargs="+", default=[1, 5], metavar="N")
    add("--rounds", type=int, default=3)
    add("--warmup", type=int, default=64, metavar="N", help="lines translated before the clock starts")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="on a GPU, Hugging Face takes no part")
    add("--threads", type=int, default=0, metavar="N", help="CPU threads of each contender; default: one for each core")
    add("--contenders", nargs="+", choices=CONTENDERS, metavar="NAME", help=f"of {', '.join(CONTENDERS)}; default: all")
    add(
        "--peers-python",
        type=Path,
        metavar="FILE",
        help="a Python with transformers (benchmarks/README.md); without it, Hugging Face takes no part",
    )
    add(
        "--layouts", action="store_true", help="compare workers x threads and batch sizes of the PyTorch engine instead"
    )
    add("--max-batch-tokens", type=int, nargs="+", default=BATCH_TOKENS, metavar="N", help="those that --layouts tries")
    add(
        "--order",
        nargs="+",
        choices=("file", "mixed", "sorted"),
        default=["file"],
        help="mixed: lines of 1 to --join sentences at random; sorted: the same, longest first",
    )
    add("--join", type=int, default=6, metavar="N", help="most neighbouring lines that --order mixed and sorted join")
    add("--json", type=Path, metavar="FILE", help="write every single measurement")
    add("--worker", help=argparse.SUPPRESS)
    return parser


def _contenders(args: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Contender]:
    if not args.model or not args.input:
        parser.error("--model and --input are needed")
    if args.layouts:
        return _layouts(args.threads or n_cores(), args.max_batch_tokens)
    chosen = [CONTENDERS[name] for name in args.contenders or CONTENDERS]
    if args.device == "cuda":
        return [contender for contender in chosen if contender.engine != "hf"]
    if args.peers_python:
        return chosen
    if args.contenders and any(contender.engine == "hf" for contender in chosen):
        parser.error("Hugging Face needs --peers-python, see benchmarks/README.md")
    print("without --peers-python, Hugging Face takes no part", file=sys.stderr)
    return [contender for contender in chosen if contender.engine != "hf"]


def _layouts(n_threads: int, max_batch_tokens: Iterable[int]) -> list[Contender]:
    """The PyTorch engine with every number of workers that divides the threads, and every batch size."""
    workers = [n for n in range(n_threads, 0, -1) if n_threads % n == 0]
    return [
        Contender(f"torch {short} {n} x {n_threads // n}, {tokens} tokens", "torch", "safetensors", long, n, tokens)
        for short, long in (("bf16", "bfloat16"), ("fp32", "float32"))
        for n in workers
        for tokens in max_batch_tokens
    ]


# --- what is translated ---


def write_texts(args: argparse.Namespace, folder: Path) -> None:
    """Write source and reference in each order: `mixed.source`, `mixed.reference`, ..."""
    sides = {"source": args.input, "reference": args.reference}
    texts = {side: list(itertools.islice(read_lines(file), args.limit or None)) for side, file in sides.items() if file}
    if len({len(lines) for lines in texts.values()}) != 1:
        sys.exit("--reference does not have as many lines as --input")
    groups = _groups(len(texts["source"]), args.join)
    joined = {side: [" ".join(lines[i] for i in group) for group in groups] for side, lines in texts.items()}
    by_length = sorted(range(len(groups)), key=lambda i: -len(joined["source"][i]))
    for side, lines in texts.items():
        ordered = {"file": lines, "mixed": joined[side], "sorted": [joined[side][i] for i in by_length]}
        for order in args.order:
            _write_lines(folder / f"{order}.{side}", ordered[order])


def _groups(n_lines: int, longest: int) -> list[range]:
    """As many as there are lines: runs of 1 to `longest` neighbours, each beginning at a line of its own, at random."""
    shuffle = random.Random(SEED)
    firsts = list(range(n_lines))
    shuffle.shuffle(firsts)
    return [range(first, min(n_lines, first + shuffle.randint(1, longest))) for first in firsts]


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    file.write_bytes("".join(f"{line}\n" for line in lines).encode())


def export(run: Path, names: Iterable[str], folder: Path) -> None:
    """Make the model directories. The export compares each with the run, and its messages go to stderr."""
    for name in sorted(names):
        form, _, quantization = name.partition("-")
        command = [sys.executable, "-m", "seq2seq", "export", str(run)]
        command += ["--format", form, "--output", str(folder / name)]
        if quantization:
            command += ["--quantization", quantization]
        if form == "ctranslate2":
            command += ["--parity-input", str(next(folder.glob("*.source")))]
        done = subprocess.run(command, stdout=sys.stderr)
        if done.returncode:  # it has said why
            sys.exit(done.returncode)


# --- one measurement ---


def one_measurement(args: argparse.Namespace, case: Case, folder: Path) -> Measurement:
    source, reference, output = (folder / f"{case.order}.{kind}" for kind in ("source", "reference", "output"))
    if case.contender.engine == "hf":
        command: list[Any] = [args.peers_python, HUGGING_FACE, "--model", folder / case.contender.model]
        command += ["--input", source, "--output", output, "--beam", case.beam_size, "--warmup", args.warmup]
        command += ["--reference", reference] if reference.exists() else []
        command += ["--threads", args.threads] if args.threads else []
        command += ["--bf16"] if case.contender.precision == "bfloat16" else []
    else:
        job = dataclasses.asdict(case.contender) | {
            "directory": str(folder / case.contender.model),
            "beam_size": case.beam_size,
            "input": str(source),
            "reference": str(reference) if reference.exists() else "",
            "output": str(output),
            "device": args.device,
            "threads": args.threads,
            "warmup": args.warmup,
        }
        command = [sys.executable, __file__, "--worker", json.dumps(job)]
    return Measurement(in_fresh_process(command), list(read_lines(output)))


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Translate as translate.py does, from lines of text to lines of text, without loading and a warm-up."""
    import torch

    import seq2seq
    from seq2seq.hardware import speed_up_cpu

    lines = list(read_lines(Path(job["input"])))
    n_threads = job["threads"] or n_cores()
    if job["device"] == "cpu":
        speed_up_cpu()
    began = time.perf_counter()
    settings = {name: job[name] for name in ("engine", "precision", "workers", "device")}
    translator = seq2seq.load(job["directory"], threads=n_threads, forks=job["device"] == "cpu", **settings)
    load_s = time.perf_counter() - began
    decoding = dataclasses.replace(translator.decoding, beam_size=job["beam_size"], n_best=1)
    if job["max_batch_tokens"]:
        decoding = dataclasses.replace(decoding, max_batch_tokens=job["max_batch_tokens"])
    warmup = lines[:: max(1, len(lines) // max(1, job["warmup"]))][: job["warmup"]]  # of all lengths
    translator.translate(warmup, decoding)

    began, cpu_began_s = time.perf_counter(), _cpu_s()
    texts = [translation.text for translation in translator.translate_stream(lines, decoding)]
    elapsed_s, cpu_s = time.perf_counter() - began, _cpu_s() - cpu_began_s
    peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + sum(map(_own_kib, _workers())))
    if job["engine"] == "torch" and job["device"] == "cuda":
        peak = torch.cuda.max_memory_allocated()

    _write_lines(Path(job["output"]), texts)
    n_tokens = sum(len(ids) + 1 for ids in translator.tokenizer.encode(texts) if ids)
    n_workers = translator.engine.n_workers
    return {
        "sentences_per_s": len(lines) / elapsed_s,
        "tokens_per_s": n_tokens / elapsed_s,
        "n_tokens": n_tokens,
        "elapsed_s": elapsed_s,
        "load_s": load_s,
        "cores": cpu_s / elapsed_s,
        "peak_mb": peak / 1e6,
        "bleu": _bleu(texts, job["reference"]),
        "layout": f"{n_workers} x {max(1, n_threads // n_workers)}",
        "precision": translator.engine.precision,
        "max_batch_tokens": decoding.max_batch_tokens,
        "versions": {"torch": torch.__version__},
    }


def _workers() -> list[Path]:
    """The folder in /proc of each process that this one has forked, and that lives."""
    return [
        Path("/proc", pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()
    ]


def _cpu_s() -> float:
    """Those of this process and of its workers."""
    times = os.times()
    ticks = [file.joinpath("stat").read_text().rpartition(")")[2].split()[11:13] for file in _workers()]
    of_workers = sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")
    return times.user + times.system + times.children_user + times.children_system + of_workers


def _own_kib(worker: Path) -> int:
    """What a worker has for itself: it shares the model with its parent."""
    lines = worker.joinpath("smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty:", "Private_Clean:")))


def _bleu(texts: Sequence[str], reference: str) -> float | None:
    from seq2seq.evaluation.scores import corpus_scores

    return corpus_scores(texts, list(read_lines(Path(reference))), ["bleu"])["bleu"].score if reference else None


# --- what is said about them ---


def table(results: dict[Case, list[Measurement]]) -> str:
    """One case a row. A ratio is the median of the ratios within the rounds."""
    orders = list(dict.fromkeys(case.order for case in results))
    baselines = {
        title: name for title, name in BASELINES.items() if any(case.contender.name == name for case in results)
    }
    has_text = any(case.contender.name == SAME_TEXT for case in results)
    titles = [
        "engine",
        "beam",
        "workers x threads",
        "sentences/s (least - most)",
        "tgt tok/s",
        "BLEU",
        "cores",
        "memory",
    ]
    titles += [f"x {title}" for title in baselines]
    titles += [f"lines as {SAME_TEXT}"] if has_text else []
    titles += ["x sorted"] if {"mixed", "sorted"} <= set(orders) else []
    rows = []
    for case, rounds in sorted(results.items(), key=lambda item: (orders.index(item[0].order), item[0].beam_size)):
        speeds = _figures(rounds, "sentences_per_s")
        bleu = rounds[0].figures["bleu"]
        row = [
            case.contender.name + ("" if case.order == "file" else f", {case.order}"),
            str(case.beam_size),
            rounds[0].figures["layout"],
            f"**{statistics.median(speeds):,.1f}** ({min(speeds):,.1f} - {max(speeds):,.1f})",
            f"{statistics.median(_figures(rounds, 'tokens_per_s')):,.0f}",
            "" if bleu is None else f"{bleu:.2f}",
            f"{statistics.median(_figures(rounds, 'cores')):.2f}",
            f"{max(_figures(rounds, 'peak_mb')):,.0f} MB",
        ]
        for name in baselines.values():
            row.append(_ratio(results, case, _same(results, case, name=name)))
        if has_text:
            row.append(_agreement(results, case, _same(results, case, name=SAME_TEXT)))
        if "x sorted" in titles:
            row.append(_ratio(results, case, case._replace(order="sorted")) if case.order == "mixed" else "")
        rows.append(row)
    return as_table(titles, rows)


def _same(results: dict[Case, list[Measurement]], case: Case, name: str) -> Case | None:
    """The case of another contender with the same beam and order."""
    return next((each for each in results if each[1:] == case[1:] and each.contender.name == name), None)


def _ratio(results: dict[Case, list[Measurement]], case: Case, baseline: Case | None) -> str:
    if baseline not in results:
        return ""
    ours, theirs = (_figures(results[each], "sentences_per_s") for each in (case, baseline))
    return f"{median_ratio(ours, theirs):.2f}"


def _agreement(results: dict[Case, list[Measurement]], case: Case, baseline: Case | None) -> str:
    """How many lines of the first rounds are the same text."""
    if baseline not in results:
        return ""
    same = [a == b for a, b in zip(results[case][0].texts, results[baseline][0].texts, strict=True)]
    return f"{sum(same) / len(same):.1%}"


def _figures(rounds: Iterable[Measurement], name: str) -> list[float]:
    return [measurement.figures[name] for measurement in rounds]


def _label(case: Case) -> str:
    return f"{case.contender.name}, beam {case.beam_size}, {case.order}"


def _record(args: argparse.Namespace, results: dict[Case, list[Measurement]]) -> dict[str, Any]:
    """Every single measurement, and where it was made, as --json writes it."""
    return {
        "machine": machine(),
        "arguments": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(args).items()
            if name != "worker"
        },
        "measurements": [
            {
                "contender": case.contender.name,
                "beam_size": case.beam_size,
                "order": case.order,
                "round": number,
                **measurement.figures,
            }
            for case, rounds in results.items()
            for number, measurement in enumerate(rounds, start=1)
        ],
    }


if __name__ == "__main__":
    main()
