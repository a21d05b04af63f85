"""One call of translate.py, from its input files to its output.

    for block, translations in flow(parts.unmade(cut(pieces)), ...):
        parts.put(block, *written(block, translations))
    parts.join()

Without a file to write, the blocks are not parts of anything, and are written as they come.
"""

import dataclasses
import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.artifacts.wandb_access import is_reference, local_model
from seq2seq.corpus.reader import read_lines
from seq2seq.decoding import n_hypotheses
from seq2seq.errors import TranslationError, command
from seq2seq.exit_status import note
from seq2seq.hardware import keep_freed_memory, speed_up_cpu
from seq2seq.translation.blocks import Block, arrivals, beside, block_size, cut
from seq2seq.translation.destination import check_destination
from seq2seq.translation.engines.load import choose_engine, load_engine
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import Parts, open_parts
from seq2seq.translation.request import Process, TranslationRequest, check_inputs, check_lines, check_shared, launched
from seq2seq.translation.result import print_scores, texts, written
from seq2seq.translation.streams import is_stream, open_stream, reporting
from seq2seq.translation.text.glossary import read_terms
from seq2seq.translation.translator import Translator
from seq2seq.translation.watch import Watch

_TICK_S = 0.02  # how long to wait for a line before looking at what is done


def translate(
    request: TranslationRequest,
    prepared: Callable[[TranslationRequest], TranslationRequest] = lambda request: request,
) -> None:
    """Translate or score the input, write the output, and print the scores that are asked for.

    Args:
        prepared: what is done to the request before its model is loaded, once it is known to be right.
    Raises:
        UserError: wrong input, or something that the model or the machine cannot do.
    """
    inputs = check_inputs(request)
    if request.references:
        from seq2seq.evaluation.scores import Scoring, check_before_work  # only scores need it

        check_before_work(request.tokenize)
    check_destination(request.output, [*inputs, *(("--model", model) for model in request.models)])
    process = launched()
    check_shared(request, process)
    request = _complete(request, process)
    n_lines = check_lines(request)
    request = prepared(request)
    with _load(request) as translator:
        # What is loaded stays. To look through it again and again takes a fifth of the work on text.
        gc.freeze()
        work = _Work(translator, request, n_lines)
        hypotheses = work.write() if is_stream(request.output) else work.make()
    if request.references and hypotheses is not None:
        scoring = Scoring(translator.config.data.tgt_lang, request.tokenize)
        print_scores(hypotheses, request.references, request.compare, request.options.typography, scoring)


