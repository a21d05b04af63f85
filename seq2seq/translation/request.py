"""One call of translate.py as an object, and the checks that need no model."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seq2seq.corpus.reader import decode_lines, read_lines
from seq2seq.errors import TranslationError
from seq2seq.translation.engines.options import EngineOptions
from seq2seq.translation.options import DecodingSettings, TranslationOptions


@dataclass(frozen=True, kw_only=True)
class TranslationRequest:
    """What a call of translate.py asks for.

    Attributes:
        models: one model, or several as an ensemble.
        input: text to translate; None for stdin.
        output: where the translations go; None for stdout.
        resume: go on with an interrupted translation into `output`.
        errors: what to do about input that is not UTF-8, see `corpus.reader.decode_lines`.
        prefixes: a file with the beginning of each translation.
        form: how translations are written, one of `records.FORMS`.
        settings: settings of the search, which replace those of the model.
        references: files with known translations, to score the translations against.
        compare: a file with other translations, to compare these with.
        score: a file with translations to score. Nothing is translated then.
        is_quiet: nothing goes to stderr but errors and scores.
    """

    models: tuple[Path, ...]
    input: Path | None = None
    output: Path | None = None
    resume: bool = False
    errors: str = "strict"
    prefixes: Path | None = None
    form: str = "line"
    settings: DecodingSettings = field(default_factory=DecodingSettings)
    options: TranslationOptions = field(default_factory=TranslationOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    references: tuple[Path, ...] = ()
    compare: Path | None = None
    score: Path | None = None
    is_quiet: bool = False

    @property
    def is_dialogue(self) -> bool:
        """Whether somebody types the lines."""
        return self.input is None and sys.stdin.isatty()

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress: only on a terminal where nothing else appears at the same time."""
        writes_to_terminal = self.output is None and sys.stdout.isatty()
        return not self.is_quiet and not self.is_dialogue and not writes_to_terminal and sys.stderr.isatty()

    def input_lines(self, replaced: list[int]) -> Iterator[str]:
        """The lines to translate. The numbers of lines that were not UTF-8 are appended to `replaced`."""
        if self.input is None:
            return decode_lines(sys.stdin.buffer, "stdin", self.errors, replaced.append)
        return read_lines(self.input, self.errors, replaced.append)

    def parallel_files(self) -> Iterator[tuple[str, Path]]:
        """Option and path of each file whose line n belongs to line n of the input."""
        yield from (("--reference", path) for path in self.references)
        for option, path in (("--compare", self.compare), ("--prefix", self.prefixes), ("--score", self.score)):
            if path is not None:
                yield option, path


def check_paths(request: TranslationRequest) -> None:
    """Check that all inputs exist, and that the output can be written.

    Raises:
        TranslationError: an input does not exist; or the output cannot be written, or would overwrite an input.
    """
    for option, given, stream in (
        ("--input", request.input, sys.stdin),
        ("--output", request.output, sys.stdout),
    ):
        if given is None and stream is None:  # a shell closes them with `<&-` and `>&-`
            name = "stdin" if option == "--input" else "stdout"
            raise TranslationError(f"{name} is closed; open it or give {option} FILE")
    inputs = [("--input", request.input)] if request.input is not None else []
    inputs += request.parallel_files()
    for option, path in inputs:
        if not path.exists():
            raise TranslationError(f"{option} {path}: no such file")
        if path.is_dir():
            raise TranslationError(f"{option} {path}: is a directory; name a file")
    if request.output is not None:
        _check_output(request.output, [*inputs, *(("--model", model) for model in request.models)])


def _check_output(output: Path, inputs: list[tuple[str, Path]]) -> None:
    if output.is_dir():
        raise TranslationError(f"--output {output}: is a directory; name a file in it")
    if not output.parent.is_dir():
        raise TranslationError(f"--output {output}: no directory {output.parent}; create it first")
    if output.exists() and not os.access(output, os.W_OK):  # to rename another file would replace it all the same
        raise TranslationError(f"--output {output}: is write-protected; choose another name")
    for option, path in inputs:
        if path.is_file() and path.resolve() == output.resolve():
            raise TranslationError(f"--output {output} would overwrite {option}; choose another name")


def check_lines(request: TranslationRequest) -> int | None:
    """Read all files once, so that errors in them are found before the work begins.

    Returns:
        The number of lines of the input; None if it can be read only once.
    Raises:
        CorpusError: a file cannot be read, or is not UTF-8.
        TranslationError: a parallel file has not as many lines as the input.
    """
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
    if path is None or not path.is_file():  # a pipe can be read only once
        return None
    return sum(1 for _ in read_lines(path, errors))
