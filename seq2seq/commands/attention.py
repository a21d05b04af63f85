"""Show where a model looks:  python -m seq2seq attention --model RUN_DIR --src "Un chat dort." --output page.html

A page to look around in, a picture for a paper, or numbers for a program.
"""

import argparse
from pathlib import Path

from seq2seq.inspection.attention_kinds import KINDS
from seq2seq.options import device, positive
from seq2seq.translation.streams import STDIN, source


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show where each layer and head of a model looks while it reads a sentence and writes its translation: "
        "encoder self-attention, decoder self-attention and cross-attention."
    )
    parser.epilog = "docs/attention.md says how to read what you see."
    add = parser.add_argument
    add(
        "--model",
        required=True,
        type=Path,
        metavar="PATH",
        help="run directory, checkpoint, model directory or wandb:ENTITY/PROJECT/NAME:ALIAS",
    )
    add("--src", action="append", default=[], metavar="TEXT", help="a sentence; repeat it for more")
    add(
        "--tgt",
        action="append",
        default=[],
        metavar="TEXT",
        help="its translation, one for each --src; default: the model's own",
    )
    add(
        "--input",
        type=source,
        metavar="FILE",
        help="a sentence on each line, in place of --src; default: stdin, which is also -",
    )
    add("--translations", type=source, metavar="FILE", help="the translation of each line of --input")
    add(
        "--output",
        required=True,
        type=Path,
        metavar="FILE",
        help="page.html for a browser; picture.png, .svg or .pdf; weights.npz for NumPy",
    )
    add("--tag", default="", metavar="NAME", help="the kind of text, if the model was trained with tags for it")
    add("--device", type=device, default="auto", metavar="DEVICE", help="auto, cpu, cuda, or one GPU as cuda:1")
    add("--precision", default="auto", help="type of matrix products: float32 or bfloat16; default: as translate")
    add = parser.add_argument_group("what a picture shows").add_argument
    add("--kind", choices=KINDS, default="cross", help="default: cross, from the translation to the source")
    add("--layer", type=positive, metavar="N", help="counted from 1; default: all")
    add("--head", type=positive, metavar="N", help="counted from 1; default: all")
    add("--pieces", action="store_true", help="between the pieces of the tokenizer; default: between words")


def run(args: argparse.Namespace) -> None:
    _check(args)
    from seq2seq.inspection.attention import AttentionRequest, look
    from seq2seq.inspection.attention_picture import Shown
    from seq2seq.translation.options import EngineOptions

    look(
        AttentionRequest(
            model=args.model,
            sources=args.src,
            targets=args.tgt,
            input=args.input or STDIN,
            translations=args.translations,
            output=args.output,
            shown=Shown(args.kind, args.layer, args.head, args.pieces),
            tag=args.tag,
            engine=EngineOptions(engine="torch", device=args.device, precision=args.precision, workers=1),
        )
    )
    print(args.output)


def _check(args: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    from seq2seq.errors import TranslationError

    if args.src and (args.input or args.translations):
        raise TranslationError("--src and --input both name sentences; give one of them, with --tgt or --translations")
    if args.tgt and not args.src:
        raise TranslationError("--tgt needs --src; for a file, give its translations with --translations")