class _Work:
    """What one call has to do."""

    def __init__(self, translator: Translator, request: TranslationRequest, n_lines: int | None) -> None:
        """
        Args:
            n_lines: of the input; None if that is not known before the end.
        """
        self.translator = translator
        self.request = request
        # The settings of the request, and those of the model where the request has none.
        self.decoding = dataclasses.replace(translator.decoding, **request.settings)
        self.watch = Watch(
            n_lines,
            request.is_quiet,
            request.shows_progress,
            "translated" if request.score is None else "scored",
            has_glossary=bool(request.options.terms) and request.shard is None,  # another share may have its terms
        )
        self._n_replaced, self._last_replaced = 0, 0  # lines that are not UTF-8, and the number of the last one

    def write(self) -> list[str]:
        """Write to a stream. Returns the translations, if they are to be scored, since it cannot be read again."""
        request, translated = self.request, []
        patience_s = request.patience_s
        with open_stream(request.output) as stream:
            for block, results in self._flow(self._blocks(patience_s)):
                text, _ = self._written(block, results)
                with reporting(request.output):
                    stream.write(text.encode())
                    if patience_s is not None:
                        stream.flush()
                if request.references:
                    translated += [each.text for each in results]
        self._report()
        return translated

    def make(self) -> list[str] | None:
        """Make the output, or what this process makes of it.

        Returns:
            The translations if it is whole, nothing if they are not to be scored; None if it is not this process that
            has joined it.
        """
        output, shard = self.request.output, self.request.shard
        assert output is not None
        with open_parts(output, self._settings(), shard) as parts:
            if self._is_file and parts.is_done(self._blocks()):
                self.watch.say(f"{output} is this translation already, and complete; remove it to translate again")
                return self._read_back(output)
            while True:
                for block, results in self._flow(parts.unmade(self._blocks()), parts):
                    parts.put(block, *self._written(block, results))
                if shard is not None:
                    self._report()
                    self.watch.say(
                        f"shard {shard[0]} of {shard[1]} is done, {len(parts.missing())} parts of others are not there "
                        f"yet; join all with: {command('join', output)}"
                    )
                    return None
                if not parts.are_free():
                    break
                if not self._is_file:
                    raise TranslationError(
                        f"{output} was being written by another process, which has ended; give the same command again, "
                        "which goes on"
                    )
            total = parts.join()
        if total is None:
            self.watch.say(f"{output} was joined by another process that made the same translation")
            return None
        self._report(total)
        return self._read_back(output)

    def _read_back(self, output: Path) -> list[str]:
        if not self.request.references:
            return []
        return list(texts(read_lines(output), self.request.form, self.request.options.alignment))

    def _report(self, total: Counter[str] | None = None) -> None:
        self.watch.counts["not UTF-8"] = self._n_replaced
        self.watch.report(total)

    @property
    def _is_file(self) -> bool:
        """Whether the input can be read more than once."""
        paths = [self.request.input, *(path for _, path in self.request.parallel_files())]
        return not any(map(is_stream, paths))

    def _blocks(self, patience_s: float | None = None) -> Iterator[Block | None]:
        request = self.request
        n = 1 if request.score is not None else n_hypotheses(request.options.searched_with(self.decoding))
        pieces: Iterator[Piece | None] = self._pieces()
        if request.is_live:  # what is found is written while no line comes
            pieces = arrivals(pieces, _TICK_S)
        return cut(pieces, block_size(self.decoding.max_batch_tokens, n), patience_s)

    def _pieces(self) -> Iterator[Piece]:
        """The pieces of the input, each with the line that goes with it."""
        request = self.request
        pieces = request.pieces(self._count_replaced)
        path = request.prefixes or request.score
        if path is None:
            return pieces
        option = "--prefix" if request.prefixes else "--score"
        complaint = f"{option} does not have as many lines as the input; line n must belong to line n of the input"
        return beside(pieces, request.lines_of(path), complaint)

    def _count_replaced(self, number: int) -> None:
        if number > self._last_replaced:  # else the text is read once more
            self._n_replaced, self._last_replaced = self._n_replaced + 1, number

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

    def _written(self, block: Block, results: list[Any]) -> tuple[str, Counter[str]]:
        """What the output holds of a block, and what is counted in it."""
        rest = iter(results)
        lines = [(piece, list(islice(rest, len(piece.texts)))) for piece in block.pieces]
        is_by_line = self.request.input_form == "lines"
        text = "".join(
            written(found[0], piece.line, self.request.form)
            if is_by_line and found
            else piece.render([each.text for each in found])
            for piece, found in lines
        )
        return text, self.watch.count_block(lines)

    def _settings(self) -> dict[str, Any]:
        """All that decides the translation of a line, except the line itself."""
        request, translator = self.request, self.translator
        return {
            "model": translator.fingerprint,
            "language": translator.config.data.tgt_lang,  # for scores of what is joined
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


def _complete(request: TranslationRequest, process: Process | None) -> TranslationRequest:
    """The request with the terms of its glossary in the options, and with the share of this machine that it has."""
    if request.terms is not None:
        terms = read_terms(request.lines_of(request.terms), str(request.terms))
        request = dataclasses.replace(request, options=dataclasses.replace(request.options, terms=terms))
    if process is not None:
        engine = dataclasses.replace(
            request.engine,
            threads=request.engine.threads or process.n_cores,
            local_rank=process.local_rank,
            n_local=process.n_local,
        )
        request = dataclasses.replace(request, engine=engine)
    return request


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
