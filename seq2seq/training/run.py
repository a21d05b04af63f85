"""One training run from its configuration to its scores: where all pieces meet.

A run has its directory alone as long as it is at work. Why it ended is told in its log, its provenance (and so its
report), its summary and its trackers.
"""

import dataclasses
import gc
import json
import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.checkpoint import Checkpoint, is_copy, read_checkpoint
from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.lease import LeaseTakenError, leased
from seq2seq.artifacts.provenance import provenance, this_start
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, read_config
from seq2seq.corpus.report import render
from seq2seq.dataset.batches import Position
from seq2seq.dataset.prepare import Prepared
from seq2seq.errors import CheckpointError, ConfigError, RunError, UserError, command
from seq2seq.evaluation.scores import check_before_work
from seq2seq.hardware import gpu_names
from seq2seq.masking import masked
from seq2seq.memory import is_out_of_memory, telling_out_of_memory
from seq2seq.plugins import import_plugins
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.run_page import run_page
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.analysing import keep_analyses
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.composed import cannot_be_made, check_is_free, given_tokenizer
from seq2seq.training.data import TranslationData, prepare_together
from seq2seq.training.divergence import Divergence
from seq2seq.training.estimate import MODEL_TOO_LARGE, CheckpointSizes, check_disk_space
from seq2seq.training.fitting import WorstBatch, fitting_max_tokens
from seq2seq.training.loggers import log_ending, log_final_scores, open_loggers
from seq2seq.training.metrics import Counters, ProgressReport
from seq2seq.training.milestones import Milestones
from seq2seq.training.module import TranslationModule, new_module
from seq2seq.training.processes import StoppedAtOnce, TrainingInterrupted
from seq2seq.training.ranks import Ranks
from seq2seq.training.selection import Outcome, finish_run, summary
from seq2seq.training.sharded import split_by
from seq2seq.training.trackers import Tracking, ship
from seq2seq.training.trainer import HeapTrimming, Machine, build_trainer, n_devices, set_up_machine
from seq2seq.training.validation import Validation

log = logging.getLogger(__name__)


def train(
    config: RunConfig,
    resumed: Checkpoint | None = None,
    callbacks: Sequence[pl.Callback] = (),
    *,
    ranks: Ranks | None = None,
    words: Sequence[str] = (),
) -> Outcome:
    """Prepare, train, select, test. Everything that comes out is in `config.run_dir`.

    Args:
        resumed: the checkpoint to continue from.
        callbacks: more callbacks, which are called before the run's own.
        ranks: all processes of the run, of which this is the first. The others call `train_as_told`.
        words: are noted as the command of the run; by default, those of this process.
    """
    ranks = ranks or Ranks()
    run = RunDirectory(Path(config.run_dir))
    copies = resumed is not None and is_copy(run, resumed)
    with claimed(run, resumes=resumed is not None, copies=copies) as identity:
        told = [dataclasses.asdict(config), identity.id, str(resumed.path) if resumed else ""]
        ranks.tell("run", json.dumps(told).encode())
        words = words or [Path(sys.argv[0]).name, *sys.argv[1:]]
        return _train(config, identity.id, resumed, callbacks, ranks, words)


def train_as_told(ranks: Ranks) -> None:
    """Take part in the run that the first process tells."""
    config, run_id, checkpoint = json.loads(ranks.hear("run"))
    import_plugins(config["plugins"])
    _train(read_config(config), run_id, read_checkpoint(Path(checkpoint)) if checkpoint else None, (), ranks)


