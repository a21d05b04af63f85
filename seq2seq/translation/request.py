"""One call of translate.py as an object, which of several processes it is, and the checks that need no model."""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

from seq2seq.config.evaluation import AUTO, TOKENIZERS
from seq2seq.cores import n_cores
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import ConfigError, TranslationError, command
from seq2seq.options import Option, not_negative, share
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.forms.read import FORMS, read_pieces
from seq2seq.translation.options import DecodingSettings, EngineOptions, TranslationOptions
from seq2seq.translation.streams import STDIN, destination, is_stream, open_descriptor, source, to_read

_files, _text, _scores = (partial(Option, group=group) for group in ("files", "text", "scores"))
_MODEL = (
    "run directory, checkpoint, model directory or wandb:ENTITY/PROJECT/NAME:ALIAS; several are an ensemble: their "
    "probabilities are averaged"
)
_FORM = (
    "what the input is, and so the output: one text a line, paragraphs, Markdown, subtitles or a table; default: by "
    "the name of --input (.md, .srt, .vtt), else lines"
)
_FIELD = "translate only this column of TSV, a number from 1, or this key of JSON Lines, as text or message.text"
_OUTPUT = (
    "the translations; FILE appears when it is complete, until then they are in FILE.parts; default: stdout, which "
    "is also -"
)
_SHARD = "translate only the I-th of N shares of --input, I from 1; python -m seq2seq join OUTPUT joins them"
_ERRORS = "what to do about input that is not UTF-8: stop at it, or put U+FFFD in its place; default: strict"
_BUFFER = "how long a line that comes through a pipe may wait for others to be translated with; default: 0.2"
_PREFIX = "begin translation n with line n of FILE, unless it is blank"
_TERMS = "a glossary: on each line a term, a tab and the words that must stand for it in the translation"
_REFERENCE = (
    "known translations: print BLEU and chrF with 95%% confidence intervals to stderr; with several files, line n "
    "of each is a reference for line n, unless it is blank"
)
_COMPARE = "with --reference: other translations of the same lines, compared with the new ones by paired bootstrap"
_TOKENIZE = "with --reference: tokens of BLEU, as sacreBLEU names them; default: those of the target language"
_SCORE = "translate nothing: write how probable the model finds each line of FILE as a translation"


@dataclass(frozen=True, kw_only=True)
class TranslationRequest:
    """What a call of translate.py asks for.

    Attributes:
        input_form: what the input is, a result of `forms.read.form_of`.
        terms: `run.py` puts the terms of the file into the options.
        form: how translations are written, see `result.written`.
    """

    models: Annotated[
        tuple[Path, ...],
        Option(_MODEL, "PATH", Path, flags=["--model"], is_list=True, is_required=True, is_common=True),
    ]
    is_quiet: Annotated[bool, Option("nothing on stderr but errors and scores", flags=["--quiet"])] = False
    input: Annotated[
        Path | None, _files("text to translate; default: stdin, which is also -", "FILE", source, is_common=True)
    ] = None
    input_form: Annotated[
        str, _files(_FORM, flags=["--form"], choices=FORMS, aliases={"--document": "document"}, is_common=True)
    ] = "lines"
    input_field: Annotated[str | None, _files(_FIELD, "NAME", flags=["--field"], is_common=True)] = None
    output: Annotated[Path | None, _files(_OUTPUT, "FILE", destination, is_common=True)] = None
    shard: Annotated[tuple[int, int] | None, _files(_SHARD, "I/N", share, needs="output", is_common=True)] = None
    errors: Annotated[str, _files(_ERRORS, choices=["strict", "replace"])] = "strict"
    buffer_s: Annotated[float, _text(_BUFFER, "SECONDS", not_negative, flags=["--buffer"])] = 0.2
    prefixes: Annotated[
        Path | None, _text(_PREFIX, "FILE", source, flags=["--prefix"], is_for_search=True, is_by_line=True)
    ] = None
    terms: Annotated[Path | None, _text(_TERMS, "FILE", source, is_for_search=True, is_common=True)] = None
    form: Annotated[
        str,
        Option(
            "one JSON object a line: source, hypotheses, scores, warnings",
            group="what is written",
            flags=["--json"],
            const="json",
            is_common=True,
            is_by_line=True,
        ),
    ] = "line"
    references: Annotated[
        tuple[Path, ...],
        _scores(
            _REFERENCE,
            "FILE",
            Path,
            flags=["--reference"],
            is_list=True,
            is_common=True,
            is_for_search=True,
            is_by_line=True,
        ),
    ] = ()
    compare: Annotated[Path | None, _scores(_COMPARE, "FILE", Path, needs="references")] = None
    tokenize: Annotated[str, _scores(_TOKENIZE, choices=TOKENIZERS, needs="references")] = AUTO
    score: Annotated[Path | None, _scores(_SCORE, "FILE", source, is_common=True, is_by_line=True)] = None
    settings: DecodingSettings = field(default_factory=DecodingSettings)
    options: TranslationOptions = field(default_factory=TranslationOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)

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

    def pieces(self, on_replaced: Callable[[int], None] | None = None) -> Iterator[Piece]:
        """The input in pieces, each with its texts.

        Args:
            on_replaced: called with the number of each line that is not UTF-8.
        Raises:
            TranslationError: the input does not have the form.
        """
        name = "stdin" if self.input is None else str(self.input)
        return read_pieces(self._read(on_replaced), name, self.input_form, self.input_field)

    def lines_of(self, path: Path) -> Iterator[str]:
        """The lines of one of `parallel_files`, or of the glossary."""
        return read_lines(to_read(path))

    def _read(self, on_replaced: Callable[[int], None] | None) -> Iterator[str]:
        file: Path | BinaryIO = sys.stdin.buffer
        if self.input is not None and open_descriptor(self.input) != 0:
            file = self.input
        elif self.is_live:  # Python cannot end while a thread waits for a line of sys.stdin
            file = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
        return read_lines(file, self.errors, on_replaced, is_exact=True)

    def parallel_files(self) -> list[tuple[str, Path]]:
        """Option and path of each file whose line n belongs to line n of the input."""
        files = [("--compare", self.compare), ("--prefix", self.prefixes), ("--score", self.score)]
        return [*(("--reference", path) for path in self.references), *((name, path) for name, path in files if path)]

    def files(self) -> list[tuple[str, Path]]:
        """Option and path of each file that is read, the model left out."""
        terms = [("--terms", self.terms)] if self.terms else []
        return [("--input", self.input or STDIN), *self.parallel_files(), *terms]


