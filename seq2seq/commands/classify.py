"""Say which label a text has, a line for each line:  python -m seq2seq classify --model RUN < text > labels

Results go to stdout or --output, everything else to stderr. `python train.py experiment=classify` trains a classifier.
"""

import argparse
from pathlib import Path

from seq2seq.option_values import positive


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Classify text with a trained classifier: a label for each line, and nothing for a blank one."
    parser.epilog = "Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8."
    add = parser.add_argument
    add(
        "--model",
        required=True,
        type=Path,
        metavar="PATH",
        help="run directory, checkpoint, model directory or wandb:ENTITY/PROJECT/NAME:ALIAS",
    )
    add("--input", type=Path, metavar="FILE", help="text to classify; default: stdin")
    add("--output", type=Path, metavar="FILE", help="the labels; FILE appears when it is complete; default: stdout")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--scores", action="store_true", help="write LABEL, a tab and its probability")
    form.add_argument("--json", action="store_true", help="one JSON object a line: text, label, probabilities")
    add("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto", help="default: a GPU if there is one")
    add(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="type of matrix products; default: bfloat16 if the hardware has it",
    )
    add("--threads", type=positive, default=0, metavar="N", help="CPU threads; default: torch decides")


def run(args: argparse.Namespace) -> None:
    from seq2seq.classification.lines import classify_lines
    from seq2seq.classification.text_classifier import TextClassifier

    classifier = TextClassifier.load(args.model, device=args.device, precision=args.precision, threads=args.threads)
    form = "json" if args.json else "scores" if args.scores else "labels"
    classify_lines(classifier, args.input, args.output, form)
