"""How fast does fairseq train?  PYTHON benchmarks/peers/fairseq_train.py JOB

It runs `fairseq-train`, with counters around its trainer's step. PYTHON is that of an environment with fairseq
(install.sh fairseq). benchmarks/train_speed.py writes JOB.
"""

import contextlib
import dataclasses
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from meter import Done, Job, Meter

SMALL = 10  # lines of the validation text, which must exist


def main() -> None:
    job = Job.from_arguments(__doc__)
    if job.threads:
        torch.set_num_threads(job.threads)
    revive()
    from fairseq_cli.train import cli_main

    meter = Meter(job)
    n_parameters = count_steps(meter)
    with tempfile.TemporaryDirectory() as name:
        write_data(job, Path(name))
        sys.argv = ["fairseq-train", *options(job, Path(name))]
        with contextlib.suppress(Done):
            cli_main()
    print(
        meter.report(
            n_parameters=n_parameters[0],
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "fairseq": version("fairseq")},
        )
    )


def revive() -> None:
    """Let today's Python and numpy import a toolkit of 2022. None of its files changes."""
    original = dataclasses.dataclass

    def dataclass(cls: Any = None, **settings: Any) -> Any:
        # Since Python 3.11 the default of a field must be hashable, which instances of plain dataclasses are not.
        def decorate(cls: Any) -> Any:
            if cls.__module__.partition(".")[0] in ("fairseq", "fairseq_cli", "hydra", "omegaconf"):
                hashable = not settings.get("frozen") and "__hash__" not in vars(cls)
                return original(cls, **({"unsafe_hash": True} if hashable else {}) | settings)
            return original(cls, **settings)

        return decorate if cls is None else decorate(cls)

    dataclasses.dataclass = dataclass
    for name, kind in {"float": float, "int": int, "bool": bool, "object": object}.items():
        if name not in vars(np):
            setattr(np, name, kind)  # aliases that numpy 1.24 took away


def count_steps(meter: Meter) -> list[int]:
    """Tell the meter of each step. The list will hold the number of the model's parameters."""
    from fairseq.trainer import Trainer

    train_step = Trainer.train_step
    n_parameters: list[int] = []

    def counting(self: Any, samples: list[dict[str, Any]], *rest: Any, **options: Any) -> Any:
        result = train_step(self, samples, *rest, **options)
        for sample in samples:
            pad = self.task.target_dictionary.pad()
            meter.count(sample["net_input"]["src_tokens"] != pad, sample["target"] != pad)
        meter.end_step()
        if meter.is_done:
            # Its layers hold second copies of their weights, which only translation uses; those have no gradients.
            parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
            n_parameters.append(sum(parameter.numel() for parameter in parameters))
            raise Done
        return result

    Trainer.train_step = counting
    return n_parameters


def write_data(job: Job, folder: Path) -> None:
    """The training text under fairseq's names, as text: fairseq-preprocess is not needed."""
    for side in ("src", "tgt"):
        # fairseq adds special pieces of its own; the counts behind the pieces only decide their order.
        lines = [f"{piece} 1\n" for piece in job.vocabulary()[4:]]
        (folder / f"dict.{side}.txt").write_text("".join(lines), encoding="utf-8")
        shutil.copy(job.pieces(side), folder / f"train.src-tgt.{side}")
        text = job.pieces(side).read_text(encoding="utf-8").split("\n")[:SMALL]
        (folder / f"valid.src-tgt.{side}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")


def options(job: Job, folder: Path) -> list[str]:
    """Our sizes and settings. Everything else is fairseq's default."""
    sizes, optim = job.model, job.optim
    valued = {
        "seed": job.seed,
        "source-lang": "src",
        "target-lang": "tgt",
        "dataset-impl": "raw",
        "num-workers": 0,
        "arch": "transformer",
        "encoder-layers": sizes["n_encoder_layers"],
        "decoder-layers": sizes["n_decoder_layers"],
        "encoder-embed-dim": sizes["d_model"],
        "decoder-embed-dim": sizes["d_model"],
        "encoder-ffn-embed-dim": sizes["d_ff"],
        "decoder-ffn-embed-dim": sizes["d_ff"],
        "encoder-attention-heads": sizes["n_heads"],
        "decoder-attention-heads": sizes["n_heads"],
        "dropout": sizes["dropout"],
        "attention-dropout": sizes["attention_dropout"],
        "activation-dropout": sizes["activation_dropout"],
        "criterion": "label_smoothed_cross_entropy",
        "label-smoothing": optim["label_smoothing"],
        "optimizer": "adam",
        "adam-betas": f"({optim['beta1']}, {optim['beta2']})",
        "adam-eps": optim["eps"],
        "lr": optim["lr"],
        "lr-scheduler": "inverse_sqrt",
        "warmup-updates": optim["warmup_steps"],
        "clip-norm": optim["clip_norm"],
        "max-tokens": job.max_tokens,  # rows x longest side, padding counted
        "max-update": 1_000_000,
        "log-format": "simple",
        "log-interval": 1_000_000,
        "save-dir": folder / "checkpoints",
    }
    flags = ["cpu", "share-all-embeddings", "no-save", "disable-validation"]
    if sizes["norm"] == "pre":
        flags += ["encoder-normalize-before", "decoder-normalize-before"]
    words = [word for name, value in valued.items() for word in (f"--{name}", str(value))]
    return [str(folder), *words, *(f"--{flag}" for flag in flags)]


if __name__ == "__main__":
    main()
