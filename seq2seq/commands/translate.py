"""Translate text, a line for each line:  python translate.py --model RUN_DIR < input.fr > output.en

Results go to stdout or --output, everything else to stderr.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import TranslationError, UserError
from seq2seq.option_values import above_zero, device, not_negative, not_negative_integer, positive, probability, shard
from seq2seq.translation.descriptors import destination, open_descriptor, source
from seq2seq.translation.engines.options import ATTENTIONS, ENGINES
from seq2seq.translation.forms.read import FORMS, form_of
from seq2seq.translation.normalizations import KINDS as NORMALIZATIONS
from seq2seq.translation.text.kept import KINDS
from seq2seq.translation.text.splitting import SPLITS
from seq2seq.translation.text.typography import TYPOGRAPHIES

if TYPE_CHECKING:
    from seq2seq.translation.request import TranslationRequest

# Options that have the same name in `DecodingConfig`.
_SETTINGS = (
    *("beam_size", "normalization", "alpha", "patience", "no_repeat_ngram", "repetition_penalty"),
    *("temperature", "top_k", "top_p", "seed", "max_batch_tokens"),
)

_NEEDS = {
    "compare": "reference",
    "shard": "output",
    "token_scores": "json",
}
_NOT_WITH_SCORE = (
    *("reference", "prefix", "split", "n_best", "alignment", "typography", "sample", "mbr", "keep", "terms"),
    *("beam_size", "max_length", "min_length", "no_repeat_ngram", "repetition_penalty"),
)

# What a message calls a configuration key or a Python argument, when a command line is at fault.
_OPTION_OF = {
    **{name: f"--{name.replace('_', '-')}" for name in _SETTINGS},
    "normalization": "--length-normalization",
    "n_best": "--n-best",
    "sampling": "--sample",
    "max_length_a": "--max-length A B with A",
    "max_length_b": "--max-length A B with B",
    "min_length_a": "--min-length A B with A",
    "min_length_b": "--min-length A B with B",
    **{
        name: f"--{name}"
        for name in ("attention", "device", "engine", "precision", "tag", "threads", "typography", "workers")
    },
    **{name: f"--{name}" for name in ("mbr", "normalize", "split", "weights")},
}
_KEY = re.compile(rf"(?<![\w.])(?:decoding\.)?({'|'.join(_OPTION_OF)})=")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Translate text with a trained model: a line for each line, a document for a document."
    parser.epilog = (
        "Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8. The search has the "
        "settings of the model's validation, unless you give others. Lines of more sentences than those in training "
        "are split, and joined again."
    )
    add = parser.add_argument
    add(
        "--model",
        required=True,
        nargs="+",
        type=Path,
        metavar="PATH",
        help="run directory, checkpoint, model directory or wandb:ENTITY/PROJECT/NAME:ALIAS; several are an ensemble: "
        "their probabilities are averaged",
    )
    add(
        "--weights",
        type=above_zero,
        nargs="+",
        metavar="W",
        help="how much each model of an ensemble counts, one number for each; default: all the same",
    )
    add(
        "--attention",
        choices=ATTENTIONS,
        help="hard: each head attends to the one token that it weighs most; soft: to all; default: as in training",
    )
    add("--quiet", action="store_true", help="nothing on stderr but errors and scores")
    _add_files(parser.add_argument_group("files").add_argument)
    _add_text(parser.add_argument_group("text").add_argument)
    _add_records(parser.add_argument_group("what is written").add_argument)
    _add_scores(parser.add_argument_group("scores").add_argument)
    _add_search(parser.add_argument_group("search").add_argument)
    _add_machine(parser.add_argument_group("speed").add_argument)


def run(args: argparse.Namespace) -> None:
    _check(args)
    from seq2seq.translation.run import translate

    try:
        translate(request_of(args))
    except UserError as error:
        error.args = (in_options(str(error)),)
        raise


def in_options(message: str) -> str:
    """A message with the options of this command in place of configuration keys: `--beam-size=0` is below 1."""
    return _KEY.sub(lambda match: f"{_OPTION_OF[match[1]]}=", message).replace("--sample=true", "--sample")


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
        input=None if open_descriptor(args.input) == 0 else args.input,
        input_form=form_of(args.form, args.field, args.input),
        input_field=args.field,
        output=None if open_descriptor(args.output) == 1 else args.output,
        errors=args.errors,
        prefixes=args.prefix,
        buffer_s=args.buffer,
        form="json" if args.json else "n-best" if args.n_best is not None else "line",
        settings=DecodingSettings(**settings),  # type: ignore[typeddict-item]
        options=TranslationOptions(
            tag=args.tag,
            token_scores=args.token_scores,
            alignment=args.alignment,
            typography=args.typography or "",
            split=args.split or "auto",
            normalize=args.normalize,
            mbr=args.mbr or 0,
            keep=args.keep or (),
        ),
        terms=args.terms,
        engine=EngineOptions(
            engine=args.engine,
            device=args.device,
            precision=args.precision,
            threads=args.threads,
            workers=args.workers,
            attention=args.attention or "",
            weights=tuple(args.weights or ()),
            max_batch_tokens=args.max_batch_tokens or 0,
        ),
        references=tuple(args.reference or ()),
        compare=args.compare,
        score=args.score,
        shard=args.shard,
        is_quiet=args.quiet,
    )


def _check(args: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    for option, needed in _NEEDS.items():
        if getattr(args, option) and not getattr(args, needed):
            raise TranslationError(f"--{option.replace('_', '-')} needs --{needed.replace('_', '-')}")
    for option in ("temperature", "top_k", "top_p", "seed"):
        if getattr(args, option) is not None and not args.sample:
            raise TranslationError(f"--{option.replace('_', '-')} needs --sample")
    _check_form(args)
    if args.score is None:
        return
    for option in _NOT_WITH_SCORE:
        if getattr(args, option) is not None and getattr(args, option) is not False:  # 0 is a value
            raise TranslationError(
                f"--{option.replace('_', '-')} has no meaning with --score, which translates nothing"
            )


def _check_form(args: argparse.Namespace) -> None:
    """Refuse what is written or read line by line, if the input is in another form."""
    if form_of(args.form, args.field, args.input) == "lines":
        return
    for option in ("json", "n_best", "alignment", "prefix", "score", "reference"):
        if getattr(args, option):
            raise TranslationError(
                f"--{option.replace('_', '-')} needs one text a line; leave it out, or translate line by line with "
                "--form lines"
            )


def _add_files(add: Callable[..., Any]) -> None:
    add("--input", type=source, metavar="FILE", help="text to translate; default: stdin, which is also -")
    add(
        "--form",
        choices=FORMS,
        default="auto",
        help="what the input is, and so the output: one text a line, paragraphs, subtitles or a table; default: by the "
        "name of --input (.srt, .vtt), else lines",
    )
    add("--document", dest="form", action="store_const", const="document", help="the same as --form document")
    add(
        "--field",
        metavar="NAME",
        help="translate only this column of TSV, a number from 1, or this key of JSON Lines, as text or message.text",
    )
    add(
        "--output",
        type=destination,
        metavar="FILE",
        help="the translations; FILE appears when it is complete, until then they are in FILE.parts; default: "
        "stdout, which is also -",
    )
    add(
        "--shard",
        type=shard,
        metavar="I/N",
        help="translate only the I-th of N shares of --input, I from 1; python -m seq2seq join OUTPUT joins them",
    )
    add(
        "--errors",
        choices=("strict", "replace"),
        default="strict",
        help="what to do about input that is not UTF-8: stop at it, or put U+FFFD in its place; default: strict",
    )


def _add_text(add: Callable[..., Any]) -> None:
    add(
        "--split",
        choices=SPLITS,
        help="translate the sentences of a line one by one: if training had fewer on a line (auto, the default), "
        "always, or never; a line that is too long for the model is always split",
    )
    add(
        "--normalize",
        default="auto",
        metavar="KINDS",
        help="what is read as training had it, and given back: auto (what the model was not trained for, the default), "
        f"never, always, or some of {','.join(NORMALIZATIONS)}",
    )
    add(
        "--buffer",
        type=not_negative,
        default=0.2,
        metavar="SECONDS",
        help="how long a line that comes through a pipe may wait for others to be translated with; default: 0.2",
    )
    add("--prefix", type=source, metavar="FILE", help="begin translation n with line n of FILE, unless it is blank")
    add(
        "--keep",
        type=_kinds,
        metavar="KINDS",
        help=f"what comes through unchanged: all, or some of {','.join(KINDS)}",
    )
    add(
        "--terms",
        type=source,
        metavar="FILE",
        help="a glossary: on each line a term, a tab and the words that must stand for it in the translation",
    )
    add("--tag", default="", metavar="NAME", help="the kind of text, if the model was trained with tags for it")


def _add_records(add: Callable[..., Any]) -> None:
    add("--json", action="store_true", help="one JSON object a line: source, hypotheses, scores, warnings")
    add(
        "--n-best",
        "--nbest",
        type=positive,
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
        type=source,
        metavar="FILE",
        help="translate nothing: write how probable the model finds each line of FILE as a translation",
    )


def _add_search(add: Callable[..., Any]) -> None:
    add("--beam-size", type=positive, metavar="N", help="hypotheses kept at each step; 1 is greedy")
    add(
        "--length-normalization",
        dest="normalization",
        choices=("none", "length", "gnmt"),
        help="divide log-probabilities by 1, n^ALPHA or ((5 + n) / 6)^ALPHA, where n is the number of tokens",
    )
    add("--alpha", type=not_negative, metavar="ALPHA", help="higher values favour longer translations")
    add(
        "--patience",
        type=above_zero,
        metavar="P",
        help="with CTranslate2: a beam stops when P x beam size translations have ended; PyTorch's stops when none can "
        "get better",
    )
    add("--max-length", type=not_negative, nargs=2, metavar=("A", "B"), help="at most A x source tokens + B tokens")
    add("--min-length", type=not_negative, nargs=2, metavar=("A", "B"), help="at least A x source tokens + B tokens")
    add(
        "--no-repeat-ngram",
        type=not_negative_integer,
        metavar="N",
        help="no sequence of N tokens comes twice in a translation; 0: any may",
    )
    add("--repetition-penalty", type=above_zero, metavar="P", help="above 1: discourages tokens that came before")
    add(
        "--mbr",
        type=positive,
        metavar="N",
        help="find N translations, and choose the one that is most like the others by chrF (minimum Bayes risk)",
    )
    add("--sample", action="store_true", help="draw tokens at random in place of a search; --n-best draws several")
    add("--temperature", type=above_zero, metavar="T", help="with --sample: below 1 is less random")
    add("--top-k", type=positive, metavar="K", help="with --sample: only from the K most probable tokens")
    add("--top-p", type=probability, metavar="P", help="with --sample: only from the fewest tokens that reach P")
    add("--seed", type=not_negative_integer, metavar="N", help="with --sample: the same seed gives the same text")


def _add_machine(add: Callable[..., Any]) -> None:
    add(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="default: torch if the model has weights for it",
    )
    add(
        "--max-batch-tokens",
        type=positive,
        metavar="N",
        help="size of a batch: lines x tokens of the longest x beam size; lower it if memory runs out; "
        "default: 8192, or 3072 with CTranslate2",
    )
    add(
        "--device",
        type=device,
        default="auto",
        metavar="DEVICE",
        help="auto, cpu, cuda, or one GPU as cuda:1; several need a process each; default: a GPU if there is one",
    )
    add(
        "--precision",
        default="auto",
        help="type of matrix products: float32, bfloat16, with CTranslate2 also int8 and others; default: bfloat16 if "
        "the hardware has it; with CTranslate2, the type of the stored weights",
    )
    add("--threads", type=positive, default=0, metavar="N", help="CPU threads in all; default: one for each core")
    add(
        "--workers",
        type=positive,
        default=0,
        metavar="N",
        help="batches that are translated at the same time; default: on a CPU one for each thread",
    )


def _kinds(text: str) -> tuple[str, ...]:
    kinds = KINDS if text == "all" else tuple(text.split(","))
    if not set(kinds) <= set(KINDS):
        raise ValueError
    return kinds


_kinds.__name__ = f"kinds (all, or some of {', '.join(KINDS)})"  # which argparse shows
