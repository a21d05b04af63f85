"""Make a page of a run, or of what differs between runs:  python -m seq2seq report RUN... --output report.html

It reads what runs leave in their directories. Every run makes the page of its own at its end, as `report.html`.
"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a page of a run, finished or not: one file for any browser. Of several finished runs, make a page of "
        "what differs between the first and each other one. Or draw how runs learned."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="directory of a run, or of a sweep")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="default: report.html in RUN; of several runs, diff.html here"
    )
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="draw the charts of a single run there, too, as PNG and SVG"
    )
    parser.add_argument(
        "--curve",
        type=Path,
        metavar="FILE",
        help="no page, but a picture of loss and BLEU over steps, seeds of one recipe in one band; .png, .svg or .pdf",
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.errors import RunError, printable
    from seq2seq.files import write_text
    from seq2seq.reports.analysed_run import AnalysedRun
    from seq2seq.reports.compare import runs_to_compare
    from seq2seq.reports.diff_page import diff_page
    from seq2seq.reports.learning_curve import draw
    from seq2seq.reports.pictures import write_pictures
    from seq2seq.reports.run_page import run_page
    from seq2seq.reports.style import FORMATS
    from seq2seq.translation.destination import check_file

    first, *others = runs_to_compare(args.runs)
    if args.curve:
        check_file(args.curve, [], "--curve", FORMATS)
        draw([first, *others], args.curve)
        print(printable(str(args.curve)))
        return
    if others and args.pictures:
        raise RunError(f"--pictures draws the charts of one run, and {len(others) + 1} are named; name one")
    output = args.output or (Path("diff.html") if others else first.report_file)
    if output.resolve() != first.report_file.resolve():
        check_file(output, [])
    analysed = [AnalysedRun.read(run) for run in (first, *others)]
    write_text(output, diff_page(analysed) if others else run_page(analysed[0]))
    if args.pictures:
        write_pictures(analysed[0], args.pictures)
    print(printable(str(output)))
