"""How fast does JoeyNMT train?  PYTHON benchmarks/peers/joeynmt_train.py JOB

It runs JoeyNMT's TrainManager, with counters around the step. PYTHON is that of an environment with JoeyNMT (install.sh
joeynmt). benchmarks/train_speed.py writes JOB.
"""

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager
from meter import Job, Meter


def main() -> None:
    job = Job.from_arguments(__doc__)
    if job.threads:
        torch.set_num_threads(job.threads)
    meter = Meter(job)
    with tempfile.TemporaryDirectory() as folder:
        arguments = parse_global_args(configuration(job, Path(folder)), rank=0, mode="train")
        model, train, dev, _ = prepare(arguments, rank=0, mode="train")
        manager = TrainManager(
            model=model,
            model_dir=arguments.model_dir,
            device=arguments.device,
            n_gpu=0,
            rank=0,
            num_workers=0,
            autocast=arguments.autocast,
            seed=arguments.seed,
            train_args=arguments.train,
            dev_args=set_validation_args(arguments.test),
        )
        count_steps(manager, meter)
        manager.train_and_validate(train, dev)
    print(
        meter.report(
            n_parameters=sum(parameter.numel() for parameter in model.parameters()),
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__, "joeynmt": version("joeynmt")},
        )
    )


def count_steps(manager: Any, meter: Meter) -> None:
    """Tell the meter of each step. The optimizer acts after `_train_step`, so a step ends where the next begins."""
    train_step, pad = manager._train_step, manager.model.pad_index
    has_begun = False

    def counting(batch: Any) -> Any:
        nonlocal has_begun
        if has_begun:
            meter.end_step()
        has_begun = True
        if meter.is_done:
            raise KeyboardInterrupt  # TrainManager ends in good order
        meter.count(batch.src != pad, batch.trg != pad)
        return train_step(batch)

    manager._train_step = counting


def configuration(job: Job, folder: Path) -> dict[str, Any]:
    """Our sizes and settings. JoeyNMT knows one probability of dropout, and uses it for attention weights too."""
    sizes = job.model
    side = {
        "level": "word",  # pieces are separated by spaces
        "max_length": sizes["max_length"],
        "lowercase": False,
        "normalize": False,
        "voc_file": str(folder / "vocabulary"),
    }
    stack = {
        "type": "transformer",
        "num_heads": sizes["n_heads"],
        "embeddings": {"embedding_dim": sizes["d_model"], "scale": True, "dropout": sizes["dropout"]},
        "hidden_size": sizes["d_model"],
        "ff_size": sizes["d_ff"],
        "dropout": sizes["dropout"],
        "layer_norm": sizes["norm"],
    }
    (folder / "vocabulary").write_text("".join(f"{piece}\n" for piece in job.vocabulary()[4:]), encoding="utf-8")
    text = str(job.pieces("src").with_suffix(""))
    return {
        "name": "train_speed",
        "joeynmt_version": version("joeynmt"),
        "model_dir": str(folder),
        "use_cuda": False,
        "fp16": False,
        "random_seed": job.seed,
        "data": {
            "train": text,
            "dev": text,
            "dataset_type": "plain",
            "src": {"lang": "src", **side},
            "trg": {"lang": "tgt", **side},
            "special_symbols": {
                f"{name}_{what}": value
                for id_, name in enumerate(("unk", "pad", "bos", "eos"))  # the only order that it takes
                for what, value in {"id": id_, "token": f"<{name}>"}.items()
            },
        },
        "testing": {"beam_size": 1, "batch_size": 1, "eval_metrics": ["bleu"], "sacrebleu_cfg": {"tokenize": "13a"}},
        "training": training(job),
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": {"num_layers": sizes["n_encoder_layers"], **stack},
            "decoder": {"num_layers": sizes["n_decoder_layers"], **stack},
        },
    }


def training(job: Job) -> dict[str, Any]:
    optim = job.optim
    return {
        "optimizer": "adam",
        "adam_betas": [optim["beta1"], optim["beta2"]],
        "learning_rate": optim["lr"],
        "learning_rate_warmup": optim["warmup_steps"],
        "scheduling": "warmupinversesquareroot",
        "clip_grad_norm": optim["clip_norm"],
        "label_smoothing": optim["label_smoothing"],
        "loss": "crossentropy",
        "normalization": "tokens",
        "batch_size": job.max_tokens,
        "batch_type": "token",  # rows x longest side, padding counted
        "shuffle": True,
        "epochs": 1_000,
        "updates": job.warmup + job.steps + 2,
        "validation_freq": 1_000_000,
        "logging_freq": 1_000_000,
        "overwrite": True,
    }


if __name__ == "__main__":
    main()