def _train(
    config: RunConfig,
    run_id: str,
    resumed: Checkpoint | None,
    callbacks: Sequence[pl.Callback],
    ranks: Ranks,
    words: Sequence[str] = (),
) -> Outcome:
    gc.collect()  # an earlier run of this process may hold files open
    run = RunDirectory(Path(config.run_dir))
    check_before_work(config.evaluation.tokenize)
    machine = set_up_machine(config.trainer)
    n_devices(config.trainer, machine, ranks)  # refuses other numbers than were started, before any work
    start = TrainedModel.read(config.finetune) if config.finetune and not resumed else None
    tokenizer = Tokenizer(resumed.model.tokenizer) if resumed else given_tokenizer(config, start)
    prepared = prepare_together(config, run, run_id, tokenizer, ranks)
    ranks.join(machine.accelerator)
    if config.batch.is_auto:
        with telling_out_of_memory(MODEL_TOO_LARGE):
            config.batch.max_tokens = fitting_max_tokens(config, prepared.tokenizer, machine, ranks)
    pl.seed_everything(config.seed, workers=True, verbose=False)
    data = TranslationData(config, prepared, _start_of(resumed) if resumed else None, ranks)
    total_steps = data.total_steps
    validation = Validation(prepared.valid, prepared.tokenizer, config, bf16=machine.uses_bf16)
    with telling_out_of_memory(MODEL_TOO_LARGE):
        module = new_module(config, prepared, total_steps, start)
    ema = ExponentialAverage(config.trainer.ema_decay) if config.trainer.ema_decay else None
    done, module.wandb_id = (resumed.step, resumed.wandb_id) if resumed else (0, "")
    if ranks.is_first:
        check_disk_space(run, config.trainer, CheckpointSizes.of(module, machine.precision), total_steps)
    module.provenance = _provenance(run, prepared, machine, words) if ranks.is_first else {}
    counters = Counters(data)
    tracking = Tracking(config, _facts(module, prepared, machine), validation, counters)
    with open_loggers(config, run, resumed) as loggers, telling_failure(run, module, loggers, resumed, callbacks):
        divergence = Divergence(run, config.trainer.max_rollbacks, prepared.tokenizer.vocab_size, ema)
        progress = [ProgressReport(counters, total_steps)] if config.trainer.progress else []
        tell = [*(each.tell_validation for each in progress), tracking.show_validation]
        milestones = Milestones(run, data, validation, divergence, counters, ema, tell)
        own = [WorstBatch(config, data, ema), counters, *progress, tracking, *([ema] if ema else []), divergence]
        own += [HeapTrimming(), milestones] if machine.accelerator == "cpu" else [milestones]
        n_steps = max(0, total_steps - done) if total_steps else -1
        trainer = build_trainer(config, machine, loggers, [*callbacks, *own], ranks, n_steps)
        if trainer.is_global_zero:
            if n_steps:
                run.forget_end()
            run.write_config(config)
            run.write_provenance(module.provenance)
            _log_start(config, module, machine, data.steps_per_epoch)
        trainer.fit(module, data, ckpt_path=resumed.path if resumed else None, weights_only=True)
        module.has_begun = True  # or nothing was left to train; in any case, the state has been taken
        module.to(trainer.strategy.root_device)  # Lightning leaves it on the CPU
        milestones.make_up(trainer, module)
        ending = tell_ending(run, module, loggers, milestones.why_ended(module))
        if split := split_by(trainer):
            split.put_together(module, ema)
        outcome = finish_run(module, prepared, run, validation, ema)
        if trainer.is_global_zero:
            log_final_scores(loggers, outcome.tests, outcome.selected, module.n_steps)
            text = summary(config, outcome, ending, run.path, render(prepared.report))
            run.write_summary(text)
            log.info("\n%s", text)
            if config.logger.upload_model:
                ship(loggers, config, run, module.model)
            keep_analyses(module.model, prepared, config, run, machine.uses_bf16)
            _write_report(run)
    if trainer.is_global_zero and run.report_file.is_file():
        log.info("report:  %s", run.report_file.absolute().as_uri())  # the last line, after what the loggers say
    return outcome


def _start_of(resumed: Checkpoint) -> Position:
    found = resumed.position
    n_ranks = found["world_size"]
    return Position(
        resumed.step,
        found.get("steps_per_epoch", 0),
        n_ranks,
        planned_for=found.get("planned_for") or n_ranks,
        version=found.get("version", 1),
    )


def _provenance(run: RunDirectory, prepared: Prepared, machine: Machine, words: Sequence[str]) -> dict[str, Any]:
    """What was noted of the starts of the run, and this one."""
    try:
        before = run.provenance()
    except RunError as error:  # a note for people must not hold a run up
        log.warning("%s; it begins anew", error)
        before = {}
    return provenance(before, this_start(words, gpu_names(machine.accelerator)), prepared.report)


def _facts(module: TranslationModule, prepared: Prepared, machine: Machine) -> dict[str, Any]:
    """What trackers show beside the configuration."""
    return {
        "n_parameters": module.model.n_parameters,
        "vocab_size": prepared.tokenizer.vocab_size,
        "tokenizer_sha256": prepared.tokenizer.fingerprint,
        "data_report": prepared.report,
        "starts": module.provenance.get("starts", []),
        "precision": machine.precision,
        "accelerator": machine.accelerator,
        "torch": torch.__version__,
    }


