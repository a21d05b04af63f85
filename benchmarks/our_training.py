"""Our own part in train_speed.py:  python benchmarks/our_training.py JOB

It trains a few steps as train.py does, through the real LightningModule, loader and Trainer. JOB is a `Job` of
`peers/meter.py`.
"""

import logging
import sys
import tempfile
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytorch_lightning as pl
import torch
from peers.meter import Job, Meter

from seq2seq.config import read_config
from seq2seq.dataset.batches import BatchLoader, Step
from seq2seq.dataset.prepare import prepare
from seq2seq.hardware import accelerator_of, speed_up_cpu, speed_up_gpu
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule
from seq2seq.vocabulary import EOS, PAD

PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed"}


class RandomPairs:
    """Enough `Pairs` for the steps, all of one length, so that no slot is padding."""

    def __init__(self, job: Job, vocab_size: int) -> None:
        n_pairs = (job.warmup + job.steps) * max(1, job.max_tokens // job.synthetic)
        n_tokens = job.synthetic - 1  # and eos
        self.ids = np.random.default_rng(job.seed).integers(EOS + 1, vocab_size, (n_pairs, 2, n_tokens))
        self.src_lengths = self.tgt_lengths = np.full(n_pairs, n_tokens)

    def __len__(self) -> int:
        return len(self.ids)

    def src(self, index: int) -> npt.NDArray[Any]:
        return self.ids[index, 0]

    def tgt(self, index: int) -> npt.NDArray[Any]:
        return self.ids[index, 1]


class OnlyASize:
    """A vocabulary without pieces. Training on random ids needs no more of a tokenizer."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size


class Count(pl.Callback):
    """Tells the meter of each step. On a GPU the clock waits for the device."""

    def __init__(self, meter: Meter, loader: BatchLoader) -> None:
        self.meter, self.loader = meter, loader

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Step, index: int
    ) -> None:
        for each in batch.micro_batches:
            self.meter.count(each.src != PAD, each.tgt_out != PAD)
        if module.device.type == "cuda":
            torch.cuda.synchronize()
        self.meter.end_step()
        if self.meter.n_done == self.meter.warmup:
            self.loader.waited_s = 0.0


def main() -> None:
    job = Job.from_arguments(__doc__)
    config = read_config(job.config)
    accelerator = accelerator_of(config.trainer)
    if accelerator == "cpu":
        speed_up_cpu()
        if job.threads:
            torch.set_num_threads(job.threads)
    elif accelerator == "cuda":
        speed_up_gpu()
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")

    if job.synthetic:
        tokenizer: Any = OnlyASize(config.tokenizer.vocab_size)
        loader = BatchLoader(RandomPairs(job, tokenizer.vocab_size), config.batch, seed=job.seed)
    else:
        prepared = prepare(config)
        tokenizer, loader = prepared.tokenizer, TranslationData(config, prepared).train_dataloader()
    pl.seed_everything(config.seed, verbose=False)
    module = TranslationModule(config, tokenizer, total_steps=0)
    if config.trainer.compile:
        module.model.encoder.compile(dynamic=True)
        module.model.decoder.compile(dynamic=True)
    meter = Meter(job)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator=accelerator,
            devices=1,
            precision=PRECISIONS[job.precision],  # type: ignore[arg-type]
            max_steps=job.warmup + job.steps,
            callbacks=[Count(meter, loader)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        trainer.fit(module, loader)
    if not meter.is_done:
        sys.exit(f"an epoch has only {len(loader)} steps; lower --steps or --max-tokens")
    more = {"peak_gb": torch.cuda.max_memory_allocated() / 1e9} if accelerator == "cuda" else {}
    print(
        meter.report(
            **more,
            loading=loader.waited_s / meter.elapsed_s,
            n_parameters=module.model.n_parameters,
            n_compilations=torch._dynamo.utils.counters["stats"]["unique_graphs"] if config.trainer.compile else 0,
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "pytorch_lightning": pl.__version__},
        )
    )


if __name__ == "__main__":
    main()
