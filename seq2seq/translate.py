"""Translate text:  python translate.py --model RUN_DIR < input.fr > output.en

One line out for each line in. Results go to stdout or --output, everything else to stderr.
"""

import argparse
import bz2
import dataclasses
import gzip
import lzma
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from seq2seq.errors import CorpusError, TranslationError, UserError

if TYPE_CHECKING:  # torch takes seconds to import, and --help or a mistyped option should not wait for it
    from seq2seq.config import DecodingConfig
    from seq2seq.translator import Translation

MAX_SHOWN_WARNINGS = 20
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
METRICS = ("bleu", "chrf", "ter")
_BOM = b"\xef\xbb\xbf"
_ERASE = "\x1b[K"  # what a terminal erases the rest of a line on


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Raises:
        SystemExit: 2 after an error that has a remedy, 130 after Ctrl-C, 143 after SIGTERM, 141 when the reader
            of stdout is gone.
    """
    args = _parser().parse_args(argv)
    try:
        with _sigterm_raises_exit():
            _run(args)
    except UserError as error:
        _stop(f"error: {error}", 2)
    except BrokenPipeError:  # as `| head -1` leaves it; shell tools say nothing
        _stop("", 128 + 13)
    except OSError as error:  # such as a name that is too long, or a folder that one may not look into
        _stop(f"error: {error.strerror or error}: {error.filename}", 2)
    except KeyboardInterrupt:
        _stop("interrupted" + (f"; {args.output} was not written" if args.output else ""), 128 + signal.SIGINT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="translate.py",
        description="Translate text with a trained model: one line out for each line in, blank lines included.",
        epilog="Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8. Settings that "
        "are not given are those that the model was validated with.",
    )
    parser.add_argument("--model", required=True, type=Path, metavar="PATH", help="run directory or checkpoint file")
    files = parser.add_argument_group("files")
    files.add_argument("--input", type=Path, metavar="FILE", help="text to translate; default: stdin")
    files.add_argument(
        "--output", type=Path, metavar="FILE", help="appears when it is complete, not before; default: stdout"
    )
    files.add_argument(
        "--reference", type=Path, metavar="FILE", help="known translations: print BLEU, chrF and TER to stderr"
    )
    search = parser.add_argument_group("search")
    search.add_argument("--beam-size", type=_positive, metavar="N", help="hypotheses kept at each step; 1 is greedy")
    search.add_argument(
        "--n-best",
        type=_positive,
        metavar="N",
        help="write the N best translations of each line, one below the other, as four columns separated by tabs: "
        "number of the line (from 1), rank (from 1), score, text; a blank line has only one",
    )
    search.add_argument(
        "--length-normalization",
        choices=("none", "length", "gnmt"),
        help="what log-probabilities are divided by: 1, n^ALPHA, ((5 + n) / 6)^ALPHA, where n counts tokens",
    )
    search.add_argument("--alpha", type=_not_negative, metavar="ALPHA", help="higher values favour longer translations")
    speed = parser.add_argument_group("speed")
    speed.add_argument(
        "--batch-tokens",
        type=_positive,
        metavar="N",
        help="lines translated together: lines x tokens of the longest x beam size; lower it if memory runs out",
    )
    speed.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one"
    )
    speed.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="of matrix products; default: bfloat16 where the hardware multiplies it",
    )
    speed.add_argument("--threads", type=_positive, metavar="N", help="CPU threads; default: as torch decides")
    parser.add_argument("--quiet", action="store_true", help="nothing on stderr but errors and scores")
    return parser


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise ValueError
    return value


def _not_negative(text: str) -> float:
    if not 0 <= (value := float(text)) < math.inf:
        raise ValueError
    return value


# What argparse says instead of the name of the function: "invalid positive number value: '0'"
_positive.__name__ = "positive number"
_not_negative.__name__ = "number of at least 0"


def _run(args: argparse.Namespace) -> None:
    _check_paths(args)
    # Imported only now: torch takes seconds, and neither --help nor a mistyped name should wait for it.
    import torch

    from seq2seq.corpus.reader import read_lines
    from seq2seq.translator import WINDOW, Translator

    if args.threads:
        torch.set_num_threads(args.threads)
    references = None if args.reference is None else list(read_lines(args.reference))
    with _output(args.output) as out:  # before the model, whose loading would be in vain if this failed
        translator = Translator.load(args.model, args.device, args.precision)
        decoding = _decoding(translator.config.decoding, args)
        n_lines = None
        if args.input is not None and args.input.is_file():  # a pipe can be read only once
            n_lines = translator.check_sources(read_lines(args.input))
            _check_parallel(n_lines, references)
        is_dialogue = args.input is None and sys.stdin.isatty()
        watch = _Watch(n_lines, args.quiet, _shows_progress(args, is_dialogue))
        translations = translator.translate_stream(
            _stdin_lines() if args.input is None else read_lines(args.input),
            decoding,
            window=1 if is_dialogue else WINDOW,
            on_batch=watch.count,
        )
        written = _write(translations, out, watch, is_n_best=args.n_best is not None, at_once=is_dialogue)
        # The texts of a file of any size need not fit into memory, unless they are to be scored.
        hypotheses = [text for text in written if references is not None]
    watch.report()
    if references is not None:
        _check_parallel(len(hypotheses), references)
        _print_scores(hypotheses, references)


def _write(
    translations: Iterator["Translation"], out: BinaryIO, watch: "_Watch", *, is_n_best: bool, at_once: bool
) -> Iterator[str]:
    """Write each translation, and hand out its text."""
    for number, translation in enumerate(translations, start=1):
        watch.warn(number, translation.warnings)
        out.write(_record(number, translation, is_n_best).encode())
        if at_once:
            out.flush()
        yield translation.text


def _check_paths(args: argparse.Namespace) -> None:
    """What can be said about the files before anything is imported or opened."""
    for option, path, name in (("--input", args.input, "stdin"), ("--output", args.output, "stdout")):
        if path is None and getattr(sys, name) is None:  # as `<&-` and `>&-` leave them
            raise TranslationError(f"{name} is closed; open it or give {option} FILE")
    for option, path in (("--input", args.input), ("--reference", args.reference)):
        if path is None:
            continue
        if not path.exists():
            raise TranslationError(f"{option} {path}: no such file")
        if path.is_dir():
            raise TranslationError(f"{option} {path}: is a directory; name a file")
    if args.output is None:
        return
    if args.output.is_dir():
        raise TranslationError(f"--output {args.output}: is a directory; name a file in it")
    if not args.output.parent.is_dir():
        raise TranslationError(f"--output {args.output}: no directory {args.output.parent}; create it first")
    if args.output.exists() and not os.access(args.output, os.W_OK):  # renaming would replace it all the same
        raise TranslationError(f"--output {args.output}: is write-protected; choose another name")
    for option, path in (("--input", args.input), ("--reference", args.reference)):
        if path is not None and path.is_file() and path.resolve() == args.output.resolve():
            raise TranslationError(f"--output {args.output} would overwrite {option}; choose another name")


def _check_parallel(n_lines: int, references: Sequence[str] | None) -> None:
    if references is not None and n_lines != len(references):
        raise TranslationError(
            f"--reference has {len(references)} lines and the input {n_lines}; line n of one must translate line n "
            "of the other"
        )


def _decoding(default: "DecodingConfig", args: argparse.Namespace) -> "DecodingConfig":
    """The settings of the checkpoint, with what the command line says put in their place."""
    beam_size = args.beam_size or default.beam_size
    n_best = args.n_best or 1
    if n_best > beam_size:
        raise TranslationError(f"--n-best {n_best} is more than a beam of {beam_size} holds; add --beam-size {n_best}")
    return dataclasses.replace(
        default,
        beam_size=beam_size,
        n_best=n_best,
        normalization=args.length_normalization or default.normalization,
        alpha=default.alpha if args.alpha is None else args.alpha,
        batch_tokens=args.batch_tokens or default.batch_tokens,
    )


def _stdin_lines() -> Iterator[str]:
    """The lines of stdin, read as `seq2seq.corpus.reader.read_lines` reads files."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if number == 1:
            line = line.removeprefix(_BOM)
        try:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"stdin:{number}: byte {error.start + 1} of the line (0x{error.object[error.start]:02x}) is not "
                "UTF-8; convert the text, for example with: iconv -f WINDOWS-1252 -t UTF-8"
            ) from error
        yield text


