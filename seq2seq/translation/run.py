"""One call of translate.py, from its input files to its output.

    for block, translations in flow(parts.unmade(cut(pieces)), stream, workers):
        parts.put(block, rendered(block, translations))
    parts.join()

Without a file to write, the blocks are not parts of anything, and are written as they come.
"""

import dataclasses
import hashlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import is_reference, local_model
from seq2seq.config import DecodingConfig
from seq2seq.decoding.search_batch import n_hypotheses
from seq2seq.errors import TranslationError, command
from seq2seq.exit_status import note
from seq2seq.hardware import keep_freed_memory, speed_up_cpu
from seq2seq.translation import records
from seq2seq.translation.blocks import Block, arrivals, beside, block_size, cut
from seq2seq.translation.destination import check_destination
from seq2seq.translation.engines.load import choose_engine, load_engine
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import Parts, open_parts
from seq2seq.translation.ranks import Process, launched
from seq2seq.translation.request import TranslationRequest, check_inputs, check_lines
from seq2seq.translation.result import Scored
from seq2seq.translation.score_report import print_scores
from seq2seq.translation.streams import is_stream, open_stream, reporting
from seq2seq.translation.text.glossary import Glossary, read_terms
from seq2seq.translation.text.health import Finding
from seq2seq.translation.translator import Translator
from seq2seq.translation.watch import Watch, WrittenLine

_TICK_S = 0.02  # how long to wait for a line before looking at what is done


def translate(request: TranslationRequest) -> None:
    """Translate or score the input, write the output, and print the scores that are asked for.

    Raises:
        UserError: wrong input, or something that the model or the machine cannot do.
    """
    inputs = check_inputs(request)
    check_destination(request.output, [*inputs, *(("--model", model) for model in request.models)])
    request = _with_terms(request)
    process = launched()
    if process is not None or request.shard is not None:
        _check_shared(request, process)
    if process is not None:
        request = _on_its_cores(request, process)
    n_lines = check_lines(request)
    with _load(request) as translator:
        work = _Work(translator, request, n_lines)
        if is_stream(request.output):
            hypotheses = work.write()
        else:
            hypotheses = None
            if not work.make(is_alone=process is None):
                return
    if request.references:
        print_scores(request, hypotheses)


@dataclass
class _Work:
    """What one call has to do.

    Attributes:
        n_lines: of the input; None if that is not known before the end.
    """

    translator: Translator
    request: TranslationRequest
    n_lines: int | None
    _replaced: set[int] = field(default_factory=set, init=False)  # lines that are not UTF-8

    def __post_init__(self) -> None:
        request = self.request
        self.decoding = _decoding(self.translator.decoding, request)
        verb = "translated" if request.score is None else "scored"
        terms = request.options.terms
        self._glossary = Glossary(terms)
        self.watch = Watch(self.n_lines, request.is_quiet, request.shows_progress, verb, has_glossary=bool(terms))

    def write(self) -> list[str]:
        """Write to a stream. Returns the translations, if they are to be scored, since it cannot be read again."""
        request, texts = self.request, []
        patience_s = request.patience_s
        with open_stream(request.output) as stream:
            for block, translations in self._flow(self._blocks(patience_s)):
                data = self._rendered(block, translations).encode()
                self.watch.count_block(_written(block, translations, self._glossary))
                with reporting(request.output):
                    stream.write(data)
                    if patience_s is not None:
                        stream.flush()
                if request.references:
                    texts += [each.text for each in translations]
        self._report()
        return texts

    def make(self, *, is_alone: bool) -> bool:
        """Make the output, or what this process makes of it. Returns whether it is whole, and this process is to score.

        Args:
            is_alone: whether this process was not started together with others.
        """
        request = self.request
        assert request.output is not None
        with open_parts(request.output, self._settings(), request.shard) as parts:
            if self._is_file and parts.is_done(self._blocks()):
                note(f"{request.output} is this translation already, and complete; remove it to translate again")
                return True
            while True:
                for block, translations in self._flow(parts.unmade(self._blocks()), parts):
                    counts = self.watch.count_block(_written(block, translations, self._glossary))
                    parts.put(block, self._rendered(block, translations), counts)
                if request.shard is not None:
                    self._report_shard(parts)
                    return False
                if not parts.are_free():
                    break
                if not self._is_file:
                    raise TranslationError(
                        f"{request.output} was being written by another process, which has ended; give the same "
                        "command again, which goes on"
                    )
            total = parts.join()
        if total is None:
            if is_alone:
                note(f"{request.output} was joined by another process that made the same translation")
            return False
        self._report(total)
        return True

    def _report(self, total: Any = None) -> None:
        self.watch.counts.n_replaced = len(self._replaced)
        self.watch.report(total)

    def _report_shard(self, parts: Parts) -> None:
        assert self.request.shard is not None and self.request.output is not None
        self._report()
        n_left = len(parts.missing())
        then = f"{n_left} parts of other shards are not there yet" if n_left else "all parts are there"
        number, n_shards = self.request.shard
        join = command("join", self.request.output)
        self.watch.say(f"shard {number} of {n_shards} is done, {then}; join them with: {join}")

    @property
    def _is_file(self) -> bool:
        """Whether the input can be read more than once."""
        paths = [self.request.input, *(path for _, path in self.request.parallel_files())]
        return not any(map(is_stream, paths))

    def _blocks(self, patience_s: float | None = None) -> Iterator[Block | None]:
        request = self.request
        searched_with = request.options.searched_with(self.decoding)
        n = 1 if request.score is not None else n_hypotheses(searched_with)
        pieces: Iterator[tuple[Piece, str] | None] = self._pieces()
        if request.is_live:  # what is found is written while no line comes
            pieces = arrivals(pieces, _TICK_S)
        return cut(pieces, block_size(self.decoding.max_batch_tokens, n), patience_s)

    def _pieces(self) -> Iterator[tuple[Piece, str]]:
        """The pieces of the input, each with the line that goes with it."""
        request = self.request
        pieces = request.pieces(self._replaced)
        path = request.prefixes or request.score
        if path is None:
            return zip(pieces, repeat(""))
        option = "--prefix" if request.prefixes else "--score"
        complaint = f"{option} does not have as many lines as the input; line n must belong to line n of the input"
        return beside(pieces, request.lines_of(path), complaint)

    def _flow(
        self, blocks: Iterable[Block | None], parts: Parts | None = None
    ) -> Generator[tuple[Block, list[Any]], None, None]:
        def on_done(n_lines: float) -> None:
            self.watch.count_found(n_lines, parts.n_passed if parts is not None else 0)

        request = self.request
        if request.score is not None:
            return self.translator.score_blocks(blocks, self.decoding, request.options, on_done)
        has_prefixes = request.prefixes is not None
        return self.translator.translate_blocks(
            blocks, self.decoding, request.options, on_done, has_prefixes=has_prefixes
        )

    def _rendered(self, block: Block, results: list[Any]) -> str:
        """What the output holds of a block."""
        form, rest = self.request.form, iter(results)
        written = []
        for piece in block.pieces:
            of_piece = list(islice(rest, len(piece.texts)))
            if self.request.score is not None and of_piece:
                written.append(records.score(piece.line, of_piece[0], form == "json"))
            elif self.request.input_form == "lines" and of_piece:
                written.append(records.RECORDS[form](piece.line, of_piece[0]))
            else:
                written.append(piece.render([translation.text for translation in of_piece]))
        return "".join(written)

    def _settings(self) -> dict[str, Any]:
        """All that decides the translation of a line, except the line itself."""
        request, translator = self.request, self.translator
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
            **dataclasses.asdict(self.decoding),
            **dataclasses.asdict(request.options),
            "terms": hashlib.sha256(repr(request.options.terms).encode()).hexdigest() if request.options.terms else "",
            "prefix": request.prefixes is not None,  # the digests of blocks have its lines
            "score": request.score is not None,
        }


