"""Try on a GPU all that needs one, and write one table:  python benchmarks/gpu.py [--device cpu --quick]

`make gpu` installs what it needs and runs it. Each part is a process of its own with a time limit. What fails, or takes
too long, becomes a row, and the other parts go on; the program then ends with status 1. The table is on stdout and in
gpu.md, to be pasted into docs/performance.md. benchmarks/README.md says what is in it.
"""

import argparse
import csv
import datetime
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from gpu_peaks import Peak, peak_of
from rounds import as_table, machine

HERE = Path(__file__).parent
ROOT = HERE.parent
SAMPLE = ROOT / "data" / "sample"
TITLES = ("what", "setting", "result", "share of the peak", "share of its products' rate", "memory", "note")
TF32 = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"  # torch's variable: float32 products may be rounded to TF32
VOCAB_SIZE = 32_000
DEVICES = 2  # for the strategies that share the work
# Steps of train_speed.py with --quick. Two threads would wait for each other on a busy machine.
QUICK = ("--steps", 2, "--warmup", 1, "--rounds", 1, "--threads", 1)
MOST_APART = 0.3  # nats, of the loss of other batches of the same text


class Row(NamedTuple):
    """A row of the table."""

    what: str
    setting: str = ""
    result: str = ""
    of_peak: str = ""
    of_products: str = ""
    memory: str = ""
    note: str = ""


class PartError(Exception):
    """A part did not end well."""


class SkippedError(Exception):
    """A part has no meaning here."""


@dataclass(frozen=True)
class Where:
    """What is tried.

    Attributes:
        device: cuda or cpu.
        is_quick: tiny sizes, so that all parts take a minute or two.
        peak: of the GPU, if it is known.
        folder: for files of the parts, which share it.
        peers: where other toolkits are installed (`benchmarks/peers/install.sh`), if they are.
    """

    device: str
    is_quick: bool
    peak: Peak | None
    folder: Path
    peers: Path | None


Part = Callable[[Where], Iterator[Row]]


def main() -> None:
    args = _parser().parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit(
            f"There is no GPU here that torch {torch.__version__} ({_cuda()}) can use; with --device cpu --quick all "
            "parts run on the CPU, which says that they work and nothing about speed."
        )
    name = torch.cuda.get_device_name() if args.device == "cuda" else ""
    rows: list[Row] = []
    has_failed = False
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        where = Where(args.device, args.quick, peak_of(name), Path(folder), args.peers)
        for part in args.parts or PARTS:
            print(f"{part} ...", file=sys.stderr, flush=True)
            new, ended_well = rows_of(part, PARTS[part], where)
            rows += new
            has_failed |= not ended_well
            minutes = (time.monotonic() - began) / 60
            args.output.write_text(page(rows, args.device, minutes) + "\n", encoding="utf-8")  # if it is killed later
    print(args.output.read_text(encoding="utf-8"))
    if has_failed:
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--quick", action="store_true", help="tiny sizes: whether all parts work, in a minute or two")
    add("--parts", nargs="+", choices=PARTS, metavar="NAME", help=f"only these, of {', '.join(PARTS)}")
    add(
        "--peers",
        type=Path,
        metavar="HOME",
        help="measure other toolkits, too, with what peers/install.sh has put there",
    )
    add("--output", type=Path, default=Path("gpu.md"), metavar="FILE", help="default: gpu.md")
    return parser


def rows_of(name: str, part: Part, where: Where) -> tuple[list[Row], bool]:
    """The rows of a part as far as it came, and whether it ended well."""
    rows: list[Row] = []
    try:
        for row in part(where):
            rows.append(row)
    except SkippedError as reason:
        rows.append(Row(name, result="skipped", note=str(reason)))
    except PartError as error:
        rows.append(Row(name, result="**failed**", note=str(error)))
    except Exception as error:  # in what reads the output of a part: no reason to lose the other parts
        rows.append(Row(name, result="**failed**", note=f"{type(error).__name__}: {error}"))
    return rows, not any(row.result == "**failed**" for row in rows)


