"""Make a model directory to ship:  python -m seq2seq export RUN_DIR --format ctranslate2 --quantization int8"""

import argparse
from pathlib import Path

from seq2seq.errors import ConfigError, command
from seq2seq.exit_status import note
from seq2seq.options import above_zero

FORMATS = ("safetensors", "ctranslate2", "transformers")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Turn a trained model into a directory to ship: weights, configuration, tokenizer, model card."
    parser.epilog = "Before the directory appears, it and the original model translate the same 100 lines."
    add = parser.add_argument
    add("run_dir", type=Path, metavar="RUN", help="run directory, checkpoint file or model directory")
    add(
        "--format",
        action="append",
        required=True,
        choices=FORMATS,
        help="of the weights: safetensors for PyTorch, or ctranslate2, which needs the package ctranslate2; give it "
        "twice for both. transformers, alone, for the library of that name, which it needs, too",
    )
    add(
        "--quantization",
        choices=QUANTIZATIONS,
        default="float32",
        help="type of CTranslate2's weights; default: float32. When CTranslate2 loads weights, it converts what the "
        "machine cannot compute",
    )
    add(
        "--tolerance",
        type=above_zero,
        metavar="NATS",
        help="how far log-probabilities may be from PyTorch's on average with rounded weights; default: 0.05 for int8, "
        "0.01 for bfloat16, 0.002 for float16 and int16",
    )
    add(
        "--shortlist",
        action="store_true",
        help="CTranslate2 chooses only among pieces that the training text makes likely for a source, which is faster",
    )
    add(
        "--output",
        type=Path,
        metavar="DIR",
        help="default: RUN/export/FORMAT, with the quantization",
    )
    add("--force", action="store_true", help="replace an exported directory of that name")
    add("--parity-input", type=Path, metavar="FILE", help="lines to compare on; default: the validation set")


def run(args: argparse.Namespace) -> int:
    from seq2seq.artifacts.wandb_access import is_reference

    if args.output is None and is_reference(args.run_dir):
        raise ConfigError(f"{args.run_dir} lies in a cache; name a directory for its export: --output DIR")
    if "transformers" in args.format:
        return _for_transformers(args)
    if "ctranslate2" not in args.format:
        if args.quantization != "float32":
            raise ConfigError(f"--quantization {args.quantization} is for CTranslate2; add --format ctranslate2")
        if args.shortlist:
            raise ConfigError("--shortlist is for CTranslate2; add --format ctranslate2")
        if args.parity_input:
            raise ConfigError("--parity-input is for CTranslate2, since weights for PyTorch are compared bit by bit")
    if args.tolerance and args.quantization == "float32":
        raise ConfigError("--tolerance is for rounded weights; add --quantization")
    from seq2seq.export.export import ParityError, export

    try:
        output = export(
            args.run_dir,
            tuple(name for name in FORMATS if name in args.format),
            quantization=args.quantization,
            tolerance=args.tolerance,
            shortlist=args.shortlist,
            output=args.output,
            overwrite=args.force,
            parity_input=args.parity_input,
        )
    except ParityError as error:
        note(f"error: {error}")
        return 1
    print(f"wrote {output}; translate with: {command('translate', '--model', output)}")
    return 0


def _for_transformers(args: argparse.Namespace) -> int:
    if set(args.format) != {"transformers"}:
        raise ConfigError("--format transformers makes a directory of its own; export other formats by another command")
    if args.quantization != "float32" or args.tolerance or args.shortlist:
        raise ConfigError(
            "--quantization, --tolerance and --shortlist are for CTranslate2; transformers rounds weights when it loads"
        )
    from seq2seq.export.export import ParityError, export_for_transformers

    try:
        output = export_for_transformers(
            args.run_dir, output=args.output, overwrite=args.force, parity_input=args.parity_input
        )
    except ParityError as error:
        note(f"error: {error}")
        return 1
    print(f"wrote {output}; its README.md has the lines that translate with it")
    return 0
