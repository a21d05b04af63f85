"""Translate text:  python translate.py --model RUN_DIR < input.fr > output.en

One line out for each line in. Results go to stdout or --output, everything else to stderr.
"""

import argparse
import dataclasses
import hashlib
import itertools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from seq2seq.errors import TranslationError, UserError
from seq2seq.translation.watch import ERASE, Watch

if TYPE_CHECKING:  # torch takes seconds to import, and --help or a mistyped option should not wait for it
    from seq2seq.config import DecodingConfig
    from seq2seq.translation.output import ResumableFile, StreamOutput
    from seq2seq.translation.translator import Translator

_CONFIRM_EVERY_S = 1.0  # at most so often an output file is brought to disk, after a window of lines
# Options of the same name in `DecodingConfig`.
_SETTINGS = (
    "beam_size",
    "alpha",
    "no_repeat_ngram",
    "repetition_penalty",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "max_batch_tokens",
)


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
        _stop("interrupted", 128 + signal.SIGINT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="translate.py",
        description="Translate text with a trained model: one line out for each line in, blank lines included.",
        epilog="Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8. Settings that "
        "are not given are those that the model was validated with. Lines longer than those in training are split "
        "into sentences, and a warning says so.",
    )
    add = parser.add_argument
    add(
        "--model",
        required=True,
        nargs="+",
        type=Path,
        metavar="PATH",
        help="run directory, checkpoint or model directory; several are an ensemble: their probabilities are averaged",
    )
    add("--quiet", action="store_true", help="nothing on stderr but errors and scores")

    add = parser.add_argument_group("files").add_argument
    add("--input", type=Path, metavar="FILE", help="text to translate; default: stdin")
    add(
        "--output",
        type=Path,
        metavar="FILE",
        help="appears when it is complete; until then, what is done is in FILE.partial; default: stdout",
    )
    add("--resume", action="store_true", help="go on with an interrupted translation into --output")
    add(
        "--errors",
        choices=("strict", "replace"),
        default="strict",
        help="what to do about input that is not UTF-8: stop at it, or put U+FFFD in its place; default: strict",
    )
    add("--prefix", type=Path, metavar="FILE", help="what each line's translation begins with; blank: anything")
    add("--tag", default="", metavar="NAME", help="what kind of text it is, if the model was trained with such tags")

    add = parser.add_argument_group("what is written").add_argument
    add("--json", action="store_true", help="one JSON object a line: source, hypotheses, scores, warnings")
    add(
        "--n-best",
        "--nbest",
        type=_positive,
        metavar="N",
        help="write the N best translations of each line, one below the other, as four columns separated by tabs: "
        "number of the line (from 1), rank (from 1), score, text; a blank line has only one; with --json, N hypotheses",
    )
    add("--token-scores", action="store_true", help="with --json: the log-probability of each token")
    add(
        "--alignment",
        action="store_true",
        help="which word comes from which, after ' ||| ' as 0-0 1-2; with --json also the attention weights",
    )
    add("--typography", choices=("fr",), help="restore French spacing, quotation marks and apostrophes")

    add = parser.add_argument_group("scores").add_argument
    add(
        "--reference",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="known translations: print BLEU, chrF and TER with 95%% confidence intervals to stderr; of several files, "
        "line n of each is a reference for line n, unless it is blank",
    )
    add(
        "--compare",
        type=Path,
        metavar="FILE",
        help="with --reference: other translations of the same lines, tested against these by paired bootstrap",
    )
    add(
        "--score",
        type=Path,
        metavar="FILE",
        help="translate nothing: write how probable the model finds each line of FILE as a translation",
    )

    add = parser.add_argument_group("search").add_argument
    add("--beam-size", type=_positive, metavar="N", help="hypotheses kept at each step; 1 is greedy")
    add(
        "--length-normalization",
        choices=("none", "length", "gnmt"),
        help="what log-probabilities are divided by: 1, n^ALPHA, ((5 + n) / 6)^ALPHA, where n counts tokens",
    )
    add("--alpha", type=_not_negative, metavar="ALPHA", help="higher values favour longer translations")
    add("--max-length", type=_not_negative, nargs=2, metavar=("A", "B"), help="at most A x source tokens + B tokens")
    add("--min-length", type=_not_negative, nargs=2, metavar=("A", "B"), help="at least A x source tokens + B tokens")
    add("--no-repeat-ngram", type=_positive, metavar="N", help="no sequence of N tokens comes twice in a translation")
    add("--repetition-penalty", type=_above_zero, metavar="P", help="above 1: discourages tokens that came before")
    add("--sample", action="store_true", help="draw tokens at random in place of a search; --n-best draws several")
    add("--temperature", type=_above_zero, metavar="T", help="of --sample: below 1 is less random")
    add("--top-k", type=_positive, metavar="K", help="of --sample: only from the K most probable tokens")
    add("--top-p", type=_probability, metavar="P", help="of --sample: only from the fewest tokens of probability P")
    add("--seed", type=_not_negative_integer, metavar="N", help="of --sample: the same seed, the same translations")

    add = parser.add_argument_group("speed").add_argument
    add(
        "--engine",
        choices=("auto", "torch", "ctranslate2"),
        default="auto",
        help="default: torch where the model has weights for it",
    )
    add(
        "--max-batch-tokens",
        type=_positive,
        metavar="N",
        help="lines translated together: lines x tokens of the longest x beam size; lower it if memory runs out; "
        "default: 8192, or 3072 with CTranslate2",
    )
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one")
    add(
        "--precision",
        default="auto",
        help="of matrix products: float32, bfloat16, with CTranslate2 also int8 and others; default: bfloat16 where "
        "the hardware has it, or what CTranslate2's weights are stored as",
    )
    add("--threads", type=_positive, default=0, metavar="N", help="CPU threads in all; default: one for each core")
    add(
        "--workers",
        type=_positive,
        default=0,
        metavar="N",
        help="batches at the same time; default: on a CPU as many as threads",
    )
    return parser


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise ValueError
    return value


