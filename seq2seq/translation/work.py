"""The work of one call of translate.py: lines in, records out."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

from seq2seq.config import DecodingConfig
from seq2seq.decoding.plan import n_hypotheses
from seq2seq.errors import TranslationError, UserError
from seq2seq.translation import records
from seq2seq.translation.arrivals import arrivals
from seq2seq.translation.blocks import Given, Placed, block_size
from seq2seq.translation.forms.piece import translate_pieces
from seq2seq.translation.output import StreamOutput
from seq2seq.translation.request import TranslationRequest
from seq2seq.translation.result import Translation
from seq2seq.translation.resumable import ResumableFile
from seq2seq.translation.scoring import GivenPair
from seq2seq.translation.sharing.share import Share
from seq2seq.translation.text.health import Finding
from seq2seq.translation.translator import Translator, with_prefixes
from seq2seq.translation.watch import Watch

CONFIRM_EVERY_S = 1.0  # least time between two checkpoints of an output file, in seconds
_TICK_S = 0.02  # how long to wait for a line before looking at what is done

Output = ResumableFile | StreamOutput | Share
T = TypeVar("T")
P = TypeVar("P", Placed[str], Placed[str] | None)


@dataclass
class Work:
    """What one call has to do, and where it goes.

    Attributes:
        watch: counts what is done, and tells the user.
        n_sharing: see `InOrder`.
    """

    translator: Translator
    decoding: DecodingConfig
    request: TranslationRequest
    output: Output
    watch: Watch
    n_sharing: Callable[[], int] | None = None
    _confirmed_s: float = field(default_factory=time.monotonic, init=False)

    def do(self) -> list[str]:
        """Write what is not written yet. Returns the translations, if they are to be scored."""
        request = self.request
        replaced: list[int] = []
        texts = []
        if request.score is not None:
            self._score(replaced)
        elif request.input_form == "lines":
            texts = self._translate_lines(replaced)
        else:
            self._translate_pieces(replaced)
        self.watch.counts.n_replaced = len(replaced)
        return texts

    def _translate_lines(self, replaced: list[int]) -> list[str]:
        """Returns the translations, if they are to be scored."""
        request, output = self.request, self.output
        prefixes = None if request.prefixes is None else output.follow(request.lines_of(request.prefixes), "--prefix")
        lines = self._live(output.skip_done(request.placed_lines(replaced, self._block_size), _unit))
        numbers: deque[int] = deque()  # of the lines that are being translated
        given = (
            None if line is None else Given(line.unit, "", line.number, line.block) for line in _noting(lines, numbers)
        )
        record = records.RECORDS[request.form]
        texts = []
        translated = self._translated(with_prefixes(given, prefixes), has_prefixes=prefixes is not None)
        with closing(translated) as translations:
            for translation in self._confirming(translations):
                number = numbers.popleft() + 1
                self.watch.count_written(number, translation.findings, len(translation.parts), translation.changes)
                self._write(translation.source, record(number, translation))
                if request.references:
                    texts.append(translation.text)
        return texts

    def _translate_pieces(self, replaced: list[int]) -> None:
        pieces = self._live(
            self.output.skip_done(self.request.placed_pieces(replaced, self._block_size), lambda each: each.unit.source)
        )
        for piece, translations in self._confirming(translate_pieces(pieces, self._translated)):
            findings = [finding for translation in translations for finding in translation.findings]
            n_parts = max((len(translation.parts) for translation in translations), default=0)
            changes = [change for translation in translations for change in translation.changes]
            self.watch.count_written(piece.line, [*piece.findings, *findings], n_parts, changes)
            self._write(piece.source, piece.render([translation.text for translation in translations]))

    def _translated(
        self, lines: Iterable[Given | None], *, has_prefixes: bool = False
    ) -> Generator[Translation, None, None]:
        return self.translator.translate_given(
            lines,
            self.decoding,
            self.request.options,
            has_prefixes=has_prefixes,
            patience_s=self.request.patience_s,
            on_done=self.watch.count_found,
            n_sharing=self.n_sharing,
        )

    def _score(self, replaced: list[int]) -> None:
        """Write how probable the model finds each line of --score."""
        request, output = self.request, self.output
        assert request.score is not None
        targets = output.follow(request.lines_of(request.score), "--score")
        lines = output.skip_done(request.placed_lines(replaced, self._block_size), _unit)
        numbers: deque[int] = deque()
        scores = self.translator.score_given(
            _pairs(_noting(lines, numbers), targets),
            self.decoding,
            request.options,
            on_done=self.watch.count_found,
            n_sharing=self.n_sharing,
        )
        with closing(scores):
            for scored in self._confirming(scores):
                number = numbers.popleft() + 1
                self.watch.count_written(number, [Finding("unscored", scored.reason)] if scored.reason else [])
                self._write(scored.source, records.score(number, scored, request.form == "json"))

    @property
    def _block_size(self) -> int:
        """Of a live stream, whose batches depend on when its lines come, all is one block."""
        return 0 if self.request.is_live else block_size_of(self.request, self.decoding)

    def _live(self, items: Iterator[T]) -> Iterator[T | None]:
        """The items; of a live stream, as `arrivals`. While none comes, what was written is confirmed."""
        if not self.request.is_live:
            yield from items
            return
        for item in arrivals(items, _TICK_S):
            if item is None:
                self._confirm()
            yield item

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


def block_size_of(request: TranslationRequest, decoding: DecodingConfig) -> int:
    """Characters of a block of the input."""
    searched_with = request.options.searched_with(decoding)
    return block_size(decoding.max_batch_tokens, 1 if request.score is not None else n_hypotheses(searched_with))


def _unit(line: Placed[str]) -> str:
    return line.unit


def _noting(lines: Iterable[P], numbers: deque[int]) -> Iterator[P]:
    """The lines, whose numbers are noted as they are read."""
    for line in lines:
        if line is not None:
            numbers.append(line.number)
        yield line


def _pairs(sources: Iterable[Placed[str]], targets: Iterable[str]) -> Iterator[GivenPair]:
    try:
        for source, target in zip(sources, targets, strict=True):
            yield GivenPair(source.unit, target, source.number, source.block)
    except ValueError as error:
        raise TranslationError(
            "--score does not have as many lines as the input; line n must translate line n"
        ) from error


def watch_of(
    request: TranslationRequest, n_lines: int | None, n_done: int, n_others: Callable[[], int] = lambda: 0
) -> Watch:
    """What watches over the work of a call, see `Watch`."""
    verb = "translated" if request.score is None else "scored"
    return Watch(n_lines, n_done, request.is_quiet, request.shows_progress, verb, n_others)
