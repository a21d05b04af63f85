"""Ask whether a model prefers right translations to wrong ones:  python -m seq2seq contrast FILE --model RUN"""

import argparse
from pathlib import Path

from seq2seq.options import device, not_negative_integer


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "For each line of a file, say by how many nats a model finds the right translation more probable than a wrong "
        "one, and whether a word is nearer to what it refers to. data/contrast has a file on what 'it' refers to."
    )
    add = parser.add_argument
    add(
        "contrasts",
        type=Path,
        metavar="FILE",
        help="source, right and wrong translation, with tabs between; maybe also a word, what it refers to, what not",
    )
    add("--model", type=Path, required=True, metavar="PATH", help="run directory, checkpoint or model directory")
    add("--layer", type=not_negative_integer, metavar="N", help="of the vectors, from 1; default: the last one")
    add("--device", type=device, default="auto", metavar="DEVICE", help="auto, cpu, cuda, or one GPU as cuda:1")
    add("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> None:
    import dataclasses
    import json

    from seq2seq.hardware import speed_up_cpu
    from seq2seq.inspection.contrast import contrasts_as_text, judge, read_contrasts
    from seq2seq.translation.options import EngineOptions
    from seq2seq.translation.translator import Translator

    contrasts = read_contrasts(args.contrasts)
    speed_up_cpu()
    with Translator.load([args.model], EngineOptions(engine="torch", device=args.device)) as translator:
        judged = judge(translator, contrasts, args.layer)
    if args.format == "json":
        print(json.dumps([dataclasses.asdict(each) for each in judged], indent=2, ensure_ascii=False))
    else:
        print(contrasts_as_text(judged))
