"""Export a trained model to a directory to ship. The directory appears only after a comparison with the model."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch

from seq2seq.artifacts.model_card import model_card
from seq2seq.artifacts.model_directory import (
    CTRANSLATE2,
    is_model_directory,
    write_model_directory,
    write_safetensors,
)
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError
from seq2seq.export import ExportOptions
from seq2seq.export.conversion import convert
from seq2seq.export.parity import Lines, ParityError, find_lines, measure_parity
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine, load, require_ctranslate2
from seq2seq.translation.engines.options import EngineOptions
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine

_FEW_LINES = 5  # lines that a copy of the same weights has to translate

# How much a log-probability (nats) may differ in float32. A trained model of 1.6 M parameters differed by up to 4e-6.
# With two biases of one layer exchanged, the smallest mistake that we could think of, it was 9e-3.
_LARGEST_DIFFERENCE = 1e-3
# How much log-probabilities may differ on average if weights are rounded: some 20 times what the same model showed
# (int8 2e-3, bfloat16 5e-4, float16 6e-5). Its translations all stayed the same.
# The figure for int8 holds with VNNI. Without it, sums of two 8-bit products overflow: 1e-2 with the model of the demo.
_MEAN_DIFFERENCE = {"int8": 0.05, "bfloat16": 0.01, "float16": 0.002, "int16": 0.002}

_REMEDY = {"int8": ", or export where the processor computes 8 bits without overflow (x86 with VNNI)"}


def export(options: ExportOptions, say: Callable[[str], None] = print) -> Path:
    """Write a model directory, say how it compares with the model, and return its path.

    Raises:
        ParityError: the exported model is not the same as the original; nothing was written.
        CheckpointError: there is no model, its weights are not finite numbers, or the directory cannot be written.
        ConfigError: CTranslate2 is not installed.
    """
    original = _Original(options.source)
    lines = find_lines(original.config, original.tokenizer, options.parity_input, options.parity_reference)

    def write_weights(directory: Path) -> None:
        if "safetensors" in options.formats:
            write_safetensors(directory, original.trained.weights, original.tokenizer.fingerprint)
            say(_check_safetensors(original, directory, lines))
        if "ctranslate2" in options.formats:
            _write_ctranslate2(original, directory, options, lines, say)

    output = options.output or original.export_dir / options.label
    card = model_card(
        original.config,
        original.model.n_parameters,
        original.tokenizer.vocab_size,
        [_description(name, options.quantization) for name in options.formats],
        original.run,
        original.trained.seen,
    )
    write_model_directory(output, original.trained.saved, card, write_weights, overwrite=options.overwrite)
    return output


class _Original:
    """The model to export, the run it came from, and the engine that the export is compared with."""

    def __init__(self, path: Path) -> None:
        self.trained = TrainedModel.read(path)
        check_finite(self.trained)
        self.run = None if is_model_directory(path) else RunDirectory.of_checkpoint(self.trained.path)
        self.export_dir = self.run.export if self.run else path.parent
        self.config = self.trained.config
        self.tokenizer = self.trained.tokenizer
        self.model = self.trained.build()  # not the one in the engine, which changes its models to compute faster
        self.engine = _engine(self.trained)


def _engine(trained: TrainedModel) -> PyTorchEngine:
    """The model in float32 on the CPU, where the export is computed too."""
    return PyTorchEngine([trained.build()], torch.device("cpu"), "float32")


def _description(name: str, quantization: str) -> str:
    if name == "safetensors":
        return "`model.safetensors`: weights for PyTorch"
    return f"`ctranslate2/`: weights for CTranslate2, {quantization}"


def _check_safetensors(original: _Original, directory: Path, lines: Lines) -> str:
    """Read what was written, compare each bit, and translate a few lines. Returns what to say about it."""
    copy = read_back(original.trained, directory)
    stored = copy.weights
    sentences = [Sentence(source) for source in original.tokenizer.encode(lines.sources[:_FEW_LINES])]
    decoding = dataclasses.replace(original.config.decoding, n_best=1)
    if original.engine.decode(sentences, decoding) != _engine(copy).decode(sentences, decoding):
        raise ParityError("the weights in model.safetensors do not translate as the model does; report this")
    return f"safetensors: {len(stored)} tensors equal bit for bit; {len(sentences)} lines of {lines.origin} alike"


def _write_ctranslate2(
    original: _Original, directory: Path, options: ExportOptions, lines: Lines, say: Callable[[str], None]
) -> None:
    """Convert the model, and compare what CTranslate2 makes of the lines.

    Rounding can hide a wrong weight, so the conversion is compared in float32 first, whatever type is kept.
    """
    require_ctranslate2()
    quantization = options.quantization

    def converted(quantization: str | None) -> CTranslate2Engine:
        convert(original.model, original.tokenizer, directory / CTRANSLATE2, quantization)
        return load(directory, original.tokenizer, original.config.model.max_length, EngineOptions(device="cpu"))

    report = measure_parity(original.engine, converted(None), original.tokenizer, original.config.decoding, lines)
    say(f"PyTorch and CTranslate2 in float32, {report.n_lines} lines of {lines.origin}:\n{report}")
    if report.largest > _LARGEST_DIFFERENCE:
        raise ParityError(
            f"CTranslate2 gives a token a log-probability {report.largest:.3g} from PyTorch's, more than "
            f"{_LARGEST_DIFFERENCE:g}, so this is not the same model; nothing was written"
        )
    if quantization == "float32":
        return
    engine = converted(quantization)  # in the place of the float32 files
    computed = engine.translator.compute_type
    report = measure_parity(original.engine, engine, original.tokenizer, original.config.decoding, lines)
    say(f"PyTorch and CTranslate2 with {quantization} weights, which this CPU computes in {computed}:\n{report}")
    allowed = options.tolerance or max(_mean_difference(quantization), _mean_difference(computed))
    if report.mean > allowed:
        raise ParityError(
            f"with {quantization}, log-probabilities are {report.mean:.3g} from PyTorch's on average, more than "
            f"{allowed:g}; nothing was written, choose another --quantization{_REMEDY.get(computed.split('_')[0], '')}"
            ", or allow more with --tolerance if the model is hardly trained"
        )


def _mean_difference(compute_type: str) -> float:
    return _MEAN_DIFFERENCE.get(compute_type.split("_")[0], 0.0)


def check_finite(trained: TrainedModel) -> None:
    """Refuse a model that diverged. A relu can hide such a weight from every output, and from every comparison.

    Raises:
        CheckpointError: a weight is not a finite number.
    """
    damaged = [name for name, weight in trained.weights.items() if not weight.isfinite().all()]
    if damaged:
        names = ", ".join(damaged[:3]) + (f" and {len(damaged) - 3} more" if damaged[3:] else "")
        raise CheckpointError(
            f"{trained.path}: the weights in {names} are not all finite numbers, so training diverged; export an "
            "earlier checkpoint"
        )


def read_back(original: TrainedModel, directory: Path) -> TrainedModel:
    """Read what was written, and compare each bit.

    Raises:
        ParityError: something differs.
    """
    copy = TrainedModel.read(directory)
    expected, stored = original.weights, copy.weights
    different = [
        name
        for name, weight in expected.items()
        if name not in stored or stored[name].dtype != weight.dtype or not torch.equal(stored[name], weight)
    ]
    if different or len(stored) != len(expected):
        raise ParityError(f"model.safetensors did not come back as it was written ({', '.join(different)}); try again")
    return copy
