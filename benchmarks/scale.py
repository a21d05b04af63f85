"""The tables of docs/scale.md, from what they assume:  python benchmarks/scale.py [--check]

It writes them into the page; with --check it only says whether they are there as they are computed. Nothing is measured
here. What was measured elsewhere stands in `Measured`, with its place; what is assumed stands in `Assumed`. Change a
number, and run it again.

Shapes: D d_model, F d_ff, V vocabulary, N pairs
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gpu_peaks import PEAKS
from rounds import as_table

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
WMT14, BILLION = 40_842_333, 10**9  # pairs
ARCHIVES = 6_617_099_128  # bytes, of WMT14 (data/wmt14/README.md)
N_GPUS = 8
GB = 1e9


class Measured:
    """Measured on two cores; the pages say how."""

    prepare_s = 28 / 1e6  # a pair of Multi30k (docs/performance.md, "Start-up")
    # Of a pair (docs/performance.md, "The plan of an epoch"): CPU time, and bytes while the plan is made, with lengths.
    plan_cpu_s = 5.8 / 40e6
    plan_bytes = 0.46e9 / 40e6
    mixed_plan_bytes = 0.74e9 / 40e6  # of a mixture with weights
    batches_per_s = 10.7e6  # target tokens of which one core makes batches (docs/recipes.md, "Speed on a GPU")
    sha256 = 2.16e9  # bytes a second of one core, hashlib on that machine
    src_a_step, tgt_a_step = 22_750, 24_550  # tokens of a step of 25,000 slots (docs/recipes.md)
    steps_an_epoch = 53_846 / 36e6  # steps of 25,000 slots, a pair
    multi30k_bytes = 135  # of text in a pair; 361 in one of WMT14 (docs/recipes.md)
    operations = 1021  # that one step of 6 + 6 layers gives torch, views left out, counted on its device `meta`


PLAN = 4  # bytes a pair of a plan that is made


class Assumed:
    """What nobody has measured here."""

    reach = 0.70  # of the peak, by large products alone; `make gpu` measures it
    bandwidth = 0.80  # of the memory's
    launch_s = 6e-6  # of the host, for each kernel
    casts = 180  # kernels on top, which convert weights and activations to bf16
    exchange = 300e9  # bytes a second of NVLink in an all-reduce
    text_bytes = 361  # of a pair
    tokens = 69  # of a pair, both sides (33 and 36)
    network = 50e6  # bytes a second of a download
    kept = 34  # float32 numbers of a token that each layer keeps for the backward pass, for each number of its width
    valid_s = 10.0  # a validation of 500 sentences, shared by eight GPUs


class Gpu(NamedTuple):
    name: str
    memory: float  # bytes a second, as its maker publishes it

    @property
    def peak(self) -> float:
        return PEAKS[self.name].bf16 * 1e12


GPUS = Gpu("H100", 3.35e12), Gpu("A100", 2.0e12)


class Model(NamedTuple):
    name: str
    d: int
    layers: int = 6  # in each half
    vocab: int = 32_000

    @property
    def matrices(self) -> int:
        """Numbers that a token is multiplied with: 12 D^2 in a layer of the encoder, 16 D^2 in one of the decoder."""
        return (12 + 16) * self.layers * self.d**2 + self.vocab * self.d

    def operations(self, tokens: int) -> float:
        """Of a step, forward and backward, without attention scores (below 1% at these lengths)."""
        return 6 * self.matrices * tokens

    def traffic(self, tokens: int, *, compiled: bool) -> float:
        """Bytes that go to and from memory beside the products, forward and backward.

        By number of a residual sublayer, forward: norm 8, its conversion 6, dropout 5, sum 10; compiled together 12.
        ReLU 4 for each of 4 D. Attention 12, compiled 8. Backward is twice that. A logit takes 18. Each chunk of 4,096
        rows of logits reads and writes the gradient of the table. A weight takes 46: Adam 28, clipping 12, bf16 6.
        """
        norm, attention = (12, 8) if compiled else (29, 12)
        encoder, decoder = 2 * norm + attention + 16, 3 * norm + 2 * attention + 16
        layers = 3 * (encoder + decoder) * self.layers * self.d * tokens
        chunks = -(-tokens // 4096) * 12 * self.vocab * self.d
        return layers + 18 * self.vocab * tokens + chunks + 46 * self.matrices


BASE, BIG = Model("base", 512), Model("big", 1024)


class Step(NamedTuple):
    """Seconds of one optimizer step on one GPU."""

    products: float
    memory: float
    host: float
    exchange: float
    at_peak: float

    @property
    def total(self) -> float:
        """The host works ahead of the GPU, so the slower of the two counts. Nothing of the exchange is hidden here."""
        return max(self.products + self.memory, self.host) + self.exchange

    @property
    def of_peak(self) -> float:
        return self.at_peak / self.total


def step(model: Model, gpu: Gpu, tokens: int, *, compiled: bool, n_gpus: int = 1) -> Step:
    at_peak = model.operations(tokens) / gpu.peak
    kernels = Measured.operations + Assumed.casts
    return Step(
        products=at_peak / Assumed.reach,
        memory=model.traffic(tokens, compiled=compiled) / (gpu.memory * Assumed.bandwidth),
        host=kernels * Assumed.launch_s * (0.5 if compiled else 1.0),  # about half of the kernels are left
        exchange=4 * model.matrices * 2 * (n_gpus - 1) / n_gpus / Assumed.exchange,
        at_peak=at_peak,
    )


def design_table() -> str:
    """What a step can reach."""
    titles = ["model", "GPU", "tokens a side", "", "products at 70%", "memory", "host", "step", "share of the peak"]
    rows = []
    for model in (BASE, BIG):
        for gpu in GPUS:
            for tokens in (3125, 32_768):
                for compiled in (False, True):
                    found = step(model, gpu, tokens, compiled=compiled)
                    times = [f"{1000 * t:.1f} ms" for t in (found.products, found.memory, found.host, found.total)]
                    row = [model.name, gpu.name, f"{tokens:,}", "compiled" if compiled else "eager", *times]
                    rows.append([*row, f"{found.of_peak:.0%}"])
    return as_table(titles, rows)


def training_table() -> str:
    """WMT14 on eight GPUs."""
    titles = ["experiment", "GPU", "target tokens a step", "steps", "a step", "share of the peak", "training", "epochs"]
    rows = []
    for model, n_steps, name in ((BASE, 100_000, "wmt14_base"), (BIG, 300_000, "wmt14_big")):
        for gpu in GPUS:
            for factor in (1, 8):  # the paper's step, and one of eight times as many tokens
                found = step(model, gpu, 25_000 * factor // N_GPUS, compiled=True, n_gpus=N_GPUS)
                steps = n_steps // factor
                hours = steps * found.total / 3600
                epochs = steps * factor / (Measured.steps_an_epoch * 36e6)
                row = [f"`{name}`", gpu.name, f"{Measured.tgt_a_step * factor:,}", f"{steps:,}"]
                row += [f"{1000 * found.total:.1f} ms", f"{found.of_peak:.0%}", f"{hours:.1f} hours", f"{epochs:.1f}"]
                rows.append(row)
    return as_table(titles, rows)


def steps_table() -> str:
    """WMT14 from download to score, on eight H100."""
    texts = WMT14 * Assumed.text_bytes
    prepare_s = WMT14 * Measured.prepare_s * Assumed.text_bytes / Measured.multi30k_bytes
    found = step(BIG, GPUS[0], 25_000 // N_GPUS, compiled=True, n_gpus=N_GPUS)
    train_s, valid_s = 300_000 * found.total, 300 * Assumed.valid_s
    activations = 4 * Assumed.kept * BIG.d * 12 * 3125
    weights = 16 * BIG.matrices  # weights, gradients, Adam's moments, 4 bytes each
    disk = 2 * 12 * BIG.matrices + 22 * 4 * BIG.matrices
    rows: list[list[str]] = []

    def add(what: str, how: str, *, disk: str = "", time: str = "", memory: str = "") -> None:
        rows.append([what, disk, time, memory, how])

    rate = Assumed.network
    how = f"computed: at {rate / 1e6:.0f} MB/s (assumed); the size is published"
    add("download", how, disk=f"{ARCHIVES / GB:.1f} GB", time=f"{ARCHIVES / rate / 60:.0f} minutes", memory="little")
    add("text", f"computed: {WMT14:,} pairs of {Assumed.text_bytes} bytes", disk=f"{texts / GB:.1f} GB")
    how = f"computed: {Measured.sha256 / GB:.2f} GB/s of one core (measured), whenever a run starts"
    add("hashing the text", how, time=f"{texts / Measured.sha256:.0f} s", memory="little")
    how = "computed from 28 s for a million pairs on two cores (measured), in proportion to the bytes of text"
    size, minutes = f"{store_bytes(WMT14) / GB:.1f} GB", f"{prepare_s / 60:.0f} minutes"
    add("preparing", how, disk=size, time=minutes, memory="1.4 GB and subwords")
    how = "computed from 40 million pairs (measured); before each epoch"
    memory = f"{Measured.plan_bytes * WMT14 / GB:.2f} GB, then {PLAN * WMT14 / GB:.2f} GB"
    add("planning an epoch", how, time=f"{WMT14 * Measured.plan_cpu_s:.0f} s", memory=memory)
    how, memory = "computed: `wmt14_big`, 300,000 steps, see below", f"{(weights + activations) / GB:.0f} GB a GPU"
    add("training", how, disk=f"{disk / GB:.0f} GB", time=f"{train_s / 3600:.1f} hours", memory=memory)
    add("validating 300 times", f"assumed: {Assumed.valid_s:.0f} s each", time=f"{valid_s / 60:.0f} minutes")
    return as_table(["step", "disk", "time", "memory", "how we know"], rows)


def store_bytes(n_pairs: int) -> int:
    """Ids of two bytes; for each pair two offsets and two hashes of eight bytes."""
    return n_pairs * (2 * Assumed.tokens + 32)


def billion_table() -> str:
    """What a billion pairs take, against WMT14."""
    rows = []

    def add(what: str, formula: str, value: float, unit: str, note: str, digits: int = 0) -> None:
        of_wmt14 = value * WMT14 / BILLION
        small = f"{of_wmt14:,.{digits + 1}f} {unit}"
        rows.append([what, formula, small, f"{value:,.{digits}f} {unit}", note])

    n = BILLION
    prepare_s = n * Measured.prepare_s * Assumed.text_bytes / Measured.multi30k_bytes
    big = step(BIG, GPUS[0], 25_000, compiled=True, n_gpus=N_GPUS)
    epoch_s = n * Measured.steps_an_epoch / N_GPUS * big.total  # a step of 8 x 25,000
    rate = Measured.tgt_a_step * N_GPUS / big.total
    add(
        "memory of the plan of an epoch",
        f"{PLAN} bytes x N",
        PLAN * n / GB,
        "GB",
        "in each process",
        1,
    )
    for what, size in (
        ("memory while it is made", Measured.plan_bytes),
        ("the same of a mixture with weights", Measured.mixed_plan_bytes),
    ):
        note = "in each process, with the lengths"
        add(what, f"{size:.1f} bytes x N", size * n / GB, "GB", note, 1)
    add("memory of `data.drop_duplicates=true`", "16 bytes x N", 16 * n / GB, "GB", "at most, while it merges", 1)
    add(
        "preparing, two cores",
        "28 us x N x 361 / 135",
        prepare_s / 3600,
        "hours",
        "**first**: more cores",
        1,
    )
    how = "a 6th: one process reads and joins for them"
    add("the same on 12 cores or more", how, prepare_s / 6 / 3600, "hours", "not measured", 2)
    add("disk for text", "361 bytes x N", Assumed.text_bytes * n / GB, "GB", "compressed, about half")
    add("disk for the store", "170 bytes x N", store_bytes(n) / GB, "GB", "in nine files, so inodes do not count")
    add(
        "SHA-256 of the store",
        "170 bytes x N / 2.16 GB/s",
        store_bytes(n) / Measured.sha256,
        "s",
        "whenever a run starts",
    )
    add(
        "planning, CPU time",
        "5.8 s x N / 40 million",
        n * Measured.plan_cpu_s,
        "s",
        "in each process, before each epoch",
    )
    add("an epoch of `big`, 8 x H100", "steps of 200,000 tokens", epoch_s / 3600, "hours", "one epoch may be all", 1)
    table = as_table(["what", "formula", "WMT14", "a billion pairs", ""], rows)
    cores = rate / Measured.batches_per_s
    return (
        f"{table}\n\nEight H100 then train {rate / 1e6:.1f} million target tokens a second. Making their batches takes "
        f"{cores:.2f} cores in all (computed from {Measured.batches_per_s / 1e6:.1f} million a core, measured)."
    )


TABLES = {
    "steps": steps_table,
    "training": training_table,
    "design": design_table,
    "billion": billion_table,
}


def filled(page: str) -> str:
    """The page with each table as it is computed now."""
    for name, table in TABLES.items():
        begin, end = f"<!-- benchmarks/scale.py: {name} -->", f"<!-- end of {name} -->"
        assert page.count(begin) == page.count(end) == 1, name
        page = re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table()}\n{end}", page, flags=re.DOTALL)  # noqa: B023
    return page


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page has other numbers")
    args = parser.parse_args(words)
    page = PAGE.read_text(encoding="utf-8")
    if args.check and filled(page) != page:
        sys.exit(f"{PAGE} has other numbers; run python benchmarks/scale.py")
    PAGE.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
