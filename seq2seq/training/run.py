"""One training run from its configuration to its scores: where all pieces meet."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from seq2seq.artifacts.checkpoint import Checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.corpus.report import render
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.callbacks.heap import HeapTrimming
from seq2seq.training.callbacks.progress import ProgressReport
from seq2seq.training.callbacks.recovery import Recovery
from seq2seq.training.callbacks.throughput import ThroughputMeter
from seq2seq.training.callbacks.tracking import Tracking
from seq2seq.training.data import TranslationData
from seq2seq.training.loggers import log_final_scores, open_loggers
from seq2seq.training.module import TranslationModule, trainable_steps
from seq2seq.training.selection import Outcome, finish_run, summary
from seq2seq.training.trainer import Machine, build_trainer, n_ranks, set_up_machine
from seq2seq.training.validation import Validation

log = logging.getLogger(__name__)


def train(config: RunConfig, resumed: Checkpoint | None = None, callbacks: Sequence[pl.Callback] = ()) -> Outcome:
    """Prepare, train, select, test. Everything that comes out is in `config.run_dir`.

    Args:
        resumed: the checkpoint to continue from.
        callbacks: more callbacks, which are called before the run's own.
    """
    run = RunDirectory(Path(config.run_dir))
    if not resumed:
        claim(run)
    machine = set_up_machine(config.trainer)
    start = TrainedModel.read(config.finetune) if config.finetune and not resumed else None
    prepared = prepare(config, _tokenizer(resumed, start))
    pl.seed_everything(config.seed, workers=True, verbose=False)
    data = TranslationData(config, prepared)
    steps_per_epoch = _steps_per_epoch(config, data, machine)
    total_steps = trainable_steps(config.trainer, steps_per_epoch)
    validation = _validation(config, prepared, machine)
    module = _module(config, prepared, total_steps, validation, start)
    ema = ExponentialAverage(config.trainer.ema_decay) if config.trainer.ema_decay else None
    tracking = Tracking(config, _facts(module, prepared, machine), validation)
    with open_loggers(config, run, resumed) as loggers:
        own_callbacks = _callbacks(config, run, machine, total_steps, tracking, ema)
        trainer = build_trainer(config, machine, loggers, [*callbacks, *own_callbacks])
        if trainer.is_global_zero:
            run.write_config(config)
            _log_start(config, module, machine, steps_per_epoch)
        trainer.fit(module, data, ckpt_path=resumed.path if resumed else None, weights_only=True)
        module.to(trainer.strategy.root_device)  # Lightning leaves it on the CPU
        outcome = finish_run(
            module,
            prepared,
            config,
            run,
            trainer.global_step,
            ema,
            bf16=machine.uses_bf16,
            is_first_rank=trainer.is_global_zero,
        )
        if trainer.is_global_zero:
            log_final_scores(loggers, outcome.tests, outcome.selected, trainer.global_step)
            _write_summary(config, run, prepared, outcome)
        return outcome


def claim(run: RunDirectory) -> None:
    """Make the directory of a new run.

    Raises:
        ConfigError: it holds a run that could be continued, or it cannot be made.
    """
    if run.has_checkpoints and int(os.environ.get("LOCAL_RANK", "0")) == 0:
        raise ConfigError(
            f"run_dir={run.path} holds a run already; continue it with resume={run.path}, or name another run_dir"
        )
    try:
        run.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"run_dir={run.path} cannot be made ({error.strerror}); name another run_dir") from error


def _tokenizer(resumed: Checkpoint | None, start: TrainedModel | None) -> Tokenizer | None:
    """The tokenizer that the weights belong to; None if the run trains both."""
    if resumed:
        return Tokenizer.from_bytes(resumed.model.tokenizer)
    return start.tokenizer if start else None


def _steps_per_epoch(config: RunConfig, data: TranslationData, machine: Machine) -> int:
    batches_per_step = config.batch.accumulate * n_ranks(config.trainer, machine)
    return -(-len(data.train_dataloader()) // batches_per_step)


def _validation(config: RunConfig, prepared: Prepared, machine: Machine) -> Validation:
    n_sentences = config.trainer.valid_sentences
    return Validation(prepared.valid, prepared.tokenizer, config.decoding, n_sentences, bf16=machine.uses_bf16)


def _module(
    config: RunConfig, prepared: Prepared, total_steps: int, validation: Validation, start: TrainedModel | None
) -> TranslationModule:
    """The model with its optimizer; with the weights of `start`, if there is one."""
    module = TranslationModule(config, prepared.tokenizer, total_steps, validation, prepared.seen)
    if start:
        log.info("starting from the weights of %s", start.path)
        module.model.load_state_dict(start.build().state_dict())
    if config.trainer.compile:
        # Not the model as a whole: training calls its halves, and the loss works on hidden states.
        module.model.encoder.compile(dynamic=True)
        module.model.decoder.compile(dynamic=True)
    return module


def _facts(module: TranslationModule, prepared: Prepared, machine: Machine) -> dict[str, Any]:
    """What trackers show beside the configuration."""
    return {
        "n_parameters": module.model.n_parameters,
        "vocab_size": prepared.tokenizer.vocab_size,
        "tokenizer_sha256": prepared.tokenizer.fingerprint,
        "data_report": prepared.report,
        "precision": machine.precision,
        "accelerator": machine.accelerator,
        "torch": torch.__version__,
    }


def _callbacks(
    config: RunConfig,
    run: RunDirectory,
    machine: Machine,
    total_steps: int,
    tracking: Tracking,
    ema: ExponentialAverage | None,
) -> list[pl.Callback]:
    """The callbacks of every run, in the order in which Lightning calls them."""
    meter = ThroughputMeter()
    callbacks: list[pl.Callback] = [meter]
    if config.trainer.progress:
        callbacks.append(ProgressReport(meter, total_steps, config.trainer.max_seconds))
    callbacks.append(tracking)
    if ema:
        callbacks.append(ema)
    if machine.accelerator == "cpu":
        callbacks.append(HeapTrimming())
    return [*callbacks, *_stopping_and_saving(config.trainer, run)]


def _stopping_and_saving(config: TrainerConfig, run: RunDirectory) -> list[pl.Callback]:
    """Early stopping and the three kinds of checkpoints: best, recent, and where to continue (listed last).

    All act at the end of a validation. By default, Lightning has some act at the end of the epoch, when the state
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


def _log_start(config: RunConfig, module: TranslationModule, machine: Machine, steps_per_epoch: int) -> None:
    log.info(
        "%s: %.1f M parameters, %s on %s, %s steps an epoch; %s",
        config.name,
        module.model.n_parameters / 1e6,
        machine.precision,
        machine.accelerator,
        steps_per_epoch,
        config.run_dir,
    )


def _write_summary(config: RunConfig, run: RunDirectory, prepared: Prepared, outcome: Outcome) -> None:
    text = summary(config, outcome, run.path, render(prepared.report))
    run.write_summary(text)
    log.info("\n%s", text)
