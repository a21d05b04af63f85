"""Score files of translations, and test them against others:  python -m seq2seq score HYP --reference REF

The scores are those that a run reports, for files from anywhere.
"""

import argparse
import shutil
from pathlib import Path

from seq2seq.config.evaluation import AUTO, TOKENIZERS
from seq2seq.evaluation.scores import METRICS, N_SAMPLES, TEST_METRICS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Score a file of translations with 95% intervals and signatures, and test it against other translations. "
        "Files have a sentence a line, in UTF-8, plain, .gz, .xz, .bz2 or .zst; one of them may be - for stdin."
    )
    parser.add_argument("hypotheses", type=Path, metavar="HYP", help="the translations")
    parser.add_argument(
        "--reference",
        nargs="+",
        type=Path,
        required=True,
        metavar="REF",
        help="references; in the second and later files, a blank line is no reference",
    )
    parser.add_argument(
        "--baseline",
        nargs="+",
        type=Path,
        default=[],
        metavar="HYP2",
        help="other translations, to test HYP against; p-values of several are corrected for their number",
    )
    parser.add_argument(
        "--source", type=Path, metavar="SRC", help="what was translated: counts lines that are copies of it, or blank"
    )
    parser.add_argument(
        "--language",
        default="",
        metavar="LANG",
        help="of HYP: decides the tokens of BLEU and TER, and bleu_legacy_tok needs it; default: by the script of REF",
    )
    parser.add_argument(
        "--tokenize", choices=TOKENIZERS, default=AUTO, help="tokens of BLEU, as sacreBLEU names them; default: auto"
    )
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=[], help=f"default: {' '.join(TEST_METRICS)}")
    parser.add_argument(
        "--ignore-case", action="store_true", help="lower all letters first; ter and bleu_legacy_tok always do"
    )
    parser.add_argument(
        "--test-method",
        choices=tuple(N_SAMPLES),
        default="bs",
        help="paired bootstrap, or approximate randomisation; default: bs",
    )
    parser.add_argument(
        "--comet",
        type=Path,
        metavar="CKPT",
        help="score with this model of COMET, too; the first time, pip makes an environment for it",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> None:
    from seq2seq.evaluation.scores import Scoring
    from seq2seq.exit_status import note
    from seq2seq.reports.score_files import score_files
    from seq2seq.reports.score_forms import scores_as_json, scores_as_text

    metrics = args.metrics or [name for name in TEST_METRICS if args.language or name != "bleu_legacy_tok"]
    if not args.metrics and not args.language:
        note("bleu_legacy_tok is left out: it splits words by the rules of a language; name it with --language")
    scoring = Scoring(args.language, args.tokenize, args.ignore_case)
    n_sentences, files = score_files(
        args.hypotheses, args.reference, args.baseline, args.source, metrics, scoring, args.test_method, args.comet
    )
    if args.format == "json":
        print(scores_as_json(n_sentences, files, args.test_method))
    else:
        print(scores_as_text(n_sentences, files, args.test_method, shutil.get_terminal_size().columns))
