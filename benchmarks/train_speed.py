"""How fast does training go, and what does it cost?  python benchmarks/train_speed.py [--data DIR] [--rounds N]

It trains a model through the real LightningModule, loader and Trainer. With --peers it trains other toolkits on the
same text. Each measurement is a fresh process, all contenders take turns, and the figures are medians over the rounds.
benchmarks/README.md says how to read it.
"""

import argparse
import dataclasses
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf
from rounds import as_table, in_fresh_process, in_turn, machine, median_ratio

from seq2seq.config import DataConfig, RunConfig
from seq2seq.hardware import accelerator_of

HERE = Path(__file__).parent
SAMPLE = "bundled:sample"
PRESETS = {file.stem: file for file in sorted((HERE.parent / "conf" / "model").glob("*.yaml"))}
Figures = dict[str, Any]  # what one measurement found; `peers/meter.py` names most of them


class Contender(NamedTuple):
    """One way to train.

    Attributes:
        script: in this folder.
        precision: fp32, or bf16 for mixed precision.
        environment: whose Python runs it, below --peers; empty: this one.
        on_gpu: whether its script can train on a GPU.
    """

    script: str
    precision: str
    environment: str = ""
    on_gpu: bool = False


CONTENDERS = {
    "ours fp32": Contender("our_training.py", "fp32", on_gpu=True),
    "ours bf16": Contender("our_training.py", "bf16", on_gpu=True),
    "eole fp32": Contender("peers/eole_train.py", "fp32", "eole"),
    "eole bf16": Contender("peers/eole_train.py", "bf16", "eole"),
    "hf fp32": Contender("peers/hf_train.py", "fp32", "hf", on_gpu=True),
    "hf bf16": Contender("peers/hf_train.py", "bf16", "hf", on_gpu=True),
    "fairseq fp32": Contender("peers/fairseq_train.py", "fp32", "fairseq"),
    "joeynmt fp32": Contender("peers/joeynmt_train.py", "fp32", "joeynmt"),
    "plain torch fp32": Contender("peers/plain_train.py", "fp32", on_gpu=True),
    "plain torch bf16": Contender("peers/plain_train.py", "bf16", on_gpu=True),
}
OURS = ("ours fp32", "ours bf16")
COMPARED = "ours bf16"  # with all others


