"""What is each variant of the model worth?  python benchmarks/variants.py --data DIR_OF_MULTI30K --output DIR

It trains each of `VARIANTS` by the recipe of a quarter of an hour, with as many epochs as --epochs says. Then it
measures how fast each one trains and translates, in turn. Runs that are there go on or are whole, so one may stop it.
docs/variants.md says what the variants are.
"""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rounds import as_table, in_fresh_process, in_turn, median_ratio

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.hardware import accelerator_of, precision_of

HERE = Path(__file__).parent
DEFAULT = "the recipe"
VARIANTS: dict[str, Sequence[str]] = {
    DEFAULT: (),
    "1 head": ("model.n_heads=1",),
    "2 heads": ("model.n_heads=2",),
    "8 heads": ("model.n_heads=8",),
    "1 + 1 layers": ("model.n_encoder_layers=1", "model.n_decoder_layers=1"),
    "2 + 2 layers": ("model.n_encoder_layers=2", "model.n_decoder_layers=2"),
    "3 + 3 layers": ("model.n_encoder_layers=3", "model.n_decoder_layers=3"),
    "5 + 5 layers": ("model.n_encoder_layers=5", "model.n_decoder_layers=5"),
    "6 + 6 layers": ("model.n_encoder_layers=6", "model.n_decoder_layers=6"),
    "2 heads of keys and values": ("model.n_kv_heads=2",),
    "1 head of keys and values": ("model.n_kv_heads=1",),
    "heads of 64": ("model.d_head=64",),
    "values of 16": ("model.d_value=16",),
    "biases": ("model.bias=true",),
    "encoder of 256": ("model.d_encoder=256", "model.embeddings=decoder"),
    "RMSNorm": ("model.norm_type=rms",),
    "unscaled scores": ("model.attention=unscaled",),
    "additive scores": ("model.attention=additive",),
    "temperature 2": ("model.temperature=2",),
    "hard attention": ("model.hard_attention=true",),
    "window of 4": ("model.window=4",),
    "stride of 4": ("model.stride=4",),
    "sinusoidal positions": ("model.positions=sinusoidal",),
    "no positions": ("model.positions=none",),
}


def main() -> None:
    args = _parser().parse_args()
    names = args.only or list(VARIANTS)
    for seed in args.seeds:
        for name in names:
            train(args, name, seed)
    if not args.rounds:
        return
    runs = {name: RunDirectory(directory(args.output, name, args.seeds[0])) for name in names}
    trained: dict[str, list[float]] = {name: [] for name in names}
    translated: dict[str, list[float]] = {name: [] for name in names}
    for number, name in in_turn(names, args.rounds):
        print(f"round {number}: {name}", file=sys.stderr, flush=True)
        trained[name].append(training_speed(runs[name], number, args.threads)["tgt_per_s"])
        translated[name].append(translation_speed(runs[name], args.data, args.threads)["sentences_per_s"])
    print(as_table(titles(args.seeds), rows(args, trained, translated)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="the files of Multi30k")
    add("--output", type=Path, required=True, metavar="DIR", help="for the runs; those that are there go on")
    add("--only", nargs="+", choices=VARIANTS, metavar="NAME", help=f"of {', '.join(VARIANTS)}; default: all")
    add("--seeds", type=int, nargs="+", default=[1, 2], metavar="N")
    add("--epochs", type=int, default=14, help="14 is what two cores reach in a quarter of an hour")
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=3, help="of the measurement of speed; 0: only train")
    return parser


def directory(output: Path, name: str, seed: int) -> Path:
    return output / f"{name.replace(' ', '-')}_seed-{seed}"


def train(args: argparse.Namespace, name: str, seed: int) -> None:
    """Train what is missing of one run."""
    if RunDirectory(directory(args.output, name, seed)).is_scored:
        return
    words = ["experiment=multi30k_fast", f"data.dir={args.data}", *VARIANTS[name], f"seed={seed}"]
    words += ["trainer.max_time=", f"trainer.max_epochs={args.epochs}", f"trainer.threads={args.threads}"]
    words += ["logger=csv", "trainer.progress=false", "resume=auto", f"run_dir={directory(args.output, name, seed)}"]
    subprocess.run([sys.executable, HERE.parent / "train.py", *words], check=True, stdout=sys.stderr)


def training_speed(run: RunDirectory, seed: int, n_threads: int) -> dict[str, Any]:
    """Of 40 steps, as train_speed.py measures it, in the precision that a run has on this machine."""
    trainer = run.config().trainer
    is_bf16 = precision_of(trainer, accelerator_of(trainer)) == "bf16-mixed"
    config = dataclasses.asdict(run.config())
    config["trainer"]["threads"], config["seed"] = n_threads, seed
    job = {"precision": "bf16" if is_bf16 else "fp32", "steps": 40, "warmup": 5, "config": config}
    job |= {"folder": "", "synthetic": 0}
    return in_fresh_process([sys.executable, HERE / "our_training.py", json.dumps(job)])


def translation_speed(run: RunDirectory, data: Path, n_threads: int) -> dict[str, Any]:
    """Of the test set with a beam of 5, as translate_speed.py measures it."""
    source = next(data.glob(f"test_2016_flickr.{run.config().data.src_lang}*"))  # plain or compressed
    with tempfile.TemporaryDirectory() as folder:
        job = {"engine": "torch", "precision": "auto", "device": "cpu", "workers": 0, "beam_size": 5}
        job |= {"directory": str(run.path), "max_batch_tokens": 0, "warmup": 64, "threads": n_threads}
        job |= {"input": str(source), "output": f"{folder}/output", "reference": ""}
        return in_fresh_process([sys.executable, HERE / "translate_speed.py", "--worker", json.dumps(job)])


def titles(seeds: Sequence[int]) -> list[str]:
    scores = [f"valid BLEU, seed {seed}" for seed in seeds]
    return ["variant", "keys", *scores, "parameters", "target tokens/s in training", "sentences/s, beam of 5"]


def rows(
    args: argparse.Namespace, trained: dict[str, list[float]], translated: dict[str, list[float]]
) -> list[list[str]]:
    """Speeds are medians over the rounds, with the ratio to the first row."""
    found = []
    for name in trained:
        selections = [RunDirectory(directory(args.output, name, seed)).selection() for seed in args.seeds]
        scores = [f"{selection.valid[selection.selected]['bleu']:.2f}" for selection in selections]
        speeds = [
            f"{statistics.median(each[name]):,.0f} ({median_ratio(each[name], next(iter(each.values()))):.2f})"
            for each in (trained, translated)
        ]
        keys = f"`{' '.join(VARIANTS[name])}`" if VARIANTS[name] else ""
        found.append([name, keys, *scores, f"{selections[0].n_parameters:,}", *speeds])
    return found


if __name__ == "__main__":
    main()
