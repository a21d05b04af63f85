"""Write the good pairs of a corpus:  python -m seq2seq corpus clean train --languages fr en --output clean

Nothing is dropped in silence: the report counts the reasons, and --rejected keeps the pairs.
"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write the good pairs of a corpus, and say what was dropped and why. docs/cleaning.md has the rules."
    )
    add_common_options(parser, rules=["default"], drop_overlap="exact")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="PREFIX", help="writes PREFIX.LANG for both sides"
    )
    parser.add_argument(
        "--rejected", type=Path, metavar="FILE", help="keep what is dropped, with reasons, as JSON lines"
    )


def run(args: argparse.Namespace) -> None:
    clean_and_report(args, output=args.output, rejected=args.rejected)


def add_common_options(parser: argparse.ArgumentParser, rules: list[str], drop_overlap: str) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="a prefix of two files, a .tsv, .csv, .jsonl, .tmx, .xliff or .po, a corpus by name, or two aligned files",
    )
    add(
        "--languages",
        nargs="+",
        required=True,
        metavar="LANG",
        help="languages of the two sides, or of the columns of a table ('-' skips one)",
    )
    add(
        "--rules",
        nargs="+",
        default=rules,
        metavar="RULE",
        help=f"default, all, none, names of rules, or no_NAME to leave one out; default: {' '.join(rules)}",
    )
    add(
        "--set",
        nargs="+",
        default=[],
        metavar="RULE=N",
        help="drop a pair if what the rule measures is above N, instead of the rule's default",
    )
    add("--repair", action="store_true", help="first mend wrong encodings, escapes and tags of HTML, soft hyphens")
    add("--keep-duplicates", action="store_true", help="keep exact repetitions of a pair")
    add(
        "--against",
        nargs="+",
        default=[],
        metavar="FILE",
        help="valid and test, each a prefix, a table or a name; two plain files are the two sides of one",
    )
    add(
        "--drop-overlap",
        choices=("off", "exact", "near"),
        default=drop_overlap,
        help=f"drop pairs that --against has; default: {drop_overlap}",
    )
    add(
        "--score",
        nargs=2,
        metavar=("MODEL_FWD", "MODEL_BWD"),
        help="score pairs with a model of each direction, by dual cross-entropy",
    )
    add("--least-score", type=float, metavar="X", help="drop pairs with a lower score, from 0 to 1")
    add("--keep-share", type=float, metavar="SHARE", help="keep the share of pairs with the best scores")
    add("--html", type=Path, metavar="FILE", help="write the report as a page")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON")


def clean_and_report(args: argparse.Namespace, output: Path | None, rejected: Path | None) -> None:
    """Do the work, and print the report."""
    import shutil

    from seq2seq.config.clean import clean_config
    from seq2seq.corpus.cleaning.files import CleaningOptions, clean_files, output_files
    from seq2seq.corpus.sources import config_of
    from seq2seq.errors import ConfigError
    from seq2seq.files import write_json, write_text
    from seq2seq.reports.cleaning_report import cleaning_page, cleaning_text
    from seq2seq.translation.destination import check_file

    if args.score is None and (args.least_score is not None or args.keep_share is not None):
        raise ConfigError("--least-score and --keep-share need the scores of models; add --score MODEL_FWD MODEL_BWD")
    if args.least_score is not None and not 0 <= args.least_score <= 1:
        raise ConfigError(f"--least-score {args.least_score:g} is no score; choose a number from 0 to 1")
    config = config_of(args.languages)
    sides = (config.src_lang, config.tgt_lang)
    texts = (*args.files, *args.against)
    names = [*texts, *(f"{text}.{side}" for text in texts for side in sides)]  # of files, and of prefixes
    used = [(name, Path(name)) for name in names]
    written: list[tuple[str, Path | None]] = [("--output", path) for path in output_files(output, config)]
    for option, path in [*written, ("--rejected", rejected), ("--json", args.json), ("--html", args.html)]:
        if path is not None:
            check_file(path, used, option)
            used.append((option, path))
    options = CleaningOptions(
        files=tuple(args.files),
        languages=tuple(args.languages),
        clean=clean_config(args.rules, args.set),
        against=tuple(args.against),
        drop_overlap=args.drop_overlap,
        drop_duplicates=not args.keep_duplicates,
        repair=args.repair,
        output=output,
        rejected=rejected,
        least_score=args.least_score,
        keep_share=args.keep_share,
    )
    if args.score is None:
        report = clean_files(options)
    else:
        from seq2seq.inspection.dual_scores import dual_scores

        forward, backward = args.score
        with dual_scores(forward, backward, sides) as score:
            report = clean_files(options, score)
    print(cleaning_text(report, shutil.get_terminal_size().columns))
    if args.json is not None:
        write_json(args.json, report)
    if args.html is not None:
        write_text(args.html, cleaning_page(report))
