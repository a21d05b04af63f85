"""Options that the sub-commands share: which languages, and where corpora are kept."""

import argparse
from typing import TYPE_CHECKING

from seq2seq.errors import ConfigError
from seq2seq.exit_status import show_log

if TYPE_CHECKING:
    from seq2seq.corpus.named.library import Library


def add_languages(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--languages",
        nargs=2,
        default=["fr", "en"],
        metavar="LANG",
        help="source and target, the direction of test sets; default: fr en",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cache-dir", default="", metavar="DIR", help="default: $SEQ2SEQ_CACHE or ~/.cache/seq2seq")
    parser.add_argument(
        "--shared-cache", default="", metavar="DIR", help="a cache only to read from; default: $SEQ2SEQ_SHARED_CACHE"
    )
    parser.add_argument(
        "--catalogue",
        default="",
        metavar="FILE",
        help="YAML with corpora of your own; default: $SEQ2SEQ_CATALOGUE",
    )


def library_of(args: argparse.Namespace, *, is_offline: bool = False) -> "Library":
    """What the options and the environment name. Progress goes to stderr.

    Raises:
        ConfigError: the catalogue cannot be read, or the languages are one.
    """
    from seq2seq.config import DataConfig
    from seq2seq.corpus.named.library import Library

    show_log()
    languages = getattr(args, "languages", ["fr", "en"])
    if languages[0] == languages[1]:
        raise ConfigError(f"--languages {' '.join(languages)}: name two languages")
    src, tgt = languages
    config = DataConfig(
        src_lang=src, tgt_lang=tgt, cache_dir=args.cache_dir, shared_cache=args.shared_cache, catalogue=args.catalogue
    )
    return Library.of(config, is_offline=is_offline)