def page(rows: Sequence[Row], device: str, minutes: float) -> str:
    """The table, and where and how it was made."""
    command = shlex.join(["python", "benchmarks/gpu.py", *sys.argv[1:]])
    cells = [[_cell(text) for text in row] for row in rows]
    facts = "\n".join(f"| {name} | {value} |" for name, value in _facts(device).items())
    return (
        f"    {command}\n\n| measured with | |\n|---|---|\n{facts}\n| took | {minutes:.0f} minutes |\n\n"
        f"{as_table(TITLES, cells)}"
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def _facts(device: str) -> dict[str, str]:
    here = machine()
    facts = {"date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"}
    if device == "cuda":
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        gigabytes = torch.cuda.get_device_properties(0).total_memory / 1e9
        facts |= {"GPUs": f"{len(names)} x {names[0]}, {gigabytes:.0f} GB", "driver": _driver()}
    facts["machine"] = f"{here['cores']} cores of {here['processor']}"
    return facts | {"torch": f"{torch.__version__}, {_cuda()}", "python": here["python"]}


def _cuda() -> str:
    return f"CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"


def _driver() -> str:
    if not shutil.which("nvidia-smi"):
        return "unknown"
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True)
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout.strip() else "unknown"


# --- a process ---


def run(words: Sequence[object], limit_s: float, *, tf32: bool = False, ok: Sequence[int] = (0,)) -> str:
    """What a command of this Python writes to stdout.

    Raises:
        PartError: it ended with another status than `ok`, or not in time.
    """
    command = [sys.executable, *map(str, words)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    environment |= {TF32: "1"} if tf32 else {}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that what it starts ends with it
    )
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise PartError(f"no end within {limit_s:.0f} s: {_named(command)}") from None
    finally:
        _end_group(process)
    if process.returncode not in ok:
        raise PartError(f"{_last_line(errors) or _last_line(output)} (status {process.returncode}: {_named(command)})")
    return output