def main() -> None:
    parser = _parser()
    args = parser.parse_args()
    names = _contenders(args, parser)
    results: dict[str, list[Figures]] = {name: [] for name in names}
    config = configuration(args)
    text: Figures = {}
    limit: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        job = {"precision": "", "steps": args.steps, "warmup": args.warmup, "folder": folder}
        job |= {"config": dataclasses.asdict(config), "synthetic": args.synthetic}
        if not set(names) <= set(OURS):
            text = in_fresh_process([sys.executable, HERE / "training_text.py", json.dumps(job)])
            print(f"{text['pairs']:,} pairs, {text['tgt']:,} target tokens", file=sys.stderr, flush=True)
        for number, name in in_turn(names, args.rounds):
            script, job["precision"], environment, _ = CONTENDERS[name]
            job["config"]["seed"] = number  # other batches in each round, since a few batches are not like all
            python = _python(args.peers, environment) if environment else sys.executable
            results[name].append(in_fresh_process([python, HERE / script, json.dumps(job)]))
            speed = results[name][-1]["tgt_per_s"]
            print(f"round {number}: {name}: {speed:,.0f} target tokens/s", file=sys.stderr, flush=True)
            _write_record(args, text, results, limit)
    print(table(results))
    if args.limit:
        limit = product_limit(config, next(results[name] for name in OURS if name in results))
        _write_record(args, text, results, limit)
        print(limit_table(limit, results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", default=SAMPLE, help="folder with train.fr(.gz), train.en(.gz); default: sample")
    add("--synthetic", type=int, default=0, metavar="N", help="no text: random pairs of N tokens a side; ours only")
    add("--preset", choices=PRESETS, default="small", help="of conf/model; default: small")
    add("--compile", action="store_true", help="trainer.compile=true; ours only")
    add("--max-tokens", type=int, default=4096, help="budget of a batch: pairs x longest side")
    add("--vocab-size", type=int, default=0, help="default: 8000, or 2000 for the sample corpus")
    add("--dropout", type=float, default=0.1)
    add("--steps", type=int, default=30, help="measured steps a round")
    add("--warmup", type=int, default=5, help="steps before them, at least 1")
    add("--rounds", type=int, default=3)
    add(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one; with peers: cpu"
    )
    add("--threads", type=int, default=0, help="CPU threads; default: as torch decides")
    add("--peers", type=Path, metavar="HOME", help="measure others, too, with what peers/install.sh has put there")
    add("--contenders", nargs="+", choices=CONTENDERS, metavar="NAME", help=f"only these, of {', '.join(CONTENDERS)}")
    add("--limit", action="store_true", help="say how fast the matrix products of a step are by themselves")
    add("--json", type=Path, metavar="FILE", help="write every single measurement")
    return parser


def _contenders(args: argparse.Namespace, parser: argparse.ArgumentParser) -> list[str]:
    """The contenders that are asked for and installed."""
    names = list(args.contenders or (CONTENDERS if args.peers else OURS))
    if args.device == "cuda" and (others := [name for name in names if not CONTENDERS[name].on_gpu]):
        print(f"on a GPU, these take no part: {', '.join(others)}", file=sys.stderr)
        names = [name for name in names if name not in others]
    environments = dict.fromkeys(CONTENDERS[name].environment for name in names if CONTENDERS[name].environment)
    if args.warmup < 1:
        parser.error("--warmup must be at least 1: the clock starts where a step ends")
    if not set(names) <= set(OURS) and (args.synthetic or args.compile):
        parser.error("--synthetic and --compile are for our own training; leave --peers out")
    if args.limit and not set(OURS) & set(names):
        parser.error(f"--limit is about our own batches; measure {' or '.join(OURS)}, too")
    if environments and not args.peers:
        parser.error(f"to measure {', '.join(environments)}, say with --peers where it is; see benchmarks/README.md")
    for environment in environments:
        if not _python(args.peers, environment).exists():
            command = f"{HERE / 'peers' / 'install.sh'} {args.peers} {environment}"
            print(f"{environment} is not installed and takes no part; to install it: {command}", file=sys.stderr)
            names = [name for name in names if CONTENDERS[name].environment != environment]
    if args.device == "auto" and not set(names) <= set(OURS):
        args.device = "cpu"
    return names or parser.error("no contender is left")


def _python(home: Path, environment: str) -> Path:
    return home / environment / "bin" / "python"


def configuration(args: argparse.Namespace) -> RunConfig:
    """Our configuration, which the peers imitate."""
    config = RunConfig(data=DataConfig(dir=args.data))
    for name, value in OmegaConf.load(PRESETS[args.preset]).items():
        setattr(config.model, str(name), value)
    config.trainer.compile = args.compile
    if args.data != SAMPLE:  # only the training text is used
        config.data.valid = config.data.test = config.data.train
    config.tokenizer.vocab_size = args.vocab_size or (2000 if args.data == SAMPLE and not args.synthetic else 8000)
    config.batch.max_tokens = args.max_tokens
    config.model.dropout = args.dropout
    config.trainer.max_steps = args.warmup + args.steps
    config.trainer.threads = args.threads
    config.trainer.accelerator = args.device
    config.trainer.accelerator = accelerator_of(config.trainer)  # for the peers, who do not know `auto`
    return config


def table(results: dict[str, list[Figures]]) -> str:
    """One contender a row: medians over the rounds."""
    titles = ["contender", "precision", "tgt tok/s (least - most)", "src tok/s", "sentences/s", "padding", "loading"]
    titles += ["cores", "peak memory"] + ([f"{COMPARED} / it"] if COMPARED in results else [])
    rows = []
    for name, rounds in results.items():
        speeds = _each(rounds, "tgt_per_s")
        who, _, precision = name.rpartition(" ")
        row = [
            who,
            precision,
            f"**{statistics.median(speeds):,.0f}** ({min(speeds):,.0f} - {max(speeds):,.0f})",
            f"{_median(rounds, 'src_per_s'):,.0f}",
            f"{_median(rounds, 'sentences_per_s'):,.0f}",
            f"{_median(rounds, 'padding'):.1%}",
            f"{_median(rounds, 'loading'):.2%}" if "loading" in rounds[0] else "",
            f"{_median(rounds, 'cores'):.2f}",
            f"{max(_each(rounds, 'peak_gb')):.2f} GB",
        ]
        if COMPARED in results:
            row.append(f"{median_ratio(_each(results[COMPARED], 'tgt_per_s'), speeds):.2f}")
        rows.append(row)
    return as_table(titles, rows)


def product_limit(config: RunConfig, rounds: Sequence[Figures]) -> Figures:
    """What product_rate.py finds for the average batch of our measured steps."""
    step = {name: statistics.fmean(figures["a_step"][name] for figures in rounds) for name in rounds[0]["a_step"]}
    batch = {
        "sentences": round(step["sentences"]),
        "src": round(step["src_slots"] / step["sentences"]),
        "tgt": round(step["tgt_slots"] / step["sentences"]),
        "scored": round(step["tgt"]),
    }
    job = {"model": dataclasses.asdict(config.model), "vocab_size": config.tokenizer.vocab_size, "batch": batch}
    device = accelerator_of(config.trainer)
    command = [
        sys.executable,
        HERE / "product_rate.py",
        json.dumps(job | {"threads": config.trainer.threads, "device": device}),
    ]
    return {"batch": batch, **in_fresh_process(command)}


def limit_table(limit: Figures, results: dict[str, list[Figures]]) -> str:
    """How much of a step its matrix products would take by themselves."""
    batch = limit["batch"]
    titles = ["precision", "GFLOP/s of the products", "they take", "hence at most", "ours", "share of the limit"]
    rows = []
    for name in OURS:
        seconds = limit["seconds"][CONTENDERS[name].precision]
        row = [
            CONTENDERS[name].precision,
            f"{limit['gflop'] / seconds:,.0f}",
            f"{1000 * seconds:,.0f} ms",
            f"{batch['scored'] / seconds:,.0f} tgt tok/s",
        ]
        if name in results:
            speed = _median(results[name], "tgt_per_s")
            row += [f"{speed:,.0f} tgt tok/s", f"{speed * seconds / batch['scored']:.0%}"]
        rows.append(row + [""] * (len(titles) - len(row)))
    return (
        f"\nA step on {batch['sentences']:,} pairs of {batch['src']} and {batch['tgt']} slots, {batch['scored']:,} "
        f"target tokens, has {limit['gflop']:,.0f} GFLOP of matrix products, forward and backward.\n\n"
        + as_table(titles, rows)
    )


def _each(rounds: Sequence[Figures], name: str) -> list[float]:
    return [figures[name] for figures in rounds]


def _median(rounds: Sequence[Figures], name: str) -> float:
    return statistics.median(_each(rounds, name))


def _write_record(args: argparse.Namespace, text: Figures, results: dict[str, list[Figures]], limit: Figures) -> None:
    """Write every single measurement so far, and where it was made, as --json asks."""
    if not args.json:
        return
    record = {
        "machine": machine(),
        "arguments": {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()},
        "text": text,
        "measurements": [
            {"contender": name, "round": number, **figures}
            for name, rounds in results.items()
            for number, figures in enumerate(rounds, start=1)
        ],
        "limit": limit,
    }
    args.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
