"""How fast does Hugging Face's MarianMT train with Seq2SeqTrainer?  PYTHON benchmarks/peers/hf_train.py JOB

PYTHON is that of an environment with torch, transformers and accelerate (install.sh hf). benchmarks/train_speed.py
writes JOB.

Shapes: B sentences, S source tokens, T target tokens
"""

import random
import tempfile
from typing import Any

import torch
import transformers
from marian import marian_config
from meter import PAD, Job, Meter
from torch import Tensor, nn
from transformers import MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback

NOT_SCORED = -100  # in labels, for torch's loss and that of the Trainer


def main() -> None:
    job = Job.from_arguments(__doc__)
    if job.threads:
        torch.set_num_threads(job.threads)
    meter = Meter(job)
    pairs = job.ids()
    model = marian(job)

    def collate(features: list[dict[str, list[int]]]) -> dict[str, Tensor]:
        src = padded([feature["input_ids"] for feature in features], PAD)  # (B, S)
        labels = padded([feature["labels"] for feature in features], NOT_SCORED)  # (B, T)
        return {
            "input_ids": src,
            "attention_mask": (src != PAD).long(),
            "labels": labels,
            "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels),
        }

    class CountingTrainer(Seq2SeqTrainer):
        def _get_train_sampler(self, *rest: Any) -> list[int]:
            return in_random_order(list(super()._get_train_sampler(*rest)), self.args.train_batch_size, job.seed)

        def training_step(self, model: nn.Module, inputs: dict[str, Any], *rest: Any) -> Tensor:
            meter.count(inputs["input_ids"] != PAD, inputs["labels"] != NOT_SCORED)
            return super().training_step(model, inputs, *rest)

    class EndOfStep(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            if job.device == "cuda":
                torch.cuda.synchronize()
            meter.end_step()

    with tempfile.TemporaryDirectory() as folder:
        trainer = CountingTrainer(
            model=model,
            args=arguments(job, pairs, folder),
            train_dataset=[{"input_ids": src, "labels": tgt} for src, tgt in pairs],
            data_collator=collate,
            callbacks=[EndOfStep()],
        )
        trainer.train()
    more = {"peak_gb": torch.cuda.max_memory_allocated() / 1e9} if job.device == "cuda" else {}
    print(
        meter.report(
            **more,
            n_parameters=model.num_parameters(only_trainable=True),
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
        )
    )


def arguments(job: Job, pairs: list[tuple[list[int], list[int]]], folder: str) -> Seq2SeqTrainingArguments:
    mean_length = sum(len(tgt) for _, tgt in pairs) / len(pairs)
    optim = job.optim
    return Seq2SeqTrainingArguments(
        output_dir=folder,
        use_cpu=job.device == "cpu",
        bf16=job.precision == "bf16",
        per_device_train_batch_size=round(job.max_tokens / mean_length),  # its batches are of so many sentences
        train_sampling_strategy="group_by_length",
        max_steps=job.warmup + job.steps,
        learning_rate=optim["lr"],
        lr_scheduler_type=optim["schedule"],
        warmup_steps=optim["warmup_steps"],
        label_smoothing_factor=optim["label_smoothing"],
        max_grad_norm=optim["clip_norm"],
        adam_beta1=optim["beta1"],
        adam_beta2=optim["beta2"],
        adam_epsilon=optim["eps"],
        seed=job.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )


def in_random_order(indices: list[int], batch_size: int, seed: int) -> list[int]:
    """The same batches, those between the first and the last shuffled.

    The sampler has them from long to short, fifty at a time: a few in a row are not like all. The first one holds the
    longest sentence, which decides on the memory; the last one may be smaller.
    """
    batches = [indices[start : start + batch_size] for start in range(0, len(indices), batch_size)]
    between = batches[1:-1]
    random.Random(seed).shuffle(between)
    return [index for batch in (*batches[:1], *between, *batches[1:][-1:]) for index in batch]


def marian(job: Job) -> MarianMTModel:
    """Marian with our sizes. Its norms are always post-norm, and its projections have biases."""
    return MarianMTModel(marian_config(job.model, len(job.vocabulary())))


def padded(rows: list[list[int]], value: int) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


if __name__ == "__main__":
    main()
