"""Make vectors of sentences or words in context:  python -m seq2seq encode --model RUN < text > vectors.npz

They come from the model's encoder. It can also draw them, or find the words that are nearest to one.
"""

import argparse
from pathlib import Path

from seq2seq.options import device, not_negative_integer, positive
from seq2seq.translation.streams import STDIN, STDOUT, destination, source


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make vectors of lines of text: what the encoder of a model makes of each sentence, word or piece in its "
        "context. A blank line has a row of zeros as a sentence, and no words."
    )
    parser.epilog = "docs/attention.md has examples."
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="PATH", help="run directory, checkpoint or model directory")
    add("--input", type=source, default=STDIN, metavar="FILE", help="a sentence on each line; default: stdin")
    add(
        "--output",
        type=destination,
        metavar="FILE",
        help="vectors.npz, or vectors.npy for a row for each line and nothing else; default: an .npz on stdout",
    )
    add("--unit", choices=("sentence", "word", "piece"), help="what a row is; default: sentence, for --word word")
    add("--pool", choices=("mean", "max"), default="mean", help="how pieces become one row; default: mean")
    add("--layer", type=not_negative_integer, metavar="N", help="from 1; 0: the embeddings; default: the last one")
    add("--tag", default="", metavar="NAME", help="the kind of text, if the model was trained with tags for it")
    add("--float16", action="store_true", help="write half as many bytes, with three digits")
    add("--device", type=device, default="auto", metavar="DEVICE", help="auto, cpu, cuda, or one GPU as cuda:1")
    add("--precision", default="auto", help="type of matrix products: float32 or bfloat16; default: as translate")
    add = parser.add_argument_group("instead of a file of vectors").add_argument
    add("--picture", type=Path, metavar="FILE", help="draw them in two dimensions: .png, .svg or .pdf")
    add("--word", default="", metavar="WORD", help="draw only this word, in all its places; or see --nearest")
    add(
        "--nearest",
        metavar="SENTENCE",
        help="print the words of the input that are nearest to --word in this sentence, by the cosine of their vectors",
    )
    add("--neighbours", type=positive, default=10, metavar="N", help="how many --nearest prints; default: 10")


def run(args: argparse.Namespace) -> None:
    unit = _checked_unit(args)
    from seq2seq.exit_status import note
    from seq2seq.inspection.encoding import EncodeRequest, around, draw, encode_to_file, neighbours
    from seq2seq.inspection.vectors import VectorOptions
    from seq2seq.translation.options import EngineOptions

    request = EncodeRequest(
        model=args.model,
        input=args.input,
        options=VectorOptions(unit=unit, pool=args.pool, layer=args.layer, tag=args.tag),
        engine=EngineOptions(engine="torch", device=args.device, precision=args.precision, workers=1),
    )
    if args.picture:
        n_points = draw(request, args.word, args.picture)
        print(f"{args.picture}: {n_points:,} points")
    elif args.nearest is not None:
        for near in neighbours(request, args.nearest, args.word, args.neighbours):
            print(f"{near.cosine:.3f}  line {near.line + 1}: {around(near.text, near.place)}")
    else:
        output = None if args.output == STDOUT else args.output
        n_rows = encode_to_file(request, output, "float16" if args.float16 else "float32")
        note(f"{n_rows:,} vectors")


def _checked_unit(args: argparse.Namespace) -> str:
    """The unit, if the options make sense together."""
    from seq2seq.errors import TranslationError

    if sum(each is not None for each in (args.output, args.picture, args.nearest)) > 1:
        raise TranslationError("--output, --picture and --nearest are three results; ask for one")
    if args.nearest is not None and not args.word.split():
        raise TranslationError("--nearest needs --word: whose neighbours in that sentence")
    if args.word and args.picture is None and args.nearest is None:
        raise TranslationError("--word is for --picture and --nearest; leave it out")
    if args.word and (len(args.word.split()) > 1 or args.unit not in (None, "word")):
        raise TranslationError("--word is one word, and goes with --unit word only")
    unit: str = "word" if args.word else args.unit or "sentence"
    return unit