def _end_group(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _named(command: Sequence[str]) -> str:
    return shlex.join(["python", *command[1:]])[:160]


def _last_line(text: str) -> str:
    """Of an error of ours the line that says so, else the last one."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("This failed: ")]
    said = [line for line in lines if "error: " in line]
    return (said or lines or [""])[-1].strip()[:300]


def _json_of(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


# --- the parts ---


def tests(where: Where) -> Iterator[Row]:
    """The tests that are skipped where there is no GPU."""
    if where.device == "cpu":
        raise SkippedError("no tests are of a CPU alone; run make test")
    output = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", "tests"], 1200, ok=(0, 1))
    yield from _outcome_of_tests(output, "tests that need a GPU")


def all_tests(where: Where) -> Iterator[Row]:
    """The other quick tests: most use the CPU, and some take a GPU where there is one."""
    if where.is_quick:
        raise SkippedError("takes minutes; run make test-fast")
    output = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not gpu", "tests"], 3600, ok=(0, 1)
    )
    yield from _outcome_of_tests(output, "quick tests, with a GPU in the machine")


def _outcome_of_tests(output: str, what: str) -> Iterator[Row]:
    failed = [line.split(" ")[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    summary = output.strip().splitlines()[-1].strip("= ")
    yield Row(what, result="**failed**" if failed else summary, note=" ".join(failed[:20]))


def parity(where: Where) -> Iterator[Row]:
    found = _json_of(run([HERE / "device_parity.py", "--device", where.device], 600))
    for precision, figures in found.items():
        apart = ", ".join(f"{name} {figures[name]:.1e}" for name in ("logits", "loss", "gradient"))
        same = ", ".join(f"{figures[f'same_{name}']:.0%} of {name}" for name in ("greedy", "beam"))
        yield Row(
            "parity with the CPU in fp32",
            precision,
            "near" if figures["is_near"] else "**failed**",
            note=f"largest differences: {apart}; limit {figures['limit']:g}; same translations: {same}",
        )


def attention(where: Where) -> Iterator[Row]:
    sizes = [["--length", 16, "--tokens", 64, "--n-heads", 2, "--d-head", 8]]
    if not where.is_quick:
        sizes = [["--length", length] for length in (32, 128, 512)]
    for size in sizes:
        found = _json_of(run([HERE / "attention_kernels.py", "--device", where.device, *size], 600))
        for kind, times in found.items():
            others = ", ".join(
                f"{name} {'refuses' if time is None else f'{time:.2f}'}"
                for name, time in times.items()
                if name != "chosen"
            )
            yield Row(f"attention, {kind}", f"{size[1]} tokens", f"{times['chosen']:.2f} ms", note=f"kernels: {others}")


def products(where: Where) -> Iterator[Row]:
    """The rate of one large product: what can be reached of the peak."""
    n = 256 if where.is_quick else 8192
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import torch, product_rate as rate\n"
        "torch.set_default_device(sys.argv[2]); product = rate.Product(1, *[int(sys.argv[3])] * 3)\n"
        "print(json.dumps({name: product.n_operations / rate.best_s(product, dtype) / 1e12\n"
        "                  for name, dtype in rate.DTYPES.items()}))"
    )
    for tf32 in (False, True) if where.device == "cuda" else (False,):
        rates = _json_of(run(["-c", script, HERE, where.device, n], 600, tf32=tf32))
        for precision, rate in rates.items():
            if not tf32 or precision == "fp32":
                peak = where.peak and (where.peak.bf16 if precision == "bf16" else where.peak.fp32)
                share = f"{rate / peak:.0%}" if peak and not tf32 else ""
                name = "tf32" if tf32 else precision
                yield Row("one matrix product", f"{name}, {n} x {n} x {n}", f"{rate:,.2f} TFLOP/s", share)


def training(where: Where) -> Iterator[Row]:
    """Our training on random pairs: three sizes, short and long, compiled and not."""
    presets = ["tiny"] if where.is_quick else ["small", "base", "big"]
    for preset in presets:
        for length in (6,) if where.is_quick else (32, 128):
            for compiled in (False, True):
                yield from _try(lambda: _speed(where, preset, length, compiled=compiled), f"training, {preset}")  # noqa: B023
    if where.device == "cuda" and not where.is_quick:
        yield from _try(lambda: _speed(where, "base", 128, compiled=False, tf32=True), "training, base")


def _try(rows: Callable[[], Iterator[Row]], what: str) -> Iterator[Row]:
    """These rows; if they fail, a row that says so, and the part goes on."""
    try:
        yield from rows()
    except PartError as error:
        yield Row(what, result="**failed**", note=str(error))


def _speed(where: Where, preset: str, length: int, *, compiled: bool, tf32: bool = False) -> Iterator[Row]:
    budget, vocab_size = (300, 300) if where.is_quick else (32_768, VOCAB_SIZE)
    record = where.folder / "speed.json"
    words: list[object] = [HERE / "train_speed.py", "--preset", preset, "--synthetic", length, "--json", record]
    words += ["--max-tokens", budget, "--vocab-size", vocab_size, "--device", where.device]
    words += QUICK if where.is_quick else ["--steps", 30, "--warmup", 10, "--rounds", 2]
    words += ["--compile"] if compiled else []
    words += [] if where.is_quick and compiled else ["--limit"]  # ten seconds on a CPU, and the same as without
    precisions = ["fp32"] if tf32 else ["bf16"] if compiled or where.is_quick else ["fp32", "bf16"]
    words += ["--contenders", *(f"ours {precision}" for precision in precisions)]
    run(words, 1200, tf32=tf32)
    yield from speed_rows(json.loads(record.read_text()), f"training, {preset}", where, precisions, tf32=tf32)


def speed_rows(
    record: dict[str, Any], what: str, where: Where, precisions: Sequence[str], *, tf32: bool = False
) -> Iterator[Row]:
    """A row for each precision of what train_speed.py has written."""
    arguments, limit = record["arguments"], record["limit"]
    for precision in precisions:
        rounds = [each for each in record["measurements"] if each["contender"] == f"ours {precision}"]
        speed = statistics.median(each["tgt_per_s"] for each in rounds)
        of_peak = of_products = ""
        if limit:
            seconds = limit["batch"]["scored"] / speed  # of a step
            of_products = f"{limit['seconds'][precision] / seconds:.0%}"
            peak = where.peak and (where.peak.bf16 if precision == "bf16" else where.peak.fp32)
            if peak and not tf32:
                of_peak = f"{limit['gflop'] / 1000 / seconds / peak:.1%}"
        graphs = max(each["n_compilations"] for each in rounds)
        setting = ["tf32" if tf32 else precision, f"{arguments['synthetic']} tokens a side"]
        setting += [f"{arguments['max_tokens']:,} a batch", *(["compiled"] if arguments["compile"] else [])]
        yield Row(
            what,
            ", ".join(setting),
            f"{speed:,.0f} target tokens/s",
            of_peak,
            of_products,
            f"{max(each['peak_gb'] for each in rounds):.2f} GB",
            f"{graphs} graphs compiled" if arguments["compile"] else "",
        )


def peers(where: Where) -> Iterator[Row]:
    """Others on the same text: a plain loop around torch.nn.Transformer, and what is installed."""
    record = where.folder / "peers.json"
    words: list[object] = [HERE / "train_speed.py", "--json", record, "--device", where.device]
    words += ["--preset", "tiny"] if where.is_quick else ["--preset", "base", "--max-tokens", 8192]
    words += QUICK if where.is_quick else ["--steps", 20, "--rounds", 3]
    names = ["ours bf16", "plain torch bf16"]
    names += [] if where.is_quick else ["ours fp32", "plain torch fp32"]
    if where.peers:
        words += ["--peers", where.peers]
        names += ["hf bf16", "hf fp32"]
    run([*words, "--contenders", *names], 1800)
    measured = json.loads(record.read_text())["measurements"]
    for name in names:
        speeds = [each["tgt_per_s"] for each in measured if each["contender"] == name]
        if speeds:
            memory = max(each["peak_gb"] for each in measured if each["contender"] == name)
            result = f"{statistics.median(speeds):,.0f} target tokens/s"
            yield Row("training on the sample corpus", name, result, memory=f"{memory:.2f} GB")


def a_run(where: Where) -> Iterator[Row]:
    """A whole run, whose model is translated with later."""
    words = ["train.py", "experiment=demo", f"run_dir={where.folder / 'run'}", f"trainer.accelerator={where.device}"]
    words += ["trainer.devices=1", "logger=csv", "trainer.progress=false", f"data.cache_dir={where.folder / 'cache'}"]
    if where.is_quick:
        words += ["trainer.max_epochs=0", "trainer.max_time=''", "trainer.max_steps=3", "model.n_encoder_layers=1"]
        words += ["model.n_decoder_layers=1", "trainer.average_last=0", "trainer.valid_sentences=2", "data.test=null"]
        words += ["tokenizer.vocab_size=600", "decoding.beam_size=1"]
        words += ["decoding.max_length_a=0", "decoding.max_length_b=3"]
    began = time.monotonic()
    run(words, 1800)
    summary = (where.folder / "run" / "summary.txt").read_text(encoding="utf-8")
    scores = [line for line in summary.splitlines() if "BLEU" in line]
    yield Row("train.py experiment=demo", where.device, f"{time.monotonic() - began:.0f} s", note="; ".join(scores))


def auto(where: Where) -> Iterator[Row]:
    """`batch.max_tokens=auto` and `--estimate`: what fits into the memory, and what a step needs of it."""
    model = "model=tiny" if where.is_quick else "model=big"
    words = ["train.py", "experiment=demo", model, "batch.max_tokens=auto", "--estimate"]
    words += [f"data.cache_dir={where.folder / 'cache'}", f"trainer.accelerator={where.device}"]
    words += ["trainer.devices=1"]  # --estimate measures one process
    words += ["tokenizer.vocab_size=600", "data.max_sentence_tokens=24"] if where.is_quick else []
    output = run(words, 900)
    said = [" ".join(line.split()) for line in output.splitlines() if line.startswith(("memory", "time"))]
    yield Row("batch.max_tokens=auto, --estimate", model, "works", note="; ".join(said))


def translation(where: Where) -> Iterator[Row]:
    """Our engine and CTranslate2 with the model of the whole run."""
    model, record = where.folder / "run", where.folder / "translation.json"
    if not model.is_dir():
        raise SkippedError("no model: the part `run` made none")
    words: list[object] = [HERE / "translate_speed.py", "--model", model, "--device", where.device, "--json", record]
    words += ["--input", SAMPLE / "test.fr", "--reference", SAMPLE / "test.en"]
    names = ["torch bf16", "torch fp32", "ct2 fp32"]
    words += (
        ["--limit", 8, "--rounds", 1, "--warmup", 2, "--beam", 1, "--threads", 1]
        if where.is_quick
        else ["--beam", 1, 5]
    )
    run([*words, "--contenders", *(names[:1] + names[2:] if where.is_quick else names)], 1800)
    measured = json.loads(record.read_text())["measurements"]
    for case in dict.fromkeys((each["contender"], each["beam_size"]) for each in measured):
        rounds = [each for each in measured if (each["contender"], each["beam_size"]) == case]
        speed = statistics.median(each["sentences_per_s"] for each in rounds)
        memory = f"{max(each['peak_mb'] for each in rounds) / 1000:.2f} GB" if case[0].startswith("torch") else ""
        setting = f"{case[0]}, beam {case[1]}"
        yield Row(
            "translation", setting, f"{speed:,.0f} sentences/s", memory=memory, note=f"BLEU {rounds[0]['bleu']:.2f}"
        )


def devices(where: Where) -> Iterator[Row]:
    """One process, and two with each strategy: the same steps must give about the same loss."""
    if where.device == "cuda" and torch.cuda.device_count() < DEVICES:
        raise SkippedError("there is one GPU, and the strategies need two")
    losses: dict[str, float] = {}
    for name, n in {"one": 1, "ddp": DEVICES, "fsdp": DEVICES}.items():
        yield from _try(lambda: _strategy(where, name, n, losses), f"strategy {name}")  # noqa: B023


def _strategy(where: Where, name: str, n: int, losses: dict[str, float]) -> Iterator[Row]:
    folder, n_steps = where.folder / name, 3 if where.is_quick else 200
    words = ["train.py", "experiment=demo", f"run_dir={folder}", f"trainer.accelerator={where.device}"]
    words += [f"trainer.devices={n}", f"batch.max_tokens={4096 // n}", f"trainer.strategy={name if n > 1 else 'auto'}"]
    words += [
        f"trainer.max_steps={n_steps}",
        "trainer.max_epochs=0",
        "trainer.max_time=''",
        "trainer.log_every_n_steps=1",
    ]
    words += ["logger=csv", "trainer.progress=false", f"data.cache_dir={where.folder / 'cache'}", "data.test=null"]
    words += ["trainer.average_last=0", "trainer.valid_sentences=2", "decoding.beam_size=1", "model.dropout=0"]
    words += ["decoding.max_length_a=0", "decoding.max_length_b=3", "trainer.val_every_n_steps=1000000"]
    words += ["model=tiny", "tokenizer.vocab_size=600", "trainer.threads=1"] if where.is_quick else ["model=base"]
    try:
        run(words, 900)
    except PartError as error:
        if "(status 2:" in str(error) and "strategy" in str(error).partition("(status 2:")[0]:
            yield Row(f"strategy {name}", f"{n} x {where.device}", "skipped", note=f"refused: {error}")
            return
        raise
    logged = _metrics(folder / "metrics.csv")
    steps = logged["train/loss"]
    losses[name] = statistics.fmean(steps[3 * len(steps) // 4 :])  # of the last quarter: batches differ
    speeds = logged["train/tgt_tokens_per_s"][len(steps) // 2 :]  # when nothing is set up any more
    speed = statistics.median(speeds) * n
    apart = abs(losses[name] - losses["one"]) if "one" in losses else 0.0
    result = f"{speed:,.0f} target tokens/s" if apart < MOST_APART else "**failed**"
    note = f"loss {losses[name]:.3f} after {len(steps)} steps, {apart:.3f} from that of one process"
    yield Row(f"strategy {name}", f"{n} x {where.device}", result, note=note)


def _metrics(file: Path) -> dict[str, list[float]]:
    """The values of each metric in the order of the steps."""
    found: dict[str, list[float]] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found.setdefault(row["metric"], []).append(float(row["value"]))
    return found


PARTS: dict[str, Part] = {
    "tests": tests,
    "parity": parity,
    "products": products,
    "attention": attention,
    "training": training,
    "peers": peers,
    "run": a_run,
    "auto": auto,
    "translation": translation,
    "devices": devices,
    "all-tests": all_tests,  # last, since it takes longest
}

if __name__ == "__main__":
    main()
