"""What translate.py searches with by itself: CTranslate2, made once from a run, where PyTorch would be slower."""

import dataclasses
import os
from pathlib import Path

from seq2seq.artifacts.model_directory import read_model_directory
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError, ConfigError, UserError
from seq2seq.exit_status import note
from seq2seq.translation.engines import Needs
from seq2seq.translation.engines.ctranslate2 import require_ctranslate2, search_problems
from seq2seq.translation.engines.load import computes_float32_on_cpu
from seq2seq.translation.request import TranslationRequest
from seq2seq.translation.streams import STDIN

# Of text. To convert a small model and to compare it takes as long as to translate some hundred lines with it.
ENOUGH_BYTES = 50_000


def with_ctranslate2(request: TranslationRequest) -> TranslationRequest:
    """The request, with weights for CTranslate2 to search with if that is faster and does all that is asked for.

    It is for a finished run on a CPU that computes in float32. The first request with enough text makes the weights, as
    an export does; the next ones find them. If that fails, or the run cannot be written to, PyTorch searches.
    """
    run = RunDirectory(request.models[0])
    if not run.selected.is_file() or not _may_change(request) or not computes_float32_on_cpu(request.engine):
        return request
    trained = TrainedModel.read(run.path)
    converted = run.converted(trained.fingerprint)
    if not _can_search(request, trained) or not (converted.exists() or _is_worth_it(request, run)):
        return request
    if not request.is_quiet:
        note(f"translating with CTranslate2, made from {run.path}; --engine torch does without")
    try:
        if not converted.exists():
            _make(run, converted)
        read_model_directory(converted)  # and compare it with its checksums
    except UserError as error:
        again = f"; {converted} was made here: remove it, and it is made again" if converted.exists() else ""
        note(f"translating with PyTorch after all: {error}{again}")
        return request
    return dataclasses.replace(request, engine=dataclasses.replace(request.engine, converted=converted))


def _may_change(request: TranslationRequest) -> bool:
    """Whether the request leaves the engine open, and CTranslate2 is there."""
    options = request.engine
    is_open = options.engine == "auto" and not options.attention and not options.weights and request.score is None
    if not is_open or len(request.models) > 1:
        return False
    try:
        require_ctranslate2()
    except ConfigError:
        return False
    return True


def _can_search(request: TranslationRequest, trained: TrainedModel) -> bool:
    decoding = dataclasses.replace(trained.config.decoding, **request.settings)
    needs = Needs(
        prefixes=request.prefixes is not None,
        required=request.terms is not None,
    )
    searched_with = request.options.searched_with(decoding)
    return not any(search_problems(searched_with, needs, trained.tokenizer.vocab_size))


def _is_worth_it(request: TranslationRequest, run: RunDirectory) -> bool:
    """Whether the input is a file with enough text, and the run may be written to."""
    text = request.input or STDIN
    return text.is_file() and text.stat().st_size >= ENOUGH_BYTES and os.access(run.path, os.W_OK)


def _make(run: RunDirectory, converted: Path) -> None:
    from seq2seq.export.export import export

    try:
        export(run.path, ("ctranslate2",), output=converted, say=lambda line: None)
    except CheckpointError:
        if not converted.exists():  # another process may have made it meanwhile
            raise