@contextmanager
def _output(path: Path | None) -> Iterator[BinaryIO]:
    """Where translations go: a file that appears only when it is whole, or stdout."""
    from seq2seq.checkpoint import atomic_write

    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif path.exists() and not path.is_file():  # /dev/null and pipes must not be replaced by a file
            with path.open("wb") as special:
                yield special
        else:
            # Resolved, so that a symbolic link stays one.
            with atomic_write(path.resolve()) as file, _compressed(file, path.suffix) as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:  # all that is read inside turns its errors into UserError
        raise TranslationError(f"cannot write {path or 'stdout'}: {error.strerror or error}") from error


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A stream into `file`, compressed as the suffix says; `file` stays open."""
    if suffix not in COMPRESSED:
        yield file
        return
    with _compressor(file, suffix) as stream:
        yield stream


def _compressor(file: BinaryIO, suffix: str) -> Any:  # typeshed and zstandard have four types for such a stream
    match suffix:
        case ".gz":
            return gzip.GzipFile("", "wb", fileobj=file, mtime=0)  # the same text, the same bytes
        case ".xz":
            return lzma.LZMAFile(file, "wb")
        case ".bz2":
            return bz2.BZ2File(file, "wb")
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(file, closefd=False)


def _record(number: int, translation: "Translation", is_n_best: bool) -> str:
    """What is written for one line of input."""
    if not is_n_best:
        return translation.text + "\n"
    return "".join(
        f"{number}\t{rank}\t{score:.4f}\t{_column(text)}\n"
        for rank, (text, score) in enumerate(translation.hypotheses, start=1)
    )


def _column(text: str) -> str:
    """A translation may hold a tab, if the training text did."""
    return text.replace("\t", " ")


def _shows_progress(args: argparse.Namespace, is_dialogue: bool) -> bool:
    """Only to a terminal on which nothing else appears at the same time."""
    writes_to_terminal = args.output is None and sys.stdout.isatty()
    return not args.quiet and not is_dialogue and not writes_to_terminal and sys.stderr.isatty()


class _Watch:
    """What stderr says while lines are translated, and after."""

    def __init__(self, n_lines: int | None, is_quiet: bool, shows_progress: bool) -> None:
        self._n_lines = n_lines  # None where it is not known before the end
        self._is_quiet = is_quiet
        self._shows_progress = shows_progress
        self._n_done = 0
        self._n_warnings = 0
        self._begin_s = self._shown_s = time.monotonic()

    def count(self, n_more: int) -> None:
        """Say how far it is, at most twice a second."""
        self._n_done += n_more
        now_s = time.monotonic()
        if self._shows_progress and now_s - self._shown_s > 0.5:
            self._shown_s = now_s
            of_all = f" of {self._n_lines:,}" if self._n_lines else ""
            rate = self._n_done / (now_s - self._begin_s)
            print(f"\r{self._n_done:,}{of_all} lines, {rate:.1f} lines/s{_ERASE}", end="", file=sys.stderr, flush=True)

    def warn(self, number: int, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._n_warnings += 1
            if self._n_warnings <= MAX_SHOWN_WARNINGS:
                self._print(f"warning: line {number}: {warning}")
            elif self._n_warnings == MAX_SHOWN_WARNINGS + 1:
                self._print("warning: further warnings are counted, but not shown")

    def report(self) -> None:
        elapsed_s = time.monotonic() - self._begin_s
        warnings = f", {self._n_warnings} warnings" if self._n_warnings else ""
        rate = self._n_done / max(elapsed_s, 1e-9)
        self._print(f"translated {self._n_done} lines in {elapsed_s:.1f} s ({rate:.1f} lines/s){warnings}")

    def _print(self, text: str) -> None:
        if not self._is_quiet:
            print(("\r" + _ERASE if self._shows_progress else "") + text, file=sys.stderr)


def _print_scores(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    from seq2seq.scores import corpus_scores

    for name, score in corpus_scores(hypotheses, references, METRICS).items():
        print(f"{name} {score.score:.2f}  {score.signature}", file=sys.stderr)


@contextmanager
def _sigterm_raises_exit() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that no unfinished file stays behind."""
    if threading.current_thread() is not threading.main_thread():  # where Python allows no handlers
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + signum)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(message: str, status: int) -> NoReturn:
    if message:  # where the line of progress may stand
        print(("\r" + _ERASE if sys.stderr.isatty() else "") + message, file=sys.stderr)
    _abandon_stdout()
    sys.exit(status)


def _abandon_stdout() -> None:
    """Flush what stdout still takes; otherwise keep Python from trying, and complaining, at its exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
