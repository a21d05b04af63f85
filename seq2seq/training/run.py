"""One training run from its configuration to its scores: where all pieces meet."""

import logging
import os
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.corpus.report import render
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import ConfigError
from seq2seq.hardware import accelerator_of, precision_of, speed_up_cpu
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.callbacks.heap import HeapTrimming
from seq2seq.training.callbacks.progress import ProgressReport, ThroughputMeter
from seq2seq.training.callbacks.recovery import AtomicCheckpointIO, Recovery
from seq2seq.training.callbacks.tracking import Tracking, build_loggers, finish, log_final_scores
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule, trainable_steps
from seq2seq.training.selection import Outcome, finish_run, summary
from seq2seq.training.validation import Validation

log = logging.getLogger(__name__)


def train(config: RunConfig, resumed: Checkpoint | None = None, callbacks: Sequence[pl.Callback] = ()) -> Outcome:
    """Prepare, train, select, test; everything that comes out is in `config.run_dir`.

    Args:
        resumed: the checkpoint to continue from.
        callbacks: more of them, called before the run's own.
    """
    run = RunDirectory(Path(config.run_dir))
    if resumed is None:
        _claim(run)
    accelerator = accelerator_of(config.trainer)
    if accelerator == "cpu":
        speed_up_cpu()
        if config.trainer.threads:
            torch.set_num_threads(config.trainer.threads)
    precision = precision_of(config.trainer, accelerator)

    start = TrainedModel.read(config.finetune) if config.finetune and not resumed else None
    tokenizer = start.tokenizer if start else None
    if resumed:
        tokenizer = Tokenizer.from_bytes(resumed.model.tokenizer)
    prepared = prepare(config, tokenizer)
    pl.seed_everything(config.seed, workers=True, verbose=False)
    data = TranslationData(config, prepared)
    steps_per_epoch = -(-len(data.train_dataloader()) // (config.batch.accumulate * _n_ranks(config, accelerator)))
    total_steps = trainable_steps(config.trainer, steps_per_epoch)
    bf16 = precision == "bf16-mixed"
    validation = Validation(
        prepared.valid, prepared.tokenizer, config.decoding, config.trainer.valid_sentences, bf16=bf16
    )
    module = TranslationModule(config, prepared.tokenizer, total_steps, validation)
    if start:
        log.info("starting from the weights of %s", start.path)
        module.model.load_state_dict(start.build().state_dict())
    if config.trainer.compile:
        # Not the model as a whole: training calls its halves, and the loss works on hidden states.
        module.model.encoder.compile(dynamic=True)
        module.model.decoder.compile(dynamic=True)

    loggers = build_loggers(config, run, resumed.step if resumed else -1, resumed.wandb_id if resumed else "")
    facts = {
        "n_parameters": module.model.n_parameters,
        "vocab_size": prepared.tokenizer.vocab_size,
        "tokenizer_sha256": prepared.tokenizer.fingerprint,
        "data_report": prepared.report,
        "precision": precision,
        "accelerator": accelerator,
        "torch": torch.__version__,
    }
    ema = ExponentialAverage(config.trainer.ema_decay) if config.trainer.ema_decay else None
    all_callbacks = [
        *callbacks,
        *_reporting(config, total_steps),
        Tracking(config, facts, validation),
        *([ema] if ema else []),
        *([HeapTrimming()] if accelerator == "cpu" else []),
        *_keeping(config.trainer, run),
    ]
    succeeded = False
    try:
        trainer = _trainer(config, accelerator, precision, loggers, all_callbacks)
        if trainer.is_global_zero:
            run.write_config(config)
            log.info(
                "%s: %.1f M parameters, %s on %s, %s steps an epoch; %s",
                config.name,
                module.model.n_parameters / 1e6,
                precision,
                accelerator,
                steps_per_epoch,
                run.path,
            )
        trainer.fit(module, data, ckpt_path=resumed.path if resumed else None, weights_only=True)
        module.to(trainer.strategy.root_device)  # Lightning leaves it on the CPU
        outcome = finish_run(
            module, prepared, config, run, trainer.global_step, ema, bf16=bf16, is_first_rank=trainer.is_global_zero
        )
        if trainer.is_global_zero:
            log_final_scores(loggers, outcome.tests, outcome.selected, trainer.global_step)
            text = summary(config, outcome, run.path, render(prepared.report))
            run.write_summary(text)
            log.info("\n%s", text)
        succeeded = True
        return outcome
    finally:
        finish(loggers, failed=not succeeded)


def _claim(run: RunDirectory) -> None:
    """Make the run directory; never write into one that holds a run that could be continued."""
    if run.has_checkpoints and int(os.environ.get("LOCAL_RANK", "0")) == 0:
        raise ConfigError(
            f"run_dir={run.path} holds a run already; continue it with resume={run.path}, or name another run_dir"
        )
    try:
        run.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"run_dir={run.path} cannot be made ({error.strerror}); name another run_dir") from error


