"""Export a trained model to a directory to ship. The directory appears only after a comparison with the model."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import torch

from seq2seq.artifacts.model_card import hub_metadata, model_card
from seq2seq.artifacts.model_directory import (
    CTRANSLATE2,
    README,
    SHORTLIST,
    appearing,
    is_model_directory,
    write_model_directory,
    write_safetensors,
)
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig, RunConfig
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_lines, read_pairs, spread_pairs
from seq2seq.corpus.sources import Source
from seq2seq.errors import CheckpointError, ConfigError, CorpusError, UserError
from seq2seq.export.conversion import convert
from seq2seq.export.hugging_face import class_of, is_hugging_face_directory, write_hugging_face
from seq2seq.export.hugging_face_engine import HuggingFaceEngine, require_transformers
from seq2seq.export.shortlist import N_PAIRS, write_shortlist
from seq2seq.files import bundled_corpus
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine, load, require_ctranslate2
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.options import EngineOptions
from seq2seq.vocabulary import EOS

N_LINES = 100  # to compare with
_MOST_READ = 10 * N_LINES  # to find them
_BATCH = 10  # lines at once, few enough for the memory of any model

# How much a log-probability (nats) may differ in float32. A trained model of 1.6 M parameters differed by up to 4e-6.
# With two biases of one layer exchanged, the smallest mistake that we could think of, it was 9e-3.
_LARGEST_DIFFERENCE = 1e-3
# How much log-probabilities may differ on average if weights are rounded: some 20 times what the same model showed
# (int8 2e-3, bfloat16 5e-4, float16 6e-5). Its translations all stayed the same.
# The figure for int8 holds with VNNI. Without it, sums of two 8-bit products overflow: 1e-2 with the model of the demo.
_MEAN_DIFFERENCE = {"int8": 0.05, "bfloat16": 0.01, "float16": 0.002, "int16": 0.002}

_LEAST_IDENTICAL = 0.5  # share of the lines; 0.9 and more with models that have learned their text

_REMEDY = {"int8": ", or export where the processor computes 8 bits without overflow (x86 with VNNI)"}


class ParityError(UserError):
    """The exported model does not compute what the original computes."""


def export(
    source: Path,
    formats: tuple[str, ...],
    *,
    quantization: str = "float32",
    tolerance: float | None = None,
    shortlist: bool = False,
    output: Path | None = None,
    overwrite: bool = False,
    parity_input: Path | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Write a model directory, say how it compares with the model, and return its path.

    Args:
        source: run directory, checkpoint file or model directory.
        formats: one or both of safetensors and ctranslate2, in that order.
        quantization: type of CTranslate2's weights.
        tolerance: how far log-probabilities (nats) may be from the original's on average if weights are rounded; None
            for what is usual for the type.
        output: the directory to write; None for one of the run's, named by formats and quantization.
        overwrite: replace a model directory of that name.
        parity_input: lines to compare CTranslate2 on; None for the validation set.
    Raises:
        ParityError: the exported model is not the same as the original; nothing was written.
        CheckpointError: there is no model, its weights are not finite numbers, or the directory cannot be written.
        CorpusError: there are no lines to compare with, or no training text for the shortlist.
        ConfigError: CTranslate2 is not installed.
    """
    trained, run, default = _read(source)
    text = _training_text(trained.config) if shortlist else []

    def write_weights(directory: Path) -> None:
        if "safetensors" in formats:
            write_safetensors(directory, trained.weights, trained.tokenizer.fingerprint)
            _check_stored(trained, directory)
            say(f"safetensors: {len(trained.weights)} tensors equal bit for bit")
        if "ctranslate2" in formats:
            require_ctranslate2()
            lines = find_lines(trained.config, trained.tokenizer, parity_input)
            _write_ctranslate2(trained, directory, quantization, tolerance, lines, say)
            if text:
                _write_shortlist(trained, directory, text, lines, say)

    label = "-".join([*formats, *([quantization] if quantization != "float32" else []), *(["shortlist"] * shortlist)])
    output = output or default / label
    weights = [
        "`model.safetensors`: weights for PyTorch"
        if name == "safetensors"
        else f"`ctranslate2/`: weights for CTranslate2, {quantization}{', with a shortlist' if shortlist else ''}"
        for name in formats
    ]
    n_parameters = trained.build().n_parameters
    card = model_card(trained.config, n_parameters, trained.tokenizer.vocab_size, weights, run, trained.seen)
    write_model_directory(output, trained.saved, card, write_weights, overwrite=overwrite)
    return output