def check_inputs(request: TranslationRequest) -> list[tuple[str, Path]]:
    """Check that all inputs exist. Option and path of each one that is not stdin.

    Raises:
        TranslationError: an input does not exist, or two are stdin.
    """
    inputs = request.files()
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
        return sum(len(piece.texts) for piece in request.pieces()) if is_file else None
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


# --- the processes of this machine ---


@dataclass(frozen=True)
class Process:
    """This process among those of a job on this machine.

    Attributes:
        local_rank: its number, from 0.
        n_local: how many they are.
        n_local_cores: cores that they may use together.
    """

    local_rank: int
    n_local: int
    n_local_cores: int

    @property
    def n_cores(self) -> int:
        """Cores for this process. srun may have bound it to fewer than the machine has."""
        return max(1, min(n_cores(), self.n_local_cores // self.n_local))


def launched() -> Process | None:
    """This process, if torchrun or srun has started it as one of several.

    Raises:
        ConfigError: variables are missing or wrong that say which one it is.
    """
    if "WORLD_SIZE" in os.environ:  # before those of SLURM: torchrun may run in a job of it
        if (n_processes := _number("WORLD_SIZE")) == 1:
            return None
        n_local = _number("LOCAL_WORLD_SIZE") if "LOCAL_WORLD_SIZE" in os.environ else n_processes
        return Process(_number("LOCAL_RANK"), n_local, n_cores())
    if os.environ.get("SLURM_STEP_NUM_TASKS", "1") == "1":  # which only srun sets
        return None
    # In SLURM's short form, `2(x3),1` is 2, 2, 2, 1.
    nodes = re.findall(r"(\d+)(?:\(x(\d+)\))?", os.environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    n_tasks = [int(n_tasks) for n_tasks, n_nodes in nodes for _ in range(int(n_nodes or 1))]
    if (node := _number("SLURM_NODEID")) >= len(n_tasks):
        raise ConfigError("srun: SLURM_STEP_TASKS_PER_NODE does not say how many tasks this node has; start it by srun")
    cores = int(os.environ.get("SLURM_CPUS_ON_NODE", "0")) or n_cores()
    return Process(_number("SLURM_LOCALID"), n_tasks[node], cores)


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    if not text.isdecimal():
        raise ConfigError(
            f"{name}={text!r} does not say which of several processes this is; use torchrun or srun, or unset "
            f"{'WORLD_SIZE' if not name.startswith('SLURM') else 'SLURM_STEP_NUM_TASKS'}"
        )
    return int(text)


def check_shared(request: TranslationRequest, process: Process | None) -> None:
    """Refuse what several processes cannot share.

    Raises:
        TranslationError: see there.
    """
    if process is None and request.shard is None:
        return
    if process is not None and request.shard is not None:
        raise TranslationError("--shard is for tasks that run by themselves; leave it out under torchrun and srun")
    who = "several processes" if request.shard is None else "--shard"
    for option, path in request.files():
        if is_stream(path):
            raise TranslationError(
                f"{option} {path}: {who} cannot share a stream, since each reads all of it; give a file that all of "
                "them can read"
            )
    if request.output is None or is_stream(request.output):
        raise TranslationError(f"{who} need --output FILE, beside which the parts lie until they are joined")
    if request.references and request.shard is not None:
        raise TranslationError(
            "--reference scores the whole text, and --shard makes a part: leave it out, and score what is joined with "
            f"{command('join', request.output, '--reference', 'FILE')}"
        )