def _n_ranks(config: RunConfig, accelerator: str) -> int:
    """Processes that this configuration starts."""
    here = config.trainer.devices or (torch.cuda.device_count() if accelerator == "cuda" else 1)
    return here * config.trainer.n_nodes


def _reporting(config: RunConfig, total_steps: int) -> list[pl.Callback]:
    meter = ThroughputMeter()
    callbacks: list[pl.Callback] = [meter]
    if config.trainer.progress:
        callbacks.append(ProgressReport(meter, total_steps, config.trainer.max_seconds))
    return callbacks


def _keeping(config: TrainerConfig, run: RunDirectory) -> list[pl.Callback]:
    """Early stopping and the three kinds of checkpoints: best, recent, and where to continue (listed last).

    All act at the end of a validation; by default, Lightning has some act at the end of the epoch, when the state
    to continue from is saved already.
    """
    mode = "min" if config.monitor in ("valid/loss", "valid/perplexity") else "max"
    callbacks: list[pl.Callback] = []
    if config.patience:
        callbacks.append(
            EarlyStopping(config.monitor, mode=mode, patience=config.patience, check_on_train_epoch_end=False)
        )
    best = ModelCheckpoint(
        run.checkpoints,
        run.best.stem,
        monitor=config.monitor,
        mode=mode,
        save_top_k=1,
        enable_version_counter=False,
        save_on_train_epoch_end=False,
    )
    callbacks.append(best)
    if config.average_last:
        recent = ModelCheckpoint(
            run.checkpoints,
            run.RECENT,
            monitor="step",
            mode="max",
            save_top_k=config.average_last,
            save_weights_only=True,
            auto_insert_metric_name=False,
            enable_version_counter=False,
            save_on_train_epoch_end=False,
        )
        callbacks.append(recent)
    return [*callbacks, Recovery(run)]


def _trainer(
    config: RunConfig, accelerator: str, precision: str, loggers: list[Any], callbacks: list[pl.Callback]
) -> pl.Trainer:
    settings = config.trainer
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    # Lightning advises more data workers; our loader takes well under 2% of a step without any.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    # The metrics of valid are those of all ranks already.
    warnings.filterwarnings("ignore", message=".*sync_dist=True.*")
    # It is not when a run is resumed; `_claim` refuses it otherwise.
    warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
    # A resumed run without its time limit, or its patience, is what was asked for.
    warnings.filterwarnings("ignore", message=".*callbacks used to create the checkpoint.*")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning 2.6 with torch 2.13; harmless
    every = settings.val_every_n_steps * config.batch.accumulate
    make_trainer = partial(
        pl.Trainer,
        accelerator=accelerator,
        devices=settings.devices or ("auto" if accelerator == "cuda" else 1),
        num_nodes=settings.n_nodes,
        strategy=settings.strategy,
        precision=precision,  # type: ignore[arg-type]
        max_epochs=settings.max_epochs or -1,
        max_steps=settings.max_steps or -1,
        max_time=settings.max_time or None,
        accumulate_grad_batches=config.batch.accumulate,
        check_val_every_n_epoch=None if every else 1,
        val_check_interval=every or None,
        log_every_n_steps=settings.log_every_n_steps,
        logger=loggers,
        callbacks=callbacks,
        plugins=[AtomicCheckpointIO()],
        default_root_dir=config.run_dir,
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    try:
        return make_trainer()
    except (MisconfigurationException, ValueError, ImportError) as error:
        raise ConfigError(f"trainer: what is asked for does not work here ({error})") from error