def _not_negative_integer(text: str) -> int:
    if (value := int(text)) < 0:
        raise ValueError
    return value


def _not_negative(text: str) -> float:
    if not 0 <= (value := float(text)) < math.inf:
        raise ValueError
    return value


def _above_zero(text: str) -> float:
    if not 0 < (value := float(text)) < math.inf:
        raise ValueError
    return value


def _probability(text: str) -> float:
    if not 0 < (value := float(text)) <= 1:
        raise ValueError
    return value


# What argparse says instead of the name of the function: "invalid positive number value: '0'"
_positive.__name__ = "positive number"
_not_negative_integer.__name__ = "whole number of at least 0"
_not_negative.__name__ = "number of at least 0"
_above_zero.__name__ = "number above 0"
_probability.__name__ = "number above 0 and up to 1"


def _run(args: argparse.Namespace) -> None:
    _check_options(args)
    _check_paths(args)
    # Imported only now: torch takes seconds, and neither --help nor a mistyped name should wait for it.
    from seq2seq.hardware import speed_up_cpu
    from seq2seq.translation.output import AlreadyTranslated, open_output
    from seq2seq.translation.translator import Translator

    n_lines = _check_parallel(args)
    if args.device != "cuda":
        speed_up_cpu()
    translator = Translator.load(
        args.model, args.engine, args.device, args.precision, args.threads, args.workers, forks=not _is_dialogue(args)
    )
    decoding = _decoding(translator.decoding, args)
    fingerprint = _fingerprint(translator, decoding, args) if args.output else {}
    written: list[str] = []
    try:
        with open_output(args.output, fingerprint, resume=args.resume) as output:
            try:
                if args.score:
                    _score(translator, decoding, args, output)
                else:
                    written = _translate(translator, decoding, args, output, n_lines)
            except (KeyboardInterrupt, SystemExit):
                if output.kept:
                    _note(output.kept)
                raise
    except AlreadyTranslated as done:  # as it should be where a script always passes --resume
        print(done, file=sys.stderr)
    if args.reference:
        is_file = args.output is not None and args.output.is_file()  # what went into a pipe cannot be read again
        _print_scores(args, None if is_file else written)


