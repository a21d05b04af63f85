"""Cut a corpus into train, valid and test:  python -m seq2seq corpus split fra-eng.tsv --languages en fr --output D"""

import argparse
from pathlib import Path

from seq2seq.corpus.split_options import SplitOptions


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Cut a corpus into train, valid and test, so that no sentence of valid or test is in train."
    parser.epilog = (
        "Two pairs are in one group if their sources or their targets differ in nothing but case, punctuation and "
        "spaces. So are all pairs that a chain of such pairs connects. Valid and test are groups drawn at random. The "
        "same text and seed give the same files."
    )
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="a prefix of two files, a .tsv, .csv, .jsonl, .tmx, .xliff or .po, the name of a corpus, or two aligned "
        "files; also compressed",
    )
    add(
        "--languages",
        nargs="+",
        required=True,
        metavar="LANG",
        help="the two languages, or those of the columns of a .tsv or .csv, where '-' skips one",
    )
    add("--output", type=Path, required=True, metavar="DIR", help="a directory that does not exist yet")
    _add_number(parser, "--valid", SplitOptions.n_valid, "groups in valid")
    _add_number(parser, "--test", SplitOptions.n_test, "groups in test")
    _add_number(
        parser,
        "--max-group",
        SplitOptions.max_group,
        "groups of more than N pairs stay in train, so no source has more than N references",
    )
    _add_number(parser, "--seed", SplitOptions.seed, "seed of the random choice")


def run(args: argparse.Namespace) -> None:
    options = SplitOptions(
        output=args.output,
        n_valid=args.valid,
        n_test=args.test,
        max_group=args.max_group,
        seed=args.seed,
    )
    from seq2seq.corpus.named.fetch import fetch_sources
    from seq2seq.corpus.sources import config_of, specs_of
    from seq2seq.corpus.split import split_corpus
    from seq2seq.translation.destination import check_file

    config = config_of(args.languages)
    if not args.output.exists():  # else `split_corpus` says so
        check_file(args.output, [])
    sources = fetch_sources(config, specs_of(args.files))
    print("\n".join(split_corpus(sources, (config.src_lang, config.tgt_lang), options)))


def _add_number(parser: argparse.ArgumentParser, name: str, default: int, text: str) -> None:
    parser.add_argument(name, type=int, default=default, metavar="N", help=f"{text}; default: {default}")
