"""Make a model directory to ship:  python -m seq2seq export RUN_DIR --format ctranslate2 --quantization int8"""

import argparse
from pathlib import Path

from seq2seq.errors import ConfigError, command
from seq2seq.exit_status import note
from seq2seq.options import above_zero

FORMATS = ("safetensors", "ctranslate2")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Turn a trained model into a directory to ship: weights, configuration, tokenizer, model card."
    parser.epilog = "Before the directory appears, CTranslate2 and the original model translate the same 100 lines."
    add = parser.add_argument
    add("run_dir", type=Path, metavar="RUN", help="run directory, checkpoint file or model directory")
    add(
        "--format",
        action="append",
        required=True,
        choices=FORMATS,
        help="of the weights: safetensors for PyTorch, or ctranslate2, which needs the package ctranslate2; give it "
        "twice for both",
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
    add("--output", type=Path, metavar="DIR", help="default: RUN/export/FORMAT, followed by the quantization")
    add("--force", action="store_true", help="replace a model directory of that name")
    add(
        "--parity-input", type=Path, metavar="FILE", help="lines to compare CTranslate2 on; default: the validation set"
    )


def run(args: argparse.Namespace) -> int:
    if "ctranslate2" not in args.format:
        if args.quantization != "float32":
            raise ConfigError(f"--quantization {args.quantization} is for CTranslate2; add --format ctranslate2")
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
            output=args.output,
            overwrite=args.force,
            parity_input=args.parity_input,
        )
    except ParityError as error:
        note(f"error: {error}")
        return 1
    print(f"wrote {output}; translate with: {command('translate', '--model', output)}")
    return 0
