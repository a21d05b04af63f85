"""One call of translate.py as an object, and the checks that need no model."""

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seq2seq.corpus.reader import read_lines, read_stream
from seq2seq.errors import TranslationError
from seq2seq.translation.descriptors import STDIN, is_stream, open_descriptor
from seq2seq.translation.engines.options import EngineOptions
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.forms.read import read_pieces
from seq2seq.translation.options import DecodingSettings, TranslationOptions


@dataclass(frozen=True, kw_only=True)
class TranslationRequest:
    """What a call of translate.py asks for.

    Attributes:
        models: one model, or several as an ensemble.
        input: text to translate; None for stdin.
        input_form: what the input is, a result of `forms.read.form_of`.
        input_field: what of each line is translated, if the form is a table.
        output: where the translations go; None for stdout.
        errors: what to do about input that is not UTF-8, see `corpus.reader.decode_lines`.
        prefixes: a file with the beginning of each translation. `STDIN` is stdin, also for other files.
        terms: a glossary, see `text/glossary.py`; `run.py` puts it into the options.
        form: how translations are written, one of `records.FORMS`.
        buffer_s: how long a line that comes through a pipe may wait for others.
        settings: settings of the search, which replace those of the model.
        references: files with known translations, to score the translations against.
        compare: a file with other translations, to compare these with.
        score: a file with translations to score. Nothing is translated then.
        shard: number, from 1, and how many: translate only this share of the input; see `parts.py`.
        is_quiet: nothing goes to stderr but errors and scores.
    """

    models: tuple[Path, ...]
    input: Path | None = None
    input_form: str = "lines"
    input_field: str | None = None
    output: Path | None = None
    errors: str = "strict"
    prefixes: Path | None = None
    terms: Path | None = None
    form: str = "line"
    buffer_s: float = 0.2
    settings: DecodingSettings = field(default_factory=DecodingSettings)
    options: TranslationOptions = field(default_factory=TranslationOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    references: tuple[Path, ...] = ()
    compare: Path | None = None
    score: Path | None = None
    shard: tuple[int, int] | None = None
    is_quiet: bool = False

    @property
    def is_dialogue(self) -> bool:
        """Whether somebody types the lines."""
        return self.input is None and sys.stdin.isatty()

    @property
    def is_live(self) -> bool:
        """Whether lines may come slowly, from a person or another program, and not from a file."""
        if self.input is not None:
            return not self.input.is_file()
        try:
            return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
        except OSError:  # stdin in memory
            return False

    @property
    def patience_s(self) -> float | None:
        """How long a line waits for others that may follow; None: as long as it takes, since nobody waits for it."""
        if not self.is_live or not is_stream(self.output):
            return None
        return 0.0 if self.is_dialogue else self.buffer_s

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress: only on a terminal where nothing else appears at the same time."""
        writes_to_terminal = self.output is None and sys.stdout.isatty()
        return not self.is_quiet and not self.is_dialogue and not writes_to_terminal and sys.stderr.isatty()

    def pieces(self, replaced: set[int]) -> Iterator[Piece]:
        """The input in pieces, each with its texts. The numbers of lines that were not UTF-8 are added to `replaced`.

        Raises:
            TranslationError: the input does not have the form.
        """
        name = "stdin" if self.input is None else str(self.input)
        return read_pieces(self._read(replaced), name, self.input_form, self.input_field)

    def lines_of(self, path: Path) -> Iterator[str]:
        """The lines of one of `parallel_files`, or of the glossary."""
        return read_stream(sys.stdin.buffer, "stdin") if open_descriptor(path) == 0 else read_lines(path)

    def _read(self, replaced: set[int]) -> Iterator[str]:
        if self.input is not None and open_descriptor(self.input) != 0:
            return read_lines(self.input, self.errors, replaced.add, is_exact=True)
        # Python cannot end while a thread waits for a line of sys.stdin: live lines come through another stream.
        stdin = os.fdopen(os.dup(sys.stdin.fileno()), "rb") if self.is_live else sys.stdin.buffer
        return read_stream(stdin, "stdin", self.errors, replaced.add, is_exact=True)

    def parallel_files(self) -> Iterator[tuple[str, Path]]:
        """Option and path of each file whose line n belongs to line n of the input."""
        yield from (("--reference", path) for path in self.references)
        for option, path in (("--compare", self.compare), ("--prefix", self.prefixes), ("--score", self.score)):
            if path is not None:
                yield option, path


def check_inputs(request: TranslationRequest) -> list[tuple[str, Path]]:
    """Check that all inputs exist. Option and path of each one that is not stdin.

    Raises:
        TranslationError: an input does not exist, or two are stdin.
    """
    inputs = [("--input", request.input or STDIN), *request.parallel_files()]
    if request.terms is not None:
        inputs.append(("--terms", request.terms))
    readers = [option for option, path in inputs if open_descriptor(path) == 0]
    if readers and sys.stdin is None:  # a shell closes it with `<&-`
        raise TranslationError(f"stdin is closed; open it or give {readers[0]} FILE")
    if len(readers) > 1:
        raise TranslationError(f"{' and '.join(readers)} are all stdin, which has one reader; give a file for one")
    inputs = [(option, path) for option, path in inputs if option not in readers]
    for option, path in inputs:
        if not path.exists():
            raise TranslationError(f"{option} {path}: no such file")
        if path.is_dir():
            raise TranslationError(f"{option} {path}: is a directory; name a file")
    return inputs


def check_lines(request: TranslationRequest) -> int | None:
    """Read all files once, so that errors in them are found before the work begins.

    Returns:
        The number of texts of the input, which are mostly its lines; None if it can be read only once.
    Raises:
        CorpusError: a file cannot be read, or is not UTF-8.
        TranslationError: a parallel file has not as many lines as the input, or the input does not have its form.
    """
    if request.input_form != "lines":  # which has no parallel files
        is_file = request.input is not None and request.input.is_file()
        return sum(len(piece.texts) for piece in request.pieces(set())) if is_file else None
    n_lines = _n_lines(request.input, request.errors)
    for option, path in request.parallel_files():
        n_other = _n_lines(path)
        if n_lines is not None and n_other is not None and n_other != n_lines:
            raise TranslationError(
                f"{option} has {n_other} lines and the input {n_lines}; line n of one must belong to line n of "
                "the other"
            )
    return n_lines


def _n_lines(path: Path | None, errors: str = "strict") -> int | None:
    if path is None or open_descriptor(path) == 0 or not path.is_file():  # a pipe can be read only once
        return None
    return sum(1 for _ in read_lines(path, errors))
