"""One call of translate.py, from its input files to its output file."""

import dataclasses
import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note
from seq2seq.hardware import keep_freed_memory, speed_up_cpu
from seq2seq.translation import records
from seq2seq.translation.engines.load import choose_engine, load_engine
from seq2seq.translation.output import AlreadyTranslated, ResumableFile, StreamOutput, open_output
from seq2seq.translation.request import TranslationRequest, check_lines, check_paths
from seq2seq.translation.score_report import print_scores
from seq2seq.translation.stream import WINDOWS
from seq2seq.translation.translator import Translator
from seq2seq.translation.watch import Watch

CONFIRM_EVERY_S = 1.0  # least time between two checkpoints of an output file, in seconds

Output = ResumableFile | StreamOutput


def translate(request: TranslationRequest) -> None:
    """Translate or score the input, write the output, and print the scores that are asked for.

    Raises:
        UserError: wrong input, or something that the model or the machine cannot do.
    """
    check_paths(request)
    n_lines = check_lines(request)
    translator = _load(request)
    decoding = _decoding(translator.decoding, request)
    fingerprint = _fingerprint(translator, decoding, request) if request.output else {}
    written: list[str] = []
    try:
        with open_output(request.output, fingerprint, resume=request.resume) as output:
            try:
                if request.score:
                    _score(translator, decoding, request, output)
                else:
                    written = _translate(translator, decoding, request, output, n_lines)
            except (KeyboardInterrupt, SystemExit):
                if output.kept:
                    note(output.kept)
                raise
    except AlreadyTranslated as done:  # no error: a script may always pass --resume
        note(str(done))
    if request.references:
        is_file = request.output is not None and request.output.is_file()  # a pipe cannot be read again
        print_scores(request, None if is_file else written)


def _load(request: TranslationRequest) -> Translator:
    models = [TrainedModel.read(path) for path in request.models]
    options = dataclasses.replace(request.engine, forks=not request.is_dialogue)
    if choose_engine(models, options) == "ctranslate2":
        keep_freed_memory()
    elif options.device != "cuda":
        speed_up_cpu()
    return Translator(models, load_engine(models, options))


def _translate(
    translator: Translator, decoding: DecodingConfig, request: TranslationRequest, output: Output, n_lines: int | None
) -> list[str]:
    """Translate the lines that are not done yet. Returns the translations, if they are to be scored."""
    n_done = output.n_lines_done
    replaced: list[int] = []
    watch = Watch(n_lines, n_done, request.is_quiet, request.shows_progress)
    record = records.RECORDS[request.form]
    windows = translator.translate_windows(
        output.skip_done(request.input_lines(replaced)),
        decoding,
        request.options,
        prefixes=None if request.prefixes is None else itertools.islice(read_lines(request.prefixes), n_done, None),
        first_number=n_done,
        windows=(1,) if request.is_dialogue else WINDOWS,
        on_batch=watch.count_found,
    )
    texts = []
    number = n_done
    confirmed_s = time.monotonic()
    # Closed on an error too: otherwise, the batches that wait would be searched before the process ends.
    with closing(windows):
        for window in windows:
            for translation in window:
                number += 1
                watch.count_written(number, translation.findings)
                output.write(translation.source, record(number, translation).encode())
                if request.references:
                    texts.append(translation.text)
            if request.is_dialogue or time.monotonic() - confirmed_s > CONFIRM_EVERY_S:
                output.checkpoint()
                confirmed_s = time.monotonic()
    watch.report(len(replaced))
    return texts


def _score(translator: Translator, decoding: DecodingConfig, request: TranslationRequest, output: Output) -> None:
    """Write how probable the model finds each line of --score."""
    assert request.score is not None
    n_done = output.n_lines_done
    replaced: list[int] = []
    watch = Watch(None, n_done, request.is_quiet, shows_progress=False)
    sources, sources_again = itertools.tee(output.skip_done(request.input_lines(replaced)))
    targets = itertools.islice(read_lines(request.score), n_done, None)
    hypotheses = translator.score(_parallel(sources, targets), decoding, tag=request.options.tag, first_number=n_done)
    for number, (source, scored) in enumerate(zip(sources_again, hypotheses, strict=True), start=n_done + 1):
        output.write(source, records.score(number, source, scored, request.form == "json").encode())
        if number % 1000 == 0:
            output.checkpoint()
    watch.report_replaced(len(replaced))


def _parallel(sources: Iterable[str], targets: Iterable[str]) -> Iterator[tuple[str, str]]:
    try:
        yield from zip(sources, targets, strict=True)
    except ValueError as error:
        raise TranslationError(
            "--score does not have as many lines as the input; line n must translate line n"
        ) from error


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
    files = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in (("prefix", request.prefixes), ("score", request.score))
        if path is not None and path.is_file()
    }
    return {
        "model": translator.fingerprint,
        "engine": type(translator.engine).__name__,
        "precision": translator.engine.precision,
        "form": request.form,
        "errors": request.errors,
        **settings,
        **dataclasses.asdict(request.options),
        **files,
    }