def export_for_transformers(
    source: Path,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    parity_input: Path | None = None,
) -> Path:
    """Write a directory that `transformers` loads, say how it compares with the model, and return its path.

    Args:
        source, parity_input: see `export`.
        output: the directory to write; None for `transformers` beside the other exports of the run.
        overwrite: replace such a directory of that name.
    Raises:
        ParityError: transformers computes something else than the original; nothing was written.
        CheckpointError: there is no model, nothing in transformers is the same, its weights are not finite numbers, or
            the directory cannot be written.
        CorpusError: there are no lines to compare with.
        ConfigError: transformers is not installed.
    """
    trained, run, default = _read(source)
    config, tokenizer = trained.config, trained.tokenizer
    kind = class_of(config.model, tokenizer.model_type, is_joint=tokenizer.target is tokenizer)
    require_transformers()
    lines = find_lines(config, tokenizer, parity_input)
    model = trained.build()
    output = output or default / "transformers"
    weights = [f"`model.safetensors`: weights for `{kind.architecture}` of transformers"]
    card = model_card(config, model.n_parameters, tokenizer.vocab_size, weights, run, trained.seen, _USE)
    with appearing(output, is_hugging_face_directory, overwrite=overwrite) as building:
        (building / README).write_text(hub_metadata(config, run) + card, encoding="utf-8")
        write_hugging_face(building, model, tokenizer, config.decoding)
        engine = HuggingFaceEngine(building, config.model.max_length)
        _check_ids(tokenizer, engine, lines.sources)
        before = PyTorchEngine([model], torch.device("cpu"), "float32")
        for beam_size in sorted({1, config.decoding.beam_size}):
            decoding = replace(config.decoding, beam_size=beam_size, n_best=1)
            parity = measure_parity(before, engine, tokenizer, decoding, lines.sources)
            print(
                f"seq2seq and transformers with a beam of {beam_size}, {len(lines.sources)} lines of {lines.origin}:\n"
                f"{parity}"
            )
            _check_parity(parity, "transformers")
    return output


_USE = (
    "    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer",
    "",
    '    tokenizer, model = AutoTokenizer.from_pretrained("DIR"), AutoModelForSeq2SeqLM.from_pretrained("DIR")',
    '    batch = tokenizer(["..."], return_tensors="pt", padding=True)',
    "    print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))",
)


def _read(source: Path) -> tuple[TrainedModel, RunDirectory | None, Path]:
    """A model, the run that it is of, and the folder that its exports go to."""
    trained = TrainedModel.read(source)
    _check_finite(trained)
    run = None if is_model_directory(trained.path) else RunDirectory.of_checkpoint(trained.path)
    return trained, run, run.export if run else trained.path.absolute().parent


def _check_ids(tokenizer: Tokenizer, engine: HuggingFaceEngine, lines: Sequence[str]) -> None:
    for line, ours, theirs in zip(lines, tokenizer.encode(lines), engine.encode(lines), strict=True):
        if [*ours, EOS] != theirs:
            raise ParityError(
                f"the tokenizer of transformers cuts {line[:60]!r} into other pieces; nothing was written"
            )


def _check_parity(parity: "Parity", name: str) -> None:
    if parity.largest > _LARGEST_DIFFERENCE:
        raise ParityError(
            f"{name} gives a token a log-probability {parity.largest:.3g} from PyTorch's, more than "
            f"{_LARGEST_DIFFERENCE:g}, so this is not the same model; nothing was written"
        )


def _check_finite(trained: TrainedModel) -> None:
    """Refuse a model that diverged. A relu can hide such a weight from every output, and from every comparison."""
    damaged = [name for name, weight in trained.weights.items() if not weight.isfinite().all()]
    if damaged:
        names = ", ".join(damaged[:3]) + (f" and {len(damaged) - 3} more" if damaged[3:] else "")
        raise CheckpointError(
            f"{trained.path}: the weights in {names} are not all finite numbers, so training diverged; export an "
            "earlier checkpoint"
        )


