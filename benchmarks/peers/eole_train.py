"""How fast does eole train?  PYTHON benchmarks/peers/eole_train.py JOB

It runs `eole train`, with counters around its trainer's step. PYTHON is that of an environment with eole (install.sh
eole). benchmarks/train_speed.py writes JOB.
"""

import contextlib
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import yaml
from eole.bin.main import main as eole
from eole.trainer import Trainer
from meter import Done, Job, Meter

NEVER = 1_000_000  # steps


def main() -> None:
    job = Job.from_arguments(__doc__)
    if job.threads:
        torch.set_num_threads(job.threads)
    meter = Meter(job)
    n_parameters = count_steps(meter)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.yaml").write_text(yaml.safe_dump(configuration(job, folder)), encoding="utf-8")
        sys.argv = ["eole", "train", "--config", str(folder / "config.yaml")]
        with contextlib.suppress(Done):
            eole()
    print(
        meter.report(
            n_parameters=n_parameters[0],
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "eole": version("eole")},
        )
    )


def count_steps(meter: Meter) -> list[int]:
    """Tell the meter of each step. The list will hold the number of the model's parameters."""
    train_step = Trainer._train_step
    n_parameters: list[int] = []

    def counting(self: Any, batches: list[dict[str, Any]], *rest: Any, **options: Any) -> Any:
        result = train_step(self, batches, *rest, **options)
        for batch in batches:
            pad = self.train_loss.padding_idx
            meter.count(batch["src"] != pad, batch["tgt"][:, 1:] != pad)  # the first column is not predicted
        meter.end_step()
        if meter.is_done:
            n_parameters.append(sum(parameter.numel() for parameter in self.model.parameters()))
            raise Done
        return result

    Trainer._train_step = counting
    return n_parameters


def configuration(job: Job, folder: Path) -> dict[str, Any]:
    """Our sizes and settings; eole's norms are always pre-norm."""
    sizes = job.model
    pieces = job.vocabulary()[4:]  # eole adds special ones of its own
    (folder / "vocabulary").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return {
        "seed": job.seed,
        "save_data": str(folder / "data"),
        "overwrite": True,
        "tensorboard": False,
        "report_every": NEVER,
        "share_vocab": True,
        "src_vocab": str(folder / "vocabulary"),
        "tgt_vocab": str(folder / "vocabulary"),
        "vocab_size_multiple": 1,
        "data": {
            "train": {"path_src": str(job.pieces("src")), "path_tgt": str(job.pieces("tgt")), "transforms": []},
        },
        "training": training(job, folder),
        "model": {
            "architecture": "transformer",
            "encoder": {"encoder_type": "transformer", "layers": sizes["n_encoder_layers"]},
            "decoder": {"decoder_type": "transformer", "layers": sizes["n_decoder_layers"]},
            "hidden_size": sizes["d_model"],
            "heads": sizes["n_heads"],
            "transformer_ff": sizes["d_ff"],
            "embeddings": {"word_vec_size": sizes["d_model"], "position_encoding_type": "SinusoidalInterleaved"},
            "add_qkvbias": False,
            "add_final_linear_bias": False,
            "add_ffnbias": True,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
        },
    }


def training(job: Job, folder: Path) -> dict[str, Any]:
    sizes, optim = job.model, job.optim
    return {
        "world_size": 0,  # the CPU
        "gpu_ranks": [],
        "num_workers": 0,
        "model_path": str(folder / "model"),
        "compute_dtype": job.precision,
        "use_amp": True,
        "batch_type": "tokens",  # rows x longest side, padding counted
        "batch_size": job.max_tokens,
        "batch_size_multiple": 1,
        "bucket_size": len(job.pieces("src").read_text(encoding="utf-8").split("\n")),  # all of it is sorted
        "normalization": "tokens",
        "accum_count": [1],
        "accum_steps": [0],
        "optim": "adam",
        "adam_beta1": optim["beta1"],
        "adam_beta2": optim["beta2"],
        "learning_rate": optim["lr"],
        "decay_method": "none",
        "max_grad_norm": optim["clip_norm"],
        "label_smoothing": optim["label_smoothing"],
        "dropout": [sizes["dropout"]],
        "attention_dropout": [sizes["attention_dropout"]],
        "dropout_steps": [0],
        "train_steps": NEVER,
        "valid_steps": NEVER,
        "save_checkpoint_steps": NEVER,
    }


if __name__ == "__main__":
    main()
