"""Make a model directory to ship:  python -m seq2seq export RUN_DIR --format ctranslate2 --quantization int8

The directory appears only when what is in it has been compared with the model of the run.
"""

import argparse
import dataclasses
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.errors import ConfigError, UserError

if TYPE_CHECKING:  # torch takes seconds to import, and --help or a mistyped option should not wait for it
    from seq2seq.artifacts.trained_model import TrainedModel
    from seq2seq.export.parity import Lines
    from seq2seq.translation.engines.pytorch import PyTorchEngine

FORMATS = ("safetensors", "ctranslate2")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")
_FEW_LINES = 5  # that a copy of the same weights has to translate

# Most that a log-probability (nats) may differ in float32. A trained model of 1.6 M parameters came within 4e-6; with
# two biases of one layer exchanged, the smallest mistake we could think of, it was 9e-3 away.
_LARGEST_DIFFERENCE = 1e-3
# Most that log-probabilities may differ on average where weights are rounded: some 20 times what the same model showed
# (int8 2e-3, bfloat16 5e-4, float16 6e-5), all of whose translations stayed what they were.
_MEAN_DIFFERENCE = {"int8": 0.05, "bfloat16": 0.01, "float16": 0.002, "int16": 0.002}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Raises:
        SystemExit: 2 after an error that has a remedy, 1 if what was exported is not the same model, 130 after Ctrl-C.
    """
    args = _parser().parse_args(argv)
    try:
        status = _run(args)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        status = 2
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        status = 128 + signal.SIGINT
    if status:
        sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seq2seq export",
        description="Turn a trained model into a directory to ship: weights, configuration, tokenizer, model card.",
        epilog="Before the directory appears, 100 lines go through the model and through what was exported.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory, checkpoint file or model directory")
    parser.add_argument(
        "--format",
        action="append",
        required=True,
        choices=FORMATS,
        help="of the weights: for PyTorch, or for CTranslate2; give it twice for both",
    )
    parser.add_argument(
        "--quantization",
        choices=QUANTIZATIONS,
        default="float32",
        help="of CTranslate2's weights; default: float32. It converts on loading what a machine cannot compute",
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="default: RUN/export/FORMAT, followed by the quantization"
    )
    parser.add_argument("--force", action="store_true", help="replace a model directory of that name")
    parser.add_argument(
        "--parity-input", type=Path, metavar="FILE", help="lines to compare with; default: the validation set"
    )
    parser.add_argument("--parity-reference", type=Path, metavar="FILE", help="their translations, for BLEU")
    return parser


def _run(args: argparse.Namespace) -> int:
    """The exit status."""
    if args.quantization != "float32" and "ctranslate2" not in args.format:
        raise ConfigError(f"--quantization {args.quantization} is for CTranslate2; add --format ctranslate2")
    if args.parity_reference and not args.parity_input:
        raise ConfigError("--parity-reference translates the lines of --parity-input; give that file too")
    # Imported only now: torch takes seconds, and neither --help nor a mistyped name should wait for it.
    from seq2seq.artifacts.model_card import model_card
    from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
    from seq2seq.export.parity import ParityError, find_lines

    run = _Run(args.run)
    formats = [name for name in FORMATS if name in args.format]
    lines = find_lines(run.config, run.tokenizer, args.parity_input, args.parity_reference)

    def write_weights(directory: Path) -> None:
        if "safetensors" in formats:
            write_safetensors(directory, run.trained.content["state_dict"], run.tokenizer.fingerprint)
            _check_safetensors(run, directory, lines)
        if "ctranslate2" in formats:
            _write_ctranslate2(run, directory, args.quantization, lines)

    output = args.output or run.export_dir / _label(formats, args.quantization)
    card = model_card(
        run.config,
        run.model.n_parameters,
        run.tokenizer.vocab_size,
        [_description(name, args.quantization) for name in formats],
        run.run_dir,
    )
    try:
        write_model_directory(output, run.trained.content, card, write_weights, overwrite=args.force)
    except ParityError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {output}; translate with: python translate.py --model {output}")
    return 0


class _Run:
    """What is exported, where it came from, and the engine that the export is compared with."""

    def __init__(self, path: Path) -> None:
        from seq2seq.artifacts.model_directory import is_model_directory
        from seq2seq.artifacts.trained_model import TrainedModel

        self.trained = TrainedModel.read(path)
        self.run_dir: Path | None = None
        if is_model_directory(path):
            self.export_dir = path.parent
        else:
            folder = self.trained.path.parent
            self.run_dir = folder.parent if folder.name == "checkpoints" else folder
            self.export_dir = self.run_dir / "export"
        self.config = self.trained.config
        self.tokenizer = self.trained.tokenizer
        self.model = self.trained.build()  # not the engine's, which changes its models to compute faster
        self.engine = _engine(self.trained)


def _engine(trained: "TrainedModel") -> "PyTorchEngine":
    """In float32 on the CPU, where the export is computed too."""
    import torch

    from seq2seq.translation.engines.pytorch import PyTorchEngine

    return PyTorchEngine([trained.build()], torch.device("cpu"), "float32")


def _label(formats: Sequence[str], quantization: str) -> str:
    return "-".join(formats) + ("" if quantization == "float32" else f"-{quantization}")


def _description(name: str, quantization: str) -> str:
    if name == "safetensors":
        return "`model.safetensors`: weights for PyTorch"
    return f"`ctranslate2/`: weights for CTranslate2, {quantization}"


def _check_safetensors(run: _Run, directory: Path, lines: "Lines") -> None:
    """Read what was written, compare each bit, and translate a few lines."""
    import torch

    from seq2seq.artifacts.trained_model import TrainedModel
    from seq2seq.export.parity import ParityError
    from seq2seq.translation.engines.protocol import Sentence

    copy = TrainedModel.read(directory)
    expected, stored = run.trained.content["state_dict"], copy.content["state_dict"]
    different = [
        name
        for name, weight in expected.items()
        if name not in stored or stored[name].dtype != weight.dtype or not torch.equal(stored[name], weight)
    ]
    if different or len(stored) != len(expected):
        raise ParityError(f"model.safetensors did not come back as it was written ({', '.join(different)}); try again")
    sentences = [Sentence(source) for source in run.tokenizer.encode(lines.sources[:_FEW_LINES])]
    decoding = dataclasses.replace(run.config.decoding, n_best=1)
    if run.engine.decode(sentences, decoding) != _engine(copy).decode(sentences, decoding):
        raise ParityError("the weights in model.safetensors do not translate as the model does; report this")
    print(f"safetensors: {len(stored)} tensors equal bit for bit; {len(sentences)} lines of {lines.origin} alike")


def _write_ctranslate2(run: _Run, directory: Path, quantization: str, lines: "Lines") -> None:
    """Convert, then compare what CTranslate2 makes of the lines.

    A wrong weight can hide behind the rounding of the others, so the conversion is judged in float32, whatever is kept.
    """
    from seq2seq.artifacts.model_directory import CTRANSLATE2
    from seq2seq.export.conversion import convert
    from seq2seq.export.parity import ParityError, measure_parity
    from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine, load, require_ctranslate2

    require_ctranslate2()

    def converted(folder: Path, quantization: str | None) -> CTranslate2Engine:
        convert(run.model, run.tokenizer, folder / CTRANSLATE2, quantization)
        return load(folder, run.tokenizer, run.config.model.max_length, device="cpu")

    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f"{directory.name}.") as folder:
        engine = converted(directory if quantization == "float32" else Path(folder), None)
        found = measure_parity(run.engine, engine, run.tokenizer, run.config.decoding, lines)
    print(f"PyTorch and CTranslate2 in float32, {found.n_lines} lines of {lines.origin}:\n{found}")
    if not found.largest <= _LARGEST_DIFFERENCE:  # nan is not
        raise ParityError(
            f"CTranslate2 gives a token a log-probability {found.largest:.3g} from PyTorch's, more than "
            f"{_LARGEST_DIFFERENCE:g}, so this is not the same model; nothing was written"
        )
    if quantization == "float32":
        return
    engine = converted(directory, quantization)
    computed = engine.translator.compute_type
    found = measure_parity(run.engine, engine, run.tokenizer, run.config.decoding, lines)
    print(f"PyTorch and CTranslate2 with {quantization} weights, which this CPU computes in {computed}:\n{found}")
    allowed = max(_mean_difference(quantization), _mean_difference(computed))
    if not found.mean <= allowed:
        raise ParityError(
            f"with {quantization}, log-probabilities are {found.mean:.3g} from PyTorch's on average, more than "
            f"{allowed:g}; nothing was written, choose another --quantization"
        )


def _mean_difference(compute_type: str) -> float:
    return _MEAN_DIFFERENCE.get(compute_type.split("_")[0], 0.0)


if __name__ == "__main__":
    main()
