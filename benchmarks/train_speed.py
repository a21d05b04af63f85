"""How fast does training go, and what does it cost?  python benchmarks/train_speed.py [--data DIR] [--rounds N]

Trains the `small` model through the real LightningModule, loader and Trainer, each round in a fresh process and the
precisions in turn, and prints medians over the rounds. See benchmarks/README.md for how to read it.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

PRECISIONS = ("32-true", "bf16-mixed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", default="bundled:sample", help="folder with train.fr(.gz), train.en(.gz); default: sample"
    )
    parser.add_argument("--max-tokens", type=int, default=4096, help="budget of a batch: pairs x longest side")
    parser.add_argument("--vocab-size", type=int, default=0, help="default: 8000, or 2000 for the sample corpus")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=30, help="measured steps a round")
    parser.add_argument("--warmup", type=int, default=5, help="steps before them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; default: as torch decides")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(measure(args, args.worker)))
        return
    results: dict[str, list[dict[str, float]]] = {precision: [] for precision in PRECISIONS}
    for number in range(args.rounds):
        for precision in PRECISIONS:
            results[precision].append(in_fresh_process(precision))
            print(
                f"round {number + 1}: {precision}: {results[precision][-1]['tgt_per_s']:,.0f} target tokens/s",
                flush=True,
            )
    print(table(results))


def in_fresh_process(precision: str) -> dict[str, float]:
    """One round; a process of its own, so that peak memory and allocator are its own."""
    done = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--worker", precision], stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(args: argparse.Namespace, precision: str) -> dict[str, float]:
    """Train a few steps and count: tokens that are not padding, seconds, seconds spent waiting for batches."""
    import logging
    import warnings

    import pytorch_lightning as pl
    import torch

    from seq2seq.config import DataConfig, RunConfig
    from seq2seq.prepare import prepare
    from seq2seq.training.data import TranslationData
    from seq2seq.training.hardware import accelerator_of, speed_up_cpu
    from seq2seq.training.module import TranslationModule
    from seq2seq.vocabulary import PAD

    class Meter(pl.Callback):
        """Clock and counts between two steps; on a GPU the clock waits for the device."""

        def __init__(self) -> None:
            self.counts = {"src": 0, "tgt": 0, "slots": 0, "sentences": 0}
            self.began = self.seconds = 0.0

        def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int) -> None:
            if index == args.warmup:
                self._wait(module)
                self.began, loader.waited = time.perf_counter(), 0.0

        def on_train_batch_end(
            self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, index: int
        ) -> None:
            if index < args.warmup:
                return
            self.counts["src"] += int((batch.src != PAD).sum())
            self.counts["tgt"] += int((batch.tgt_out != PAD).sum())
            self.counts["slots"] += batch.src.numel() + batch.tgt_out.numel()
            self.counts["sentences"] += len(batch.src)
            if index == args.warmup + args.steps - 1:
                self._wait(module)
                self.seconds = time.perf_counter() - self.began

        def _wait(self, module: pl.LightningModule) -> None:
            if module.device.type == "cuda":
                torch.cuda.synchronize()

    class TimedLoader:
        """The project's loader, with the time that the training loop waits for it."""

        def __init__(self, loader: Any) -> None:
            self.loader, self.waited = loader, 0.0

        def __len__(self) -> int:
            return len(self.loader)

        def __iter__(self) -> Iterator[Any]:
            batches = iter(self.loader)
            while True:
                began = time.perf_counter()
                batch = next(batches, None)
                self.waited += time.perf_counter() - began
                if batch is None:
                    return
                yield batch

    is_sample = args.data == "bundled:sample"
    config = RunConfig(data=DataConfig(dir=args.data))
    if not is_sample:  # only the training text is used
        config.data.valid = config.data.test = config.data.train
    config.tokenizer.vocab_size = args.vocab_size or (2000 if is_sample else 8000)
    config.batch.max_tokens = args.max_tokens
    config.model.dropout = args.dropout
    accelerator = accelerator_of(config.trainer)
    if accelerator == "cpu":
        speed_up_cpu()
        if args.threads:
            torch.set_num_threads(args.threads)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")

    prepared = prepare(config)
    pl.seed_everything(config.seed, verbose=False)
    module = TranslationModule(config, prepared.tokenizer, total_steps=0, validate=lambda model: {})
    loader = TimedLoader(TranslationData(config, prepared).train_dataloader())
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator=accelerator,
            devices=1,
            precision=precision,  # type: ignore[arg-type]
            max_steps=args.warmup + args.steps,
            callbacks=[meter],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        trainer.fit(module, loader)
    if not meter.seconds:
        sys.exit(f"an epoch has only {len(loader)} batches; lower --steps or --max-tokens")
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "tgt_per_s": meter.counts["tgt"] / meter.seconds,
        "src_per_s": meter.counts["src"] / meter.seconds,
        "sentences_per_s": meter.counts["sentences"] / meter.seconds,
        "padding": 1 - (meter.counts["src"] + meter.counts["tgt"]) / meter.counts["slots"],
        "loading": loader.waited / meter.seconds,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if accelerator == "cuda" else peak_kib * 1024 / 1e9,
    }


def table(results: dict[str, list[dict[str, float]]]) -> str:
    """Medians over rounds, one precision a row, and the ratio that matters."""
    rows = [
        "| precision | tgt tok/s | src tok/s | sentences/s | padding | loading | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    middle = {
        precision: {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
        for precision, rounds in results.items()
    }
    for precision, m in middle.items():
        rows.append(
            f"| {precision} | {m['tgt_per_s']:,.0f} | {m['src_per_s']:,.0f} | {m['sentences_per_s']:,.0f} "
            f"| {m['padding']:.1%} | {m['loading']:.2%} | {m['peak_gb']:.2f} GB |"
        )
    slow, fast = (middle[precision]["tgt_per_s"] for precision in PRECISIONS)
    return "\n".join([*rows, "", f"bf16-mixed is {fast / slow:.2f} times as fast as 32-true"])


if __name__ == "__main__":
    main()
