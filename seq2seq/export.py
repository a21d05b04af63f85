"""Make a model directory to ship:  python -m seq2seq.export RUN_DIR --format ctranslate2 --quantization int8

The directory appears only when what is in it has been compared with the model of the run.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, UserError

if TYPE_CHECKING:  # torch takes seconds to import, and --help or a mistyped option should not wait for it
    from seq2seq.config import RunConfig
    from seq2seq.model.transformer import Transformer
    from seq2seq.parity import Lines
    from seq2seq.tokenizer import Tokenizer

FORMATS = ("safetensors", "ctranslate2")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")
_FEW_LINES = 5  # that a copy of the same weights has to translate

# Most that a log-probability (nats) may differ in float32: rounding in another order makes differences of 1e-5 in a
# trained model, a wrong weight some of 1 and more.
_LARGEST_DIFFERENCE = 1e-3
# Most that log-probabilities may differ on average where weights are rounded.
_MEAN_DIFFERENCE = {"float16": 0.01, "bfloat16": 0.05, "int16": 0.01, "int8": 0.1}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line.

    Raises:
        SystemExit: 2 after an error that has a remedy, 1 if what was exported is not the same model.
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
    if status:
        sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seq2seq.export",
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
    from seq2seq.model_card import model_card
    from seq2seq.model_directory import write_model_directory, write_safetensors
    from seq2seq.parity import ParityError, find_lines

    run = _Run(args.run)
    formats = [name for name in FORMATS if name in args.format]
    lines = find_lines(run.config, run.tokenizer, args.parity_input, args.parity_reference)

    def write_weights(directory: Path) -> None:
        if "safetensors" in formats:
            write_safetensors(directory, run.weights, run.tokenizer.fingerprint)
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
        write_model_directory(output, run.content, card, write_weights, overwrite=args.force)
    except ParityError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {output}; translate with: python translate.py --model {output}")
    return 0


class _Run:
    """What is exported, and where it came from."""

    def __init__(self, path: Path) -> None:
        from seq2seq.checkpoint import find_model, read_checkpoint
        from seq2seq.model_directory import is_model_directory, read_model_directory

        self.run_dir: Path | None = None
        if is_model_directory(path):
            self.content = read_model_directory(path)
            self.export_dir = path.parent
        else:
            path = find_model(path)
            self.content = read_checkpoint(path)
            self.run_dir = path.parent.parent if path.parent.name == "checkpoints" else path.parent
            self.export_dir = self.run_dir / "export"
        self.weights = {name: weight for name, weight in self.content["state_dict"].items() if name.startswith(_PREFIX)}
        if not self.weights:
            raise CheckpointError(
                f"{path}: has no weights for PyTorch, from which all exports are made; export the run"
            )
        self.config = _config(self.content["config"], path)
        self.tokenizer = _tokenizer(self.content, path)
        self.model = _model(self.config, self.tokenizer, self.weights, path)


_PREFIX = "model."  # of the Transformer inside the module that training saves


def _config(content: Any, path: Path) -> "RunConfig":
    from seq2seq.config import read_config

    try:
        return read_config(content)
    except (ConfigError, TypeError) as error:
        raise CheckpointError(
            f"{path}: its configuration is not one of this version of seq2seq: {error}\n"
            "Export with the version that trained it."
        ) from error


def _tokenizer(content: dict[str, Any], path: Path) -> "Tokenizer":
    from seq2seq.checkpoint import tensor_to_bytes
    from seq2seq.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_bytes(tensor_to_bytes(content["tokenizer"]))
    if tokenizer.fingerprint != content["tokenizer_sha256"]:
        raise TokenizerError(
            f"{path}: the tokenizer inside is not the one that the model was trained with; take another checkpoint"
        )
    return tokenizer


def _model(config: "RunConfig", tokenizer: "Tokenizer", weights: dict[str, Any], path: Path) -> "Transformer":
    from seq2seq.model.transformer import Transformer

    model = Transformer(config.model, tokenizer.vocab_size)
    try:
        model.load_state_dict({name.removeprefix(_PREFIX): weight for name, weight in weights.items()})
    except RuntimeError as error:
        raise CheckpointError(
            f"{path}: its weights do not fit its own configuration, so it was changed after training or written by "
            "another version; take another checkpoint"
        ) from error
    return model.float().eval()


def _label(formats: Sequence[str], quantization: str) -> str:
    return "-".join(formats) + ("" if quantization == "float32" else f"-{quantization}")


def _description(name: str, quantization: str) -> str:
    if name == "safetensors":
        return "`model.safetensors`: weights for PyTorch"
    return f"`ctranslate2/`: weights for CTranslate2, {quantization}"


def _check_safetensors(run: _Run, directory: Path, lines: "Lines") -> None:
    """Read what was written, compare each bit, and translate a few lines."""
    import torch

    from seq2seq.model_directory import read_model_directory
    from seq2seq.parity import ParityError, translate

    stored = read_model_directory(directory)["state_dict"]
    different = [
        name
        for name, weight in run.weights.items()
        if name not in stored or stored[name].dtype != weight.dtype or not torch.equal(stored[name], weight)
    ]
    if different or len(stored) != len(run.weights):
        raise ParityError(f"model.safetensors did not come back as it was written ({', '.join(different)}); try again")
    copy = _model(run.config, run.tokenizer, stored, directory)
    sources = run.tokenizer.encode(lines.sources[:_FEW_LINES])
    decoding = dataclasses.replace(run.config.decoding, n_best=1)
    found = [translate(model, sources, decoding) for model in (run.model, copy)]
    if found[0] != found[1]:
        raise ParityError("the weights in model.safetensors do not translate as the model does; report this")
    print(f"safetensors: {len(stored)} tensors equal bit for bit; {len(sources)} lines of {lines.origin} alike")


def _write_ctranslate2(run: _Run, directory: Path, quantization: str, lines: "Lines") -> None:
    """Convert, then compare what CTranslate2 makes of the lines."""
    from seq2seq.engines.conversion import convert
    from seq2seq.engines.ctranslate2 import load, require_ctranslate2
    from seq2seq.model_directory import CTRANSLATE2
    from seq2seq.parity import ParityError, compare

    require_ctranslate2()
    convert(run.model, run.tokenizer, directory / CTRANSLATE2, None if quantization == "float32" else quantization)
    engine = load(directory, run.tokenizer, run.config.model.max_length, device="cpu")
    found = compare(run.model, engine, run.tokenizer, run.config.decoding, lines)
    computed = engine.translator.compute_type
    print(
        f"CTranslate2 ({quantization} weights, computed in {computed}) against PyTorch, {found.n_lines} lines of ",
        end="",
    )
    print(f"{lines.origin}:\n{found}")
    if quantization == "float32":
        if not found.largest <= _LARGEST_DIFFERENCE:  # nan is not
            raise ParityError(
                f"CTranslate2 gives a token a log-probability {found.largest:.3g} from PyTorch's, more than "
                f"{_LARGEST_DIFFERENCE:g}, so this is not the same model; nothing was written"
            )
    elif not found.mean <= (allowed := _mean_difference(quantization)):
        raise ParityError(
            f"with {quantization}, log-probabilities are {found.mean:.3g} from PyTorch's on average, more than "
            f"{allowed:g}; nothing was written, choose another --quantization"
        )


def _mean_difference(quantization: str) -> float:
    return _MEAN_DIFFERENCE["int8" if quantization.startswith("int8") else quantization]


if __name__ == "__main__":
    main()
