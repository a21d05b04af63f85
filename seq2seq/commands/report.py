"""Make a page of a run, or of what differs between runs:  python -m seq2seq report RUN_DIR... --output report.html

It reads what runs leave in their directories. Every run makes the page of its own at its end, as `report.html`.
"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a page of a run, finished or not: one file for any browser. Of several finished runs, make a page of "
        "what differs between the first and each other one."
    )
    parser.add_argument("run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="directory of a run")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="default: report.html in RUN_DIR; of several runs, diff.html here"
    )
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="draw the charts of a single run there, too, as PNG and SVG"
    )


def run(args: argparse.Namespace) -> None:
    from seq2seq.artifacts.run_directory import RunDirectory
    from seq2seq.errors import RunError
    from seq2seq.files import write_text
    from seq2seq.reports.analysed_run import AnalysedRun
    from seq2seq.reports.diff_page import diff_page
    from seq2seq.reports.pictures import write_pictures
    from seq2seq.reports.run_page import run_page
    from seq2seq.translation.destination import check_file

    first, *others = [RunDirectory(path) for path in args.run_dirs]
    if others and args.pictures:
        raise RunError(f"--pictures draws the charts of one run, and {len(others) + 1} are named; name one")
    output = args.output or (Path("diff.html") if others else first.report_file)
    if output.resolve() != first.report_file.resolve():
        check_file(output, [])
    analysed = [AnalysedRun.read(run) for run in (first, *others)]
    write_text(output, diff_page(analysed) if others else run_page(analysed[0]))
    if args.pictures:
        write_pictures(analysed[0], args.pictures)
    print(output)