def _check_stored(original: TrainedModel, directory: Path) -> None:
    """Read what was written, and compare each bit."""
    expected, stored = original.weights, TrainedModel.read(directory).weights
    different = [
        name
        for name, weight in expected.items()
        if name not in stored or stored[name].dtype != weight.dtype or not torch.equal(stored[name], weight)
    ]
    if different or len(stored) != len(expected):
        raise ParityError(f"model.safetensors did not come back as it was written ({', '.join(different)}); try again")


def _write_ctranslate2(
    trained: TrainedModel,
    directory: Path,
    quantization: str,
    tolerance: float | None,
    lines: "Lines",
    say: Callable[[str], None],
) -> None:
    """Convert the model, and compare what CTranslate2 makes of the lines.

    Rounding can hide a wrong weight, so the conversion is compared in float32 first, whatever type is kept.
    """
    config, tokenizer = trained.config, trained.tokenizer
    # In float32 on the CPU, where the export is computed too.
    before = PyTorchEngine([trained.build()], torch.device("cpu"), "float32")

    def compared(quantization: str | None) -> tuple[CTranslate2Engine, Parity]:
        # A model of its own: the engine changes its models to compute faster.
        convert(trained.build(), tokenizer, directory / CTRANSLATE2, quantization)
        after = load(directory, tokenizer, config.model.max_length, EngineOptions(device="cpu"))
        return after, measure_parity(before, after, tokenizer, config.decoding, lines.sources)

    _, parity = compared(None)
    say(f"PyTorch and CTranslate2 in float32, {len(lines.sources)} lines of {lines.origin}:\n{parity}")
    _check_parity(parity, "CTranslate2")
    if quantization == "float32":
        return
    engine, parity = compared(quantization)  # in the place of the float32 files
    say(
        f"PyTorch and CTranslate2 with {quantization} weights, which this CPU computes in {engine.precision}:\n{parity}"
    )
    kept, computed = (name.split("_")[0] for name in (quantization, engine.precision))
    allowed = tolerance or max(_MEAN_DIFFERENCE[kept], _MEAN_DIFFERENCE.get(computed, 0.0))
    if parity.mean > allowed:
        raise ParityError(
            f"with {quantization}, log-probabilities are {parity.mean:.3g} from PyTorch's on average, more than "
            f"{allowed:g}; nothing was written, choose another --quantization{_REMEDY.get(computed, '')}"
            ", or allow more with --tolerance if the model is hardly trained"
        )


def _training_text(config: RunConfig) -> list[Source]:
    try:
        return fetch_sources(config.data, config.data.train_sources, is_offline=True)
    except (CorpusError, ConfigError) as error:
        raise CorpusError(f"--shortlist needs the text that the model was trained on: {error}") from error


def _write_shortlist(
    trained: TrainedModel, directory: Path, text: Sequence[Source], lines: "Lines", say: Callable[[str], None]
) -> None:
    """Learn which pieces are likely, and compare what CTranslate2 makes of the lines with and without."""
    config, tokenizer = trained.config, trained.tokenizer
    share = N_PAIRS // len(text)
    pairs = chain.from_iterable(spread_pairs(source, share) for source in text)

    def loaded() -> CTranslate2Engine:
        return load(directory, tokenizer, config.model.max_length, EngineOptions(device="cpu"))

    before = loaded()
    n_pairs = write_shortlist(directory / SHORTLIST, tokenizer, pairs)
    parity = measure_parity(before, loaded(), tokenizer, config.decoding, lines.sources)
    say(f"the shortlist of {n_pairs:,} pairs: {parity.n_identical} of {parity.n_lines} translations stay as they were")
    if parity.n_identical < _LEAST_IDENTICAL * parity.n_lines:
        raise ParityError(
            f"with its shortlist the model translates {parity.n_lines - parity.n_identical} of {parity.n_lines} lines "
            "otherwise than without; nothing was written, export it without --shortlist"
        )