def _translate(
    translator: "Translator",
    decoding: "DecodingConfig",
    args: argparse.Namespace,
    output: "ResumableFile | StreamOutput",
    n_lines: int | None,
) -> list[str]:
    """Translate what is not done yet; the translations, if they are to be scored."""
    from seq2seq.corpus.reader import read_lines
    from seq2seq.translation.records import RECORDS
    from seq2seq.translation.stream import WINDOWS

    replaced: list[int] = []
    is_dialogue = _is_dialogue(args)
    n_done = output.n_lines_done
    watch = Watch(n_lines, n_done, args.quiet, _shows_progress(args, is_dialogue))
    record = RECORDS[_form(args)]
    windows = translator.translate_windows(
        output.skip_done(_input_lines(args, replaced)),
        decoding,
        prefixes=None if args.prefix is None else itertools.islice(read_lines(args.prefix), n_done, None),
        tag=args.tag,
        first_number=n_done,
        token_scores=args.token_scores,
        alignment=args.alignment,
        typography=args.typography or "",
        windows=(1,) if is_dialogue else WINDOWS,
        on_batch=watch.count_found,
    )
    texts = []
    number = n_done
    confirmed_s = time.monotonic()
    # Closed on an error too: what is still in line to be searched would otherwise be searched before the process ends.
    with closing(windows):
        for window in windows:
            for translation in window:
                number += 1
                watch.count_written(number, translation.findings)
                output.write(translation.source, record(number, translation).encode())
                if args.reference:
                    texts.append(translation.text)
            if is_dialogue or time.monotonic() - confirmed_s > _CONFIRM_EVERY_S:
                output.checkpoint()
                confirmed_s = time.monotonic()
    watch.report(len(replaced))
    return texts


def _score(
    translator: "Translator",
    decoding: "DecodingConfig",
    args: argparse.Namespace,
    output: "ResumableFile | StreamOutput",
) -> None:
    """Write the scores of --score."""
    from seq2seq.corpus.reader import read_lines
    from seq2seq.translation import records

    n_done = output.n_lines_done
    replaced: list[int] = []
    watch = Watch(None, n_done, args.quiet, shows_progress=False)
    sources, also_sources = itertools.tee(output.skip_done(_input_lines(args, replaced)))
    targets = itertools.islice(read_lines(args.score), n_done, None)
    scored = translator.score(_parallel(sources, targets), decoding, tag=args.tag, first_number=n_done)
    for number, (source, each) in enumerate(zip(also_sources, scored, strict=True), start=n_done + 1):
        output.write(source, records.score(number, source, each, args.json).encode())
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


def _input_lines(args: argparse.Namespace, replaced: list[int]) -> Iterator[str]:
    """Lines of the input; `replaced` gets the numbers of those that were not UTF-8."""
    from seq2seq.corpus.reader import decode_lines, read_lines

    if args.input is None:
        return decode_lines(sys.stdin.buffer, "stdin", args.errors, replaced.append)
    return read_lines(args.input, args.errors, replaced.append)


def _check_options(args: argparse.Namespace) -> None:
    """Options that make no sense together."""
    for option, needed in (("compare", "reference"), ("resume", "output"), ("token_scores", "json")):
        if getattr(args, option) and not getattr(args, needed):
            raise TranslationError(f"--{option.replace('_', '-')} needs --{needed}")
    for option in ("temperature", "top_k", "top_p", "seed"):
        if getattr(args, option) is not None and not args.sample:
            raise TranslationError(f"--{option.replace('_', '-')} needs --sample")
    if args.score is None:
        return
    for option in ("reference", "prefix", "n_best", "alignment", "typography", "sample"):
        if getattr(args, option):
            raise TranslationError(
                f"--{option.replace('_', '-')} has no meaning with --score, which translates nothing"
            )


def _check_paths(args: argparse.Namespace) -> None:
    """What can be said about the files before anything is imported or opened."""
    for option, path, name in (("--input", args.input, "stdin"), ("--output", args.output, "stdout")):
        if path is None and getattr(sys, name) is None:  # as `<&-` and `>&-` leave them
            raise TranslationError(f"{name} is closed; open it or give {option} FILE")
    inputs = [("--" + name, getattr(args, name)) for name in ("input", "compare", "prefix", "score")]
    inputs += [("--reference", path) for path in args.reference or ()]
    for option, path in inputs:
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
    for option, path in [*inputs, *(("--model", model) for model in args.model)]:
        if path is not None and path.is_file() and path.resolve() == args.output.resolve():
            raise TranslationError(f"--output {args.output} would overwrite {option}; choose another name")


