"""The work of one call of translate.py: lines in, records out."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

from seq2seq.config import DecodingConfig
from seq2seq.errors import TranslationError, UserError
from seq2seq.translation import records
from seq2seq.translation.arrivals import arrivals
from seq2seq.translation.forms.piece import Piece, translate_pieces
from seq2seq.translation.output import StreamOutput
from seq2seq.translation.request import TranslationRequest
from seq2seq.translation.result import Translation
from seq2seq.translation.resumable import ResumableFile
from seq2seq.translation.text.health import Finding
from seq2seq.translation.translator import Translator
from seq2seq.translation.watch import Watch

CONFIRM_EVERY_S = 1.0  # least time between two checkpoints of an output file, in seconds
_TICK_S = 0.02  # how long to wait for a line before looking at what is done

Output = ResumableFile | StreamOutput
T = TypeVar("T")


@dataclass
class Work:
    """What one call has to do, and where it goes.

    Attributes:
        n_lines: of the whole input; None if that is not known before the end.
    """

    translator: Translator
    decoding: DecodingConfig
    request: TranslationRequest
    output: Output
    n_lines: int | None
    _confirmed_s: float = field(default_factory=time.monotonic, init=False)

    def do(self) -> list[str]:
        """Write what is not written yet. Returns the translations, if they are to be scored."""
        request = self.request
        verb = "translated" if request.score is None else "scored"
        watch = Watch(self.n_lines, self.output.n_lines_done, request.is_quiet, request.shows_progress, verb)
        replaced: list[int] = []
        texts = []
        if request.score is not None:
            self._score(watch, replaced)
        elif request.input_form == "lines":
            texts = self._translate_lines(watch, replaced)
        else:
            self._translate_pieces(watch, replaced)
        watch.report(len(replaced))
        return texts

    def _translate_lines(self, watch: Watch, replaced: list[int]) -> list[str]:
        """Returns the translations, if they are to be scored."""
        request, output = self.request, self.output
        prefixes = None if request.prefixes is None else output.follow(request.lines_of(request.prefixes), "--prefix")
        lines = output.skip_done(request.input_lines(replaced))
        record = records.RECORDS[request.form]
        texts = []
        n_done = output.n_lines_done
        with closing(self._translated(self._live(lines), watch, n_done, prefixes)) as translations:
            for number, translation in self._numbered(translations):
                watch.count_written(number, translation.findings, len(translation.parts), translation.changes)
                self._write(translation.source, record(number, translation))
                if request.references:
                    texts.append(translation.text)
        return texts

    def _translate_pieces(self, watch: Watch, replaced: list[int]) -> None:
        n_texts = 0  # of the pieces that are done

        def source(piece: Piece) -> str:
            nonlocal n_texts
            n_texts += len(piece.texts) or 1
            return piece.source

        pieces = self._live(self.output.skip_done(self.request.input_pieces(replaced), source))
        translated = translate_pieces(pieces, lambda texts: self._translated(texts, watch, first_number=n_texts))
        for piece, translations in self._confirming(translated):
            findings = [finding for translation in translations for finding in translation.findings]
            n_parts = max((len(translation.parts) for translation in translations), default=0)
            changes = [change for translation in translations for change in translation.changes]
            watch.count_written(piece.line, [*piece.findings, *findings], n_parts, changes)
            self._write(piece.source, piece.render([translation.text for translation in translations]))

    def _translated(
        self, lines: Iterable[str | None], watch: Watch, first_number: int, prefixes: Iterable[str] | None = None
    ) -> Generator[Translation, None, None]:
        return self.translator.translate_stream(
            lines,
            self.decoding,
            self.request.options,
            prefixes=prefixes,
            first_number=first_number,
            patience_s=self.request.patience_s,
            on_done=watch.count_found,
        )

    def _score(self, watch: Watch, replaced: list[int]) -> None:
        """Write how probable the model finds each line of --score."""
        request, output = self.request, self.output
        assert request.score is not None
        targets = output.follow(request.lines_of(request.score), "--score")
        pairs = _parallel(output.skip_done(request.input_lines(replaced)), targets)
        options = request.options
        scores = self.translator.score(
            pairs,
            self.decoding,
            tag=options.tag,
            split=options.split,
            normalize=options.normalize,
            first_number=output.n_lines_done,
            on_done=watch.count_found,
        )
        with closing(scores):
            for number, scored in self._numbered(scores):
                watch.count_written(number, [Finding("unscored", scored.reason)] if scored.reason else [])
                self._write(scored.source, records.score(number, scored, request.form == "json"))

    def _live(self, items: Iterator[T]) -> Iterator[T | None]:
        """The items; of a live stream, as `arrivals`. While none comes, what was written is confirmed."""
        if not self.request.is_live:
            yield from items
            return
        for item in arrivals(items, _TICK_S):
            if item is None:
                self._confirm()
            yield item

    def _numbered(self, items: Iterable[T]) -> Iterator[tuple[int, T]]:
        return enumerate(self._confirming(items), start=self.output.n_lines_done + 1)

    def _confirming(self, items: Iterable[T]) -> Iterator[T]:
        """The items, which the caller writes. If an error ends them, what was written is confirmed."""
        try:
            yield from items
        except UserError:  # such as text that is not UTF-8: the lines before it have all been written
            self.output.checkpoint()
            raise

    def _write(self, source: str, record: str) -> None:
        self.output.write(source, record.encode())
        self._confirm()

    def _confirm(self) -> None:
        """Confirm what was written, about once a second; but pass on each line of a live stream at once."""
        is_passed_on = self.request.is_live and isinstance(self.output, StreamOutput)
        if is_passed_on or time.monotonic() - self._confirmed_s >= CONFIRM_EVERY_S:
            self.output.checkpoint()
            self._confirmed_s = time.monotonic()


def _parallel(sources: Iterable[str], targets: Iterable[str]) -> Iterator[tuple[str, str]]:
    try:
        yield from zip(sources, targets, strict=True)
    except ValueError as error:
        raise TranslationError(
            "--score does not have as many lines as the input; line n must translate line n"
        ) from error