@dataclass(frozen=True)
class Parity:
    """How two engines differ on the same lines.

    Attributes:
        n_identical: lines for which both found the same translation.
        largest, mean: largest and mean absolute difference between the log-probabilities (nats) that both engines give
            to each token of the same hypotheses.
    """

    n_lines: int
    n_identical: int
    largest: float
    mean: float

    def __str__(self) -> str:
        return (
            f"{self.n_identical} of {self.n_lines} translations identical\n"
            f"log-probabilities of the same tokens: {self.largest:.2g} apart at most, {self.mean:.2g} on average"
        )


_Compared = PyTorchEngine | CTranslate2Engine | HuggingFaceEngine


def measure_parity(
    before: _Compared, after: _Compared, tokenizer: Tokenizer, decoding: DecodingConfig, lines: Sequence[str]
) -> Parity:
    """Translate the lines with both engines, and score the hypotheses of `before` with both.

    Args:
        before: the engine with the original model, in float32.
        after: the engine with the exported model.
        lines: at least one, each of at most `max_length - 1` tokens for both.
    Raises:
        ParityError: one of them computes something that is not a finite number, which no comparison can judge.
    """
    # Only what both engines can do.
    normalization = "length" if decoding.normalization == "gnmt" else decoding.normalization
    decoding = replace(decoding, n_best=1, sampling=False, normalization=normalization)
    n_identical = 0
    differences: list[float] = []
    for begin in range(0, len(lines), _BATCH):
        texts = lines[begin : begin + _BATCH]
        sources = tokenizer.encode(texts)
        sentences = [Sentence(source) for source in sources]
        ours, theirs = ([best for best, *_ in engine.decode(sentences, decoding)] for engine in (before, after))
        n_identical += sum(a.tokens == b.tokens for a, b in zip(ours, theirs, strict=True))
        targets = [hypothesis.tokens[: before.max_length - 1] for hypothesis in ours]  # room for eos
        scores = [engine.score(sources, targets) for engine in (before, after)]
        for text, expected, found in zip(texts, *scores, strict=True):
            for model, log_probs in (("original", expected), ("exported", found)):
                if not all(map(math.isfinite, log_probs)):
                    raise ParityError(
                        f"the {model} model gives a token of the translation of {text[:60]!r} a log-probability that "
                        "is no finite number, so it cannot be compared with the other; nothing was written"
                    )
            differences += [abs(a - b) for a, b in zip(found, expected, strict=True)]
    mean = sum(differences) / len(differences)
    return Parity(len(lines), n_identical, max(differences), mean)


class Lines(NamedTuple):
    """Text to compare two engines on."""

    origin: str
    sources: list[str]


def find_lines(config: RunConfig, tokenizer: Tokenizer, given: Path | None = None) -> Lines:
    """Up to `N_LINES` lines to compare with: of `given`, else of the validation set, else of the sample corpus.

    Raises:
        CorpusError: `given` cannot be read, or none of them has a line that the model can translate.
    """
    if given is not None:
        if sources := _fitting(read_lines(given), config, tokenizer):
            return Lines(str(given), sources)
        raise CorpusError(f"{given}: has no line that the model can translate; choose another --parity-input")
    if sources := _fitting(_validation(config), config, tokenizer):
        return Lines("the validation set", sources)
    sample = bundled_corpus("sample") / f"valid.{config.data.src_lang}"
    if sample.is_file() and (sources := _fitting(read_lines(sample), config, tokenizer)):
        return Lines(f"the sample corpus ({sample.name})", sources)
    raise CorpusError(
        "the validation set of the run is not here, so there are no lines to compare the exported model on; "
        "name a file with some in --parity-input"
    )


def _validation(config: RunConfig) -> list[str]:
    try:
        sources = fetch_sources(config.data, config.data.valid_sources, is_offline=True)
        return [src for src, _ in islice(chain.from_iterable(map(read_pairs, sources)), _MOST_READ)]
    except (CorpusError, ConfigError):  # not on this machine, or not any more
        return []


def _fitting(lines: Iterable[str], config: RunConfig, tokenizer: Tokenizer) -> list[str]:
    """The first `N_LINES` that are not blank, and not too long for the model."""
    texts = [text for text in islice(lines, _MOST_READ) if text.strip()]
    ids = tokenizer.encode(texts)
    return [text for text, each in zip(texts, ids, strict=True) if 0 < len(each) < config.model.max_length][:N_LINES]
