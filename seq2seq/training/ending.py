"""Why a run ended, told in its log, its provenance (and so its report), its summary and its trackers."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pytorch_lightning.loggers import Logger

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import UserError
from seq2seq.masking import masked
from seq2seq.training.loggers import log_ending
from seq2seq.training.module import TranslationModule
from seq2seq.training.stop_signals import StoppedAtOnce, TrainingInterrupted

log = logging.getLogger(__name__)


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
def telling_failure(run: RunDirectory, module: TranslationModule, loggers: Sequence[Logger]) -> Iterator[None]:
    """Tell an error that ends the training in this block, and raise it. One before or after it speaks for itself."""
    try:
        yield
    except BaseException as error:
        is_told = "ended" in (module.provenance.get("starts") or [{}])[-1]
        if module.has_begun and not is_told:
            tell_ending(run, module, loggers, _why(error))
        raise


def _why(error: BaseException) -> str:
    if isinstance(error, TrainingInterrupted):
        return f"{error} told it to stop"
    if isinstance(error, KeyboardInterrupt | StoppedAtOnce):
        return "it was stopped at once"
    if isinstance(error, UserError):
        return str(error).split("\n")[0]
    return masked(f"{type(error).__name__}: {error}")[:200]
