"""Translate text, a line for each line:  python translate.py --model RUN_DIR < input.fr > output.en

Results go to stdout or --output, everything else to stderr.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import TranslationError
from seq2seq.translation.engines.options import ENGINES
from seq2seq.translation.text.typography import TYPOGRAPHIES

if TYPE_CHECKING:
    from seq2seq.translation.request import TranslationRequest

# Options that have the same name in `DecodingConfig`.
_SETTINGS = (
    "beam_size",
    "normalization",
    "alpha",
    "no_repeat_ngram",
    "repetition_penalty",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "max_batch_tokens",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Translate text with a trained model: one line out for each line in, blank lines included."
    parser.epilog = (
        "Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8. The search has the "
        "settings of the model's validation, unless you give others. Lines longer than those in training are split "
        "into sentences, and a warning says so."
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
    _add_files(parser.add_argument_group("files").add_argument)
    _add_records(parser.add_argument_group("what is written").add_argument)
    _add_scores(parser.add_argument_group("scores").add_argument)
    _add_search(parser.add_argument_group("search").add_argument)
    _add_machine(parser.add_argument_group("speed").add_argument)


def run(args: argparse.Namespace) -> None:
    _check(args)
    from seq2seq.translation.run import translate

    translate(request_of(args))


def request_of(args: argparse.Namespace) -> "TranslationRequest":
    """The request that the options describe."""
    from seq2seq.translation.engines.options import EngineOptions
    from seq2seq.translation.options import DecodingSettings, TranslationOptions
    from seq2seq.translation.request import TranslationRequest

    settings = {name: getattr(args, name) for name in _SETTINGS if getattr(args, name) is not None}
    settings |= {"n_best": args.n_best or 1, "sampling": args.sample}
    for name in ("max_length", "min_length"):
        if (limits := getattr(args, name)) is not None:
            settings |= {f"{name}_a": limits[0], f"{name}_b": round(limits[1])}
    return TranslationRequest(
        models=tuple(args.model),
        input=args.input,
        output=args.output,
        resume=args.resume,
        errors=args.errors,
        prefixes=args.prefix,
        form="json" if args.json else "n-best" if args.n_best is not None else "line",
        settings=DecodingSettings(**settings),  # type: ignore[typeddict-item]
        options=TranslationOptions(
            tag=args.tag, token_scores=args.token_scores, alignment=args.alignment, typography=args.typography or ""
        ),
        engine=EngineOptions(
            engine=args.engine,
            device=args.device,
            precision=args.precision,
            threads=args.threads,
            workers=args.workers,
        ),
        references=tuple(args.reference or ()),
        compare=args.compare,
        score=args.score,
        is_quiet=args.quiet,
    )


def _check(args: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
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


def _add_files(add: Callable[..., Any]) -> None:
    add("--input", type=Path, metavar="FILE", help="text to translate; default: stdin")
    add(
        "--output",
        type=Path,
        metavar="FILE",
        help="the translations; FILE appears when it is complete, until then they are in FILE.partial; default: stdout",
    )
    add("--resume", action="store_true", help="go on with an interrupted translation into --output")
    add(
        "--errors",
        choices=("strict", "replace"),
        default="strict",
        help="what to do about input that is not UTF-8: stop at it, or put U+FFFD in its place; default: strict",
    )
    add("--prefix", type=Path, metavar="FILE", help="begin translation n with line n of FILE, unless it is blank")
    add("--tag", default="", metavar="NAME", help="the kind of text, if the model was trained with tags for it")


def _add_records(add: Callable[..., Any]) -> None:
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
        help="append which source word each word comes from, after ' ||| ' as 0-0 1-2; with --json also attention",
    )
    add("--typography", choices=tuple(TYPOGRAPHIES), help="restore French spacing, quotation marks and apostrophes")


def _add_scores(add: Callable[..., Any]) -> None:
    add(
        "--reference",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="known translations: print BLEU, chrF and TER with 95%% confidence intervals to stderr; with several "
        "files, line n of each is a reference for line n, unless it is blank",
    )
    add(
        "--compare",
        type=Path,
        metavar="FILE",
        help="with --reference: other translations of the same lines, compared with the new ones by paired bootstrap",
    )
    add(
        "--score",
        type=Path,
        metavar="FILE",
        help="translate nothing: write how probable the model finds each line of FILE as a translation",
    )


def _add_search(add: Callable[..., Any]) -> None:
    add("--beam-size", type=_positive, metavar="N", help="hypotheses kept at each step; 1 is greedy")
    add(
        "--length-normalization",
        dest="normalization",
        choices=("none", "length", "gnmt"),
        help="divide log-probabilities by 1, n^ALPHA or ((5 + n) / 6)^ALPHA, where n is the number of tokens",
    )
    add("--alpha", type=_not_negative, metavar="ALPHA", help="higher values favour longer translations")
    add("--max-length", type=_not_negative, nargs=2, metavar=("A", "B"), help="at most A x source tokens + B tokens")
    add("--min-length", type=_not_negative, nargs=2, metavar=("A", "B"), help="at least A x source tokens + B tokens")
    add("--no-repeat-ngram", type=_positive, metavar="N", help="no sequence of N tokens comes twice in a translation")
    add("--repetition-penalty", type=_above_zero, metavar="P", help="above 1: discourages tokens that came before")
    add("--sample", action="store_true", help="draw tokens at random in place of a search; --n-best draws several")
    add("--temperature", type=_above_zero, metavar="T", help="with --sample: below 1 is less random")
    add("--top-k", type=_positive, metavar="K", help="with --sample: only from the K most probable tokens")
    add("--top-p", type=_probability, metavar="P", help="with --sample: only from the fewest tokens that reach P")
    add("--seed", type=_not_negative_integer, metavar="N", help="with --sample: the same seed gives the same text")


def _add_machine(add: Callable[..., Any]) -> None:
    add(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="default: torch if the model has weights for it",
    )
    add(
        "--max-batch-tokens",
        type=_positive,
        metavar="N",
        help="size of a batch: lines x tokens of the longest x beam size; lower it if memory runs out; "
        "default: 8192, or 3072 with CTranslate2",
    )
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one")
    add(
        "--precision",
        default="auto",
        help="type of matrix products: float32, bfloat16, with CTranslate2 also int8 and others; default: bfloat16 if "
        "the hardware has it; with CTranslate2, the type of the stored weights",
    )
    add("--threads", type=_positive, default=0, metavar="N", help="CPU threads in all; default: one for each core")
    add(
        "--workers",
        type=_positive,
        default=0,
        metavar="N",
        help="batches that are translated at the same time; default: on a CPU one for each thread",
    )


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


# argparse shows these names: "invalid positive number value: '0'"
_positive.__name__ = "positive number"
_not_negative_integer.__name__ = "whole number of at least 0"
_not_negative.__name__ = "number of at least 0"
_above_zero.__name__ = "number above 0"
_probability.__name__ = "number above 0 and up to 1"
