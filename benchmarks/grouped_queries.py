"""How much faster do grouped queries make a beam?  python benchmarks/grouped_queries.py --preset base

Random models that differ in `model.n_kv_heads` alone translate sentences of one length into as many tokens, with our
PyTorch engine. Each measurement is a fresh process, all take turns, and ratios are taken within rounds.
"""

import argparse
import dataclasses
import itertools
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from rounds import as_table, in_fresh_process, in_turn, median_ratio

from seq2seq.config import DecodingConfig, ModelConfig
from seq2seq.cores import n_cores
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine

PRESETS = {file.stem: file for file in sorted((Path(__file__).parents[1] / "conf" / "model").glob("*.yaml"))}
PIECES = 1000  # few, so that the output layer, which groups do not change, takes little of the time


def main() -> None:
    args = _parser().parse_args()
    if args.worker:
        print(json.dumps(measure(json.loads(args.worker))))
        return
    sizes = ModelConfig(**dict(OmegaConf.load(PRESETS[args.preset])))
    groups = args.groups or [n for n in range(sizes.n_heads, 0, -1) if sizes.n_heads % n == 0]
    found: dict[tuple[int, int], list[dict[str, Any]]] = {
        (length, n): [] for length, n in itertools.product(args.lengths, groups)
    }
    for number, (length, n_groups) in in_turn(list(found), args.rounds):
        model = dataclasses.asdict(dataclasses.replace(sizes, n_kv_heads=n_groups, max_length=length + 1))
        job = vars(args) | {"model": model, "length": length}
        figures = in_fresh_process([sys.executable, __file__, "--worker", json.dumps(job)])
        found[length, n_groups].append(figures)
        print(
            f"round {number}: {length} tokens, {n_groups} groups: {figures['sentences_per_s']:.1f} sentences/s",
            file=sys.stderr,
            flush=True,
        )
    print(as_table(TITLES, [row(found, length, n, groups[0]) for length, n in found]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--preset", default="base", choices=PRESETS, help="sizes of the model")
    add("--groups", type=int, nargs="+", metavar="N", help="model.n_kv_heads, the first to compare with; default: all")
    add("--lengths", type=int, nargs="+", default=[25, 100, 400], metavar="N", help="tokens of source and of target")
    add("--tokens", type=int, default=1600, metavar="N", help="source tokens of a batch")
    add("--beam", type=int, default=5)
    add("--precision", default="bfloat16", choices=("bfloat16", "float32"))
    add("--device", default="cpu")
    add("--rounds", type=int, default=3)
    add("--threads", type=int, default=n_cores(), metavar="N")
    add("--worker", default="", help=argparse.SUPPRESS)
    return parser


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """One batch: seconds of the faster of two runs after a first one, and the size of the caches at its end."""
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    device, length = torch.device(job["device"]), job["length"]
    model = Transformer(ModelConfig(**job["model"]), PIECES).eval()
    n_parameters = model.n_parameters
    engine = PyTorchEngine([model], device, job["precision"])
    tokens = random.Random(1)
    n_sentences = max(1, job["tokens"] // length)
    sentences = [Sentence([tokens.randrange(4, PIECES) for _ in range(length - 1)]) for _ in range(n_sentences)]
    config = DecodingConfig(beam_size=job["beam"], max_length_a=0.0, max_length_b=length - 1, min_length_b=length - 1)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        engine.decode(sentences, config)
        seconds.append(time.perf_counter() - began)
    return {
        "sentences_per_s": n_sentences / min(seconds[1:]),
        "n_parameters": n_parameters,
        "kept": _numbers_kept(ModelConfig(**job["model"]), length),
    }


def _numbers_kept(model: ModelConfig, length: int) -> int:
    """In the keys and values of a sentence, and of a hypothesis that shares its past with no other."""
    return 2 * length * model.n_decoder_layers * model.n_groups * (model.d_k + model.d_v)


TITLES = ("tokens", "heads of keys and values", "sentences/s", "ratio", "numbers kept", "parameters")


def row(found: dict[tuple[int, int], list[dict[str, Any]]], length: int, n_groups: int, first: int) -> list[str]:
    speeds, base = ([each["sentences_per_s"] for each in found[length, n]] for n in (n_groups, first))
    one = found[length, n_groups][0]
    return [
        str(length),
        str(n_groups),
        f"{statistics.median(speeds):.1f}",
        f"{median_ratio(speeds, base):.2f}",
        f"{one['kept']:,}",
        f"{one['n_parameters']:,}",
    ]


if __name__ == "__main__":
    main()