def _written(block: Block, results: list[Any], glossary: Glossary) -> Iterator[WrittenLine]:
    """What there is to say of each piece."""
    rest = iter(results)
    for piece in block.pieces:
        findings: list[Finding] = list(piece.findings)
        changes = []
        n_parts = n_terms = 0
        for result in islice(rest, len(piece.texts)):
            if isinstance(result, Scored):
                findings += [Finding("unscored", result.reason)] if result.reason else []
                continue
            findings += result.findings
            changes += result.changes
            n_parts = max(n_parts, len(result.parts))
            n_terms += len(glossary.find(result.source))
        yield WrittenLine(piece.line, findings, n_parts, changes, n_terms)


def _check_shared(request: TranslationRequest, process: Process | None) -> None:
    """Refuse what several processes cannot share.

    Raises:
        TranslationError: see there.
    """
    if process is not None and request.shard is not None:
        raise TranslationError("--shard is for tasks that run by themselves; leave it out under torchrun and srun")
    who = "several processes" if request.shard is None else "--shard"
    files = [("--input", request.input), *request.parallel_files(), ("--terms", request.terms)]
    for option, path in files:
        if (path is None and option == "--input") or (path is not None and is_stream(path)):
            raise TranslationError(
                f"{option} {path or 'from stdin'}: {who} cannot share a stream, since each reads all of it; give a "
                "file that all of them can read"
            )
    if is_stream(request.output):
        raise TranslationError(f"{who} need --output FILE, beside which the parts lie until they are joined")
    if request.references and request.shard is not None:
        assert request.output is not None
        raise TranslationError(
            "--reference scores the whole text, and --shard makes a part: leave it out, and score what is joined with "
            f"{command('join', request.output, '--reference', 'FILE')}"
        )


def _on_its_cores(request: TranslationRequest, process: Process) -> TranslationRequest:
    engine = dataclasses.replace(
        request.engine,
        threads=request.engine.threads or process.n_cores,
        local_rank=process.local_rank,
        n_local=process.n_local,
    )
    return dataclasses.replace(request, engine=engine)


def _with_terms(request: TranslationRequest) -> TranslationRequest:
    """The request with the terms of its glossary in the options."""
    if request.terms is None:
        return request
    terms = read_terms(request.lines_of(request.terms), str(request.terms))
    return dataclasses.replace(request, options=dataclasses.replace(request.options, terms=terms))


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