def _check_parallel(args: argparse.Namespace) -> int | None:
    """Read all files once, so that errors in them come before the work; lines of the input, if it is a file."""
    from seq2seq.corpus.reader import read_lines

    def count(path: Path | None, errors: str = "strict") -> int | None:
        if path is None or not path.is_file():  # a pipe can be read only once
            return None
        return sum(1 for _ in read_lines(path, errors))

    n_lines = count(args.input, args.errors)
    others = [("reference", path) for path in args.reference or ()]
    others += [(name, getattr(args, name)) for name in ("compare", "prefix", "score")]
    for name, path in others:
        n_other = count(path)
        if n_lines is not None and n_other is not None and n_other != n_lines:
            raise TranslationError(
                f"--{name} has {n_other} lines and the input {n_lines}; line n of one must belong to line n of "
                "the other"
            )
    return n_lines


def _decoding(default: "DecodingConfig", args: argparse.Namespace) -> "DecodingConfig":
    """The settings of the model, with what the command line says put in their place."""
    changes: dict[str, Any] = {name: getattr(args, name) for name in _SETTINGS if getattr(args, name) is not None}
    changes |= {"n_best": args.n_best or 1, "sampling": args.sample}
    if args.length_normalization:
        changes["normalization"] = args.length_normalization
    for name in ("max_length", "min_length"):
        if (line := getattr(args, name)) is not None:
            changes |= {f"{name}_a": line[0], f"{name}_b": round(line[1])}
    decoding = dataclasses.replace(default, **changes)
    if decoding.n_best > decoding.beam_size and not args.sample:
        raise TranslationError(
            f"--n-best {decoding.n_best} is more than a beam of {decoding.beam_size} holds; "
            f"add --beam-size {decoding.n_best}"
        )
    return decoding


def _fingerprint(translator: "Translator", decoding: "DecodingConfig", args: argparse.Namespace) -> dict[str, Any]:
    """All that the translation of a line depends on, but for the line."""
    settings = dataclasses.asdict(decoding)
    del settings["max_batch_tokens"]
    files = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("prefix", "score")
        if (path := getattr(args, name)) is not None and path.is_file()
    }
    options = {
        name: getattr(args, name) for name in ("tag", "token_scores", "alignment", "typography", "errors", "json")
    }
    engine = {"engine": type(translator.engine).__name__, "precision": translator.engine.precision}
    return {"model": translator.fingerprint, "form": _form(args), **engine, **settings, **options, **files}


def _form(args: argparse.Namespace) -> str:
    return "json" if args.json else "n-best" if args.n_best is not None else "line"


def _is_dialogue(args: argparse.Namespace) -> bool:
    return args.input is None and sys.stdin.isatty()


def _shows_progress(args: argparse.Namespace, is_dialogue: bool) -> bool:
    """Only to a terminal on which nothing else appears at the same time."""
    writes_to_terminal = args.output is None and sys.stdout.isatty()
    return not args.quiet and not is_dialogue and not writes_to_terminal and sys.stderr.isatty()


def _print_scores(args: argparse.Namespace, hypotheses: list[str] | None) -> None:
    """hypotheses: None to read them from the output, which may hold lines of an earlier run."""
    from seq2seq.corpus.reader import read_aligned, read_lines
    from seq2seq.evaluation import scores
    from seq2seq.translation import records

    if hypotheses is None:
        hypotheses = list(records.texts(read_lines(args.output), _form(args), args.alignment))
    references = list(read_aligned(args.reference))
    typography = f"typography:{args.typography or 'none'}"
    for name, score in scores.report(hypotheses, references).items():
        print(f"{name:5} {score.score:6.2f} ± {score.half_width:.2f}  {score.signature}  {typography}", file=sys.stderr)
    if args.compare is None:
        return
    others = list(read_lines(args.compare))
    print(f"\npaired bootstrap against {args.compare}:", file=sys.stderr)
    for name, test in scores.paired_test(others, hypotheses, references).items():
        ours, theirs = test.system.score, test.baseline.score
        significant = "" if ours == theirs else ", significant" if test.p_value < 0.05 else ", not significant"
        print(
            f"{name:5} {ours:6.2f} against {theirs:6.2f}  p = {test.p_value:.4f}{significant}  {test.system.signature}",
            file=sys.stderr,
        )


@contextmanager
def _sigterm_raises_exit() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that what is done is brought to disk."""
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
    if message:
        _note(message)
    _abandon_stdout()
    sys.exit(status)


def _note(message: str) -> None:
    """A line on stderr, where the line of progress may stand."""
    print(("\r" + ERASE if sys.stderr.isatty() else "") + message, file=sys.stderr)


def _abandon_stdout() -> None:
    """Flush what stdout still takes; otherwise keep Python from trying, and complaining, at its exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