def _log_start(config: RunConfig, module: TranslationModule, machine: Machine, steps_per_epoch: int) -> None:
    log.info(
        "%s: %.1f M parameters, %s on %s, steps: %s an epoch; %s",
        config.name,
        module.model.n_parameters / 1e6,
        machine.precision,
        machine.accelerator,
        f"{steps_per_epoch:,}",
        config.run_dir,
    )


def _write_report(run: RunDirectory) -> None:
    """The page of the run. All that it shows is saved already, so a failure costs a warning and not the run."""
    try:
        run.write_report(run_page(AnalysedRun.read(run)))
    except Exception as error:
        log.warning("%s was not made (%s); try again with: %s", run.report_file, error, command("report", run.path))


@contextmanager
def claimed(run: RunDirectory, *, resumes: bool, copies: bool = False) -> Iterator[RunIdentity]:
    """Make the directory of a run, and have it alone in this block. If nothing comes of the run, it goes again.

    Args:
        resumes: whether the run is there already; it keeps its identity.
        copies: whether what is there is a copy of another run; it gets an identity of its own.
    Raises:
        ConfigError: another process trains there, it holds a run that could be continued, or it cannot be made.
    """
    try:
        run.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_be_made(run.path, error) from error
    try:
        with leased(run.lease_file):
            if not resumes:
                check_is_free(run)
            try:
                identity = (run.identity() if resumes else None) or RunIdentity.new()
                if copies and not identity.copied_from:
                    identity = RunIdentity.new(copied_from=identity.id)
                run.write_identity(identity)
                yield identity
            finally:
                with suppress(OSError):  # such as a disk that went read-only: another error is more important
                    run.withdraw()
    except LeaseTakenError as taken:
        remedy = "wait for its end, or stop it" if resumes else "name another run_dir"
        raise ConfigError(f"{run.path} belongs to a run that is at work, {taken.holder}; {remedy}") from taken


def tell_ending(run: RunDirectory, module: TranslationModule, loggers: Sequence[Logger], why: str) -> str:
    """Tell it, from the first process. Returns the sentence."""
    ending = f"after step {module.n_steps:,}: {why}"
    if module.provenance:  # which the first process alone has
        log.info("training ended %s", ending)
        module.provenance["starts"][-1]["ended"] = ending
        with suppress(OSError):  # such as a full disk, which may be the end that is told
            run.write_provenance(module.provenance)
        log_ending(loggers, ending, module.n_steps)
    return ending


@contextmanager
def telling_failure(
    run: RunDirectory,
    module: TranslationModule,
    loggers: Sequence[Logger],
    resumed: Checkpoint | None = None,
    callbacks: Sequence[pl.Callback] = (),
) -> Iterator[None]:
    """Tell an error that ends the training in this block, and raise it. One before or after it speaks for itself.

    Raises:
        RunError: memory ran out where no batch can be halved.
        CheckpointError: the state that the run is resumed from cannot be taken.
    """
    try:
        yield
    except BaseException as error:
        told = _explained(error, run, module, resumed, callbacks)
        is_told = "ended" in (module.provenance.get("starts") or [{}])[-1]
        if module.has_begun and not is_told:
            tell_ending(run, module, loggers, _why(told))
        if told is error:
            raise
        raise told from error


def _explained(
    error: BaseException,
    run: RunDirectory,
    module: TranslationModule,
    resumed: Checkpoint | None,
    callbacks: Sequence[pl.Callback],
) -> BaseException:
    what = " ".join(str(error).split())[:200]
    if is_out_of_memory(error):
        again = f" and continue with resume={run.path}" if run.has_checkpoints else ""
        return RunError(
            f"memory ran out ({what or type(error).__name__}); end other programs{again}, or start a new run with a "
            "lower batch.max_tokens"
        )
    is_of_state = isinstance(error, (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError))
    theirs = {type(callback).__module__ for callback in callbacks}
    is_theirs = any(frame.f_globals.get("__name__") in theirs for frame, _ in traceback.walk_tb(error.__traceback__))
    if resumed and is_of_state and not module.has_begun and not is_theirs:
        return CheckpointError(
            f"{resumed.path}: holds no state of this run, so it was changed after it was saved; take another "
            f"checkpoint of the run, or start from its weights with finetune={resumed.path} "
            f"[{type(error).__name__}: {what}]"
        )
    return error


def _why(error: BaseException) -> str:
    if isinstance(error, TrainingInterrupted):
        return f"{error} told it to stop"
    if isinstance(error, KeyboardInterrupt | StoppedAtOnce):
        return "it was stopped at once"
    if isinstance(error, UserError):
        return str(error).split("\n")[0]
    return masked(f"{type(error).__name__}: {error}")[:200]
