"""One call of translate.py, from its input files to its output file."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import is_reference, local_model
from seq2seq.config import DecodingConfig
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note
from seq2seq.hardware import keep_freed_memory, speed_up_cpu
from seq2seq.translation.descriptors import is_stream
from seq2seq.translation.destination import check_destination
from seq2seq.translation.engines.load import choose_engine, load_engine
from seq2seq.translation.output import open_output
from seq2seq.translation.request import TranslationRequest, check_inputs, check_lines
from seq2seq.translation.resumable import AlreadyTranslated
from seq2seq.translation.score_report import print_scores
from seq2seq.translation.sharing.processes import Process, launched
from seq2seq.translation.sharing.run import Job, is_shared
from seq2seq.translation.text.glossary import read_terms
from seq2seq.translation.translator import Translator
from seq2seq.translation.work import Work, watch_of


def translate(request: TranslationRequest) -> None:
    """Translate or score the input, write the output, and print the scores that are asked for.

    Raises:
        UserError: wrong input, or something that the model or the machine cannot do.
    """
    inputs = check_inputs(request)
    check_destination(request.output, [*inputs, *(("--model", model) for model in request.models)])
    request = _with_terms(request)
    process = launched()
    if is_shared(request, process):
        _translate_shared(request, process)
        return
    n_lines = check_lines(request)
    written: list[str] = []
    try:
        with _load(request) as translator:
            written = _written(translator, request, n_lines)
    except AlreadyTranslated as done:  # no error: a script may always pass --resume
        note(str(done))
    if request.references:
        print_scores(request, written if is_stream(request.output) else None)  # a pipe cannot be read again


def _translate_shared(request: TranslationRequest, process: Process | None) -> None:
    """Translate what this process makes of a text that several share."""
    if process is not None:
        engine = dataclasses.replace(
            request.engine,
            threads=request.engine.threads or process.n_cores,
            local_rank=process.local_rank,
            n_local=process.n_local,
        )
        own = dataclasses.replace(request, engine=engine)
    with _load(own if process is not None else request) as translator:
        decoding = _decoding(translator.decoding, request)
        job = Job(translator, decoding, request, _fingerprint(translator, decoding, request))
        if process is None:
            job.do_shard()
            return
        is_scored = job.do(process)
    if request.references and is_scored:
        print_scores(request, None)


def _with_terms(request: TranslationRequest) -> TranslationRequest:
    """The request with the terms of its glossary in the options."""
    if request.terms is None:
        return request
    terms = read_terms(request.lines_of(request.terms), str(request.terms))
    return dataclasses.replace(request, options=dataclasses.replace(request.options, terms=terms))


def _written(translator: Translator, request: TranslationRequest, n_lines: int | None) -> list[str]:
    """Write the output. Returns the translations, if they are to be scored."""
    decoding = _decoding(translator.decoding, request)
    fingerprint = _fingerprint(translator, decoding, request) if request.output else {}
    with open_output(request.output, fingerprint, resume=request.resume) as output:
        watch = watch_of(request, n_lines, output.n_lines_done)
        texts = Work(translator, decoding, request, output, watch).do()
        watch.report()
        return texts


def _load(request: TranslationRequest) -> Translator:
    models = [TrainedModel.read(_local(path, request.is_quiet)) for path in request.models]
    options = dataclasses.replace(request.engine, forks=not request.is_dialogue)
    if choose_engine(models, options) == "ctranslate2":
        keep_freed_memory()
    elif not options.device.startswith("cuda"):
        speed_up_cpu()
    translator = Translator(models, load_engine(models, options), note)
    if request.is_live:
        translator.workers.start()  # they are forked, which must come before the thread that waits for lines
    return translator


def _local(model: Path, is_quiet: bool) -> Path:
    """The path of a model, which is downloaded if it is one of W&B."""
    return local_model(str(model), (lambda message: None) if is_quiet else note) if is_reference(model) else model


def _decoding(default: DecodingConfig, request: TranslationRequest) -> DecodingConfig:
    """The settings of the request, and those of the model where the request has none."""
    decoding = dataclasses.replace(default, **request.settings)
    if decoding.n_best > decoding.beam_size and not decoding.sampling:
        raise TranslationError(
            f"--n-best {decoding.n_best} is more than a beam of {decoding.beam_size} holds; "
            f"add --beam-size {decoding.n_best}"
        )
    return decoding


def _fingerprint(translator: Translator, decoding: DecodingConfig, request: TranslationRequest) -> dict[str, Any]:
    """All that decides the translation of a line, except the line itself."""
    settings = dataclasses.asdict(decoding)
    del settings["max_batch_tokens"]
    return {
        "model": translator.fingerprint,
        "weights": request.engine.weights,
        "engine": type(translator.engine).__name__,
        "precision": translator.engine.precision,
        "attention": request.engine.attention or None,
        "form": request.form,
        "input_form": request.input_form,
        "input_field": request.input_field,
        "errors": request.errors,
        **settings,
        **dataclasses.asdict(request.options),
        "terms": hashlib.sha256(repr(request.options.terms).encode()).hexdigest() if request.options.terms else "",
        "prefix": request.prefixes is not None,  # `follow` compares their lines
        "score": request.score is not None,
    }
