"""Say which attention head does what:  python -m seq2seq heads --model RUN --output heads.json heads.png

The figures are means over a test set; docs/attention.md says what they tell.
"""

import argparse
import shutil
from pathlib import Path

from seq2seq.options import device, not_negative_integer, positive

_ABLATION = 200


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "For each head of each kind of attention: how many tokens it looks at, how far, and at what; which head of the "
        "cross-attention aligns words best; and with --ablation, what translations lose without each head and layer."
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="PATH", help="run directory, checkpoint or model directory")
    add("--test", default="", metavar="NAME", help="a test set of the run; default: its first one")
    add("--src", type=Path, metavar="FILE", help="other text: sources, one a line")
    add("--tgt", type=Path, metavar="FILE", help="their translations, one a line")
    add(
        "--tag",
        default="",
        metavar="NAME",
        help="the kind of text, for a model with tags; default: that of the test set",
    )
    add(
        "--sentences",
        type=not_negative_integer,
        default=1000,
        metavar="N",
        help="how many are looked at, spread over the text; 0: all; default: 1000",
    )
    add(
        "--ablation",
        nargs="?",
        type=positive,
        const=_ABLATION,
        default=0,
        metavar="N",
        help=f"translate N of them without each head and layer, one at a time; N is {_ABLATION} if left out",
    )
    add(
        "--links",
        type=Path,
        metavar="FILE",
        help="reference alignments of all lines, such as 0-0 1-2 (3?4 if unsure); default: IBM model 1 makes them",
    )
    add("--device", type=device, default="auto", metavar="NAME", help="auto, cpu or cuda; default: auto")
    add(
        "--output",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="where to write it, too: .json for all numbers, .png, .svg or .pdf for a picture",
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.errors import ConfigError
    from seq2seq.exit_status import progress
    from seq2seq.files import write_json
    from seq2seq.inspection.head_forms import heads_as_text
    from seq2seq.inspection.head_picture import draw_heads
    from seq2seq.inspection.head_study import HeadRequest, study_heads
    from seq2seq.reports.style import FORMATS
    from seq2seq.translation.destination import check_file

    if (args.src is None) != (args.tgt is None):
        raise ConfigError("--src and --tgt belong together; give both, or neither for a test set of the run")
    for file in args.output:
        read = {"--src": args.src, "--tgt": args.tgt, "--links": args.links, "--model": args.model}
        check_file(file, [(option, path) for option, path in read.items() if path], endings=("json", *FORMATS))
    request = HeadRequest(
        model=args.model,
        files=(args.src, args.tgt) if args.src else None,
        test=args.test,
        tag=args.tag,
        n_sentences=args.sentences,
        ablation=args.ablation,
        links=args.links,
        device=args.device,
    )
    with progress() as tell:
        report = study_heads(request, tell)
    for file in args.output:
        if file.suffix.lower() == ".json":
            write_json(file, report.as_json())
        else:
            draw_heads(report, file)
    print(heads_as_text(report, shutil.get_terminal_size().columns))
