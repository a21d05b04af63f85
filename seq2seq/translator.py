"""A trained model as a function from text to text.

    translator = Translator.load("runs/multi30k/2026-11-21_120000")
    translator.translate(["Un chat dort."])[0].text

Sentences are sorted into batches of similar length and come back in order; a stream goes through in windows, so that
memory does not grow with it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.checkpoint import find_model, read_checkpoint, tensor_to_bytes
from seq2seq.config import DecodingConfig, RunConfig, read_config
from seq2seq.decoding.corpus import decode_batches
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError, TranslationError
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.hardware import multiplies_bf16

PRECISIONS = ("auto", "float32", "bfloat16")
WINDOW = 4096  # lines sorted into batches together; beyond this, batches hardly get any fuller

# What some reader or other takes for the end of a line; SentencePiece's byte pieces can spell all of them.
_LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
_PREFIX = "model."  # of the Transformer inside the module that training saves


@dataclass(frozen=True)
class Translation:
    """What became of one line.

    Attributes:
        text: the best hypothesis, always one line; empty for a blank source.
        hypotheses: up to `decoding.n_best` texts with their scores, best first. A score is the log-probability
            (nats) over the length penalty; a blank source has one empty hypothesis with score 0.
        warnings: why a reader should have a look at this one; mostly none.
    """

    text: str
    hypotheses: list[tuple[str, float]]
    warnings: list[str] = field(default_factory=list)


class Translator:
    """Model and tokenizer of one checkpoint, on one device."""

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, config: RunConfig, device: torch.device, precision: str
    ) -> None:
        """Use `load`. `precision` is float32 or bfloat16; the latter rounds the matrices of `model` in place."""
        self.model = model.to(device).eval()
        if precision == "bfloat16":
            _round_matrices(self.model)
        self.tokenizer = tokenizer
        self.config = config
        self.device = device
        self.precision = precision

    @classmethod
    def load(cls, path: str | Path, device: str = "auto", precision: str = "auto") -> "Translator":
        """The translator that a run directory or a checkpoint file holds.

        Args:
            path: of a run directory the selected model is taken, else the best, else the last one.
            device: auto (a CUDA device if there is one), cpu, cuda, cuda:1, ...
            precision: float32, bfloat16 (of matrix products), or auto: bfloat16 where the hardware multiplies it.
        Raises:
            CheckpointError: no checkpoint, a damaged one, or weights that do not fit its configuration.
            TokenizerError: the tokenizer inside is not the one that the weights were trained with.
            TranslationError: no such device or precision.
        """
        chosen_device = _device(device)
        chosen_precision = _precision(precision, chosen_device)
        file = find_model(Path(path))
        content = read_checkpoint(file)
        config = _config(content["config"], file)
        tokenizer = _tokenizer(content, file)
        weights = _weights(content["state_dict"], file)
        _check_vocabulary(weights, tokenizer, file)
        model = Transformer(config.model, tokenizer.vocab_size)
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise CheckpointError(
                f"{file}: its weights do not fit its own configuration, so it was changed after training or "
                f"written by another version; take another checkpoint [{' '.join(str(error).split())[:200]}]"
            ) from error
        return cls(model, tokenizer, config, chosen_device, chosen_precision)

    @property
    def max_source_tokens(self) -> int:
        """The longest source that the model reads, its eos not counted."""
        return self.config.model.max_length - 1

    def translate(self, lines: Sequence[str], decoding: DecodingConfig | None = None) -> list[Translation]:
        """One translation for each line, in order; see `translate_stream`."""
        return list(self.translate_stream(lines, decoding))

    def translate_stream(
        self,
        lines: Iterable[str],
        decoding: DecodingConfig | None = None,
        window: int = WINDOW,
        on_batch: Callable[[int], None] | None = None,
    ) -> Iterator[Translation]:
        """One translation for each line, in order, in memory that does not grow with their number.

        Blank lines stay blank and do not reach the model.

        Args:
            decoding: None for the settings that the model was validated with.
            window: lines read, and sorted into batches, before the first of them is given back; 1 for a dialogue.
            on_batch: told the number of lines after each batch, some time before they are given back.
        Raises:
            ConfigError: settings that cannot work.
            TranslationError: a line of more tokens than the model reads, before any work on its window; or
                not enough memory.
            TokenizerError: a line that is not Unicode.
            TypeError: one string in place of many.
        """
        if isinstance(lines, str):
            raise TypeError("lines is one string; pass a list with a string for each line")
        decoding = decoding or self.config.decoding
        if problems := list(decoding.problems()):
            raise ConfigError("\n".join(problems))
        return self._stream(iter(lines), decoding, window, on_batch or (lambda n_lines: None))

    def check_sources(self, lines: Iterable[str]) -> int:
        """Refuse, before any work, what `translate_stream` would refuse; the number of lines.

        Raises:
            TranslationError: a line of more tokens than the model reads.
        """
        n_lines = 0
        for n_lines, line in enumerate(lines, start=1):
            # A character has at most 4 bytes, and a byte at most one token (rare NFKC expansions aside, which
            # translating will notice), so that hardly any line needs to be tokenized twice.
            if 4 * len(line) > self.max_source_tokens:
                self._check_length(n_lines, self._encode([line])[0])
        return n_lines

    def _stream(
        self, lines: Iterator[str], decoding: DecodingConfig, window: int, on_batch: Callable[[int], None]
    ) -> Iterator[Translation]:
        n_before = 0
        while part := list(islice(lines, window)):
            yield from self._translate_window(part, n_before, decoding, on_batch)
            n_before += len(part)

    def _translate_window(
        self, lines: list[str], n_before: int, decoding: DecodingConfig, on_batch: Callable[[int], None]
    ) -> list[Translation]:
        sources = self._encode(lines)
        for number, source in enumerate(sources, start=n_before + 1):
            self._check_length(number, source)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        batches = decode_batches(self.model, sources, decoding, self.device, self.config.model.max_length)
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
                for indices, hypotheses in batches:
                    for index, of_source in zip(indices, hypotheses, strict=True):
                        found[index] = of_source
                    on_batch(len(indices))
        except torch.OutOfMemoryError as error:
            raise TranslationError(
                f"not enough memory on {self.device} for decoding.batch_tokens={decoding.batch_tokens} and "
                f"beam_size={decoding.beam_size}; lower one of them"
            ) from error
        return [self._translation(*each) for each in zip(lines, sources, found, strict=True)]

    def _encode(self, lines: list[str]) -> list[list[int]]:
        """Token ids of each line; none for a blank one, whatever the tokenizer makes of spaces."""
        return self.tokenizer.encode(["" if line.isspace() else line for line in lines])

    def _check_length(self, number: int, source: list[int]) -> None:
        if len(source) > self.max_source_tokens:
            raise TranslationError(
                f"line {number} has {len(source)} tokens, and this model reads at most {self.max_source_tokens}; "
                "split the line into sentences"
            )

    def _translation(self, line: str, source: list[int], hypotheses: list[Hypothesis]) -> Translation:
        texts = [
            text.translate(_LINE_ENDS)
            for text in self.tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses])
        ]
        warnings = []
        if len(source) > self.config.data.max_tokens:
            warnings.append(
                f"{len(source)} tokens are more than the {self.config.data.max_tokens} of the longest sentence in "
                "training; split the line into sentences if its translation is poor"
            )
        if not hypotheses[0].finished:
            warnings.append(f"the translation was cut off after {len(hypotheses[0].tokens)} tokens")
        if not texts[0].strip() and line.strip():
            warnings.append("the translation of this line is empty, though the line is not")
        return Translation(
            texts[0],
            [(text, hypothesis.score) for text, hypothesis in zip(texts, hypotheses, strict=True)],
            warnings,
        )


def _round_matrices(model: Transformer) -> None:
    """Store in bfloat16 what autocast would convert for each product; norms and sums of layers stay float32.

    In inference mode autocast does not remember converted weights (torch 2.13), so that a search would convert them
    all for each token, which took 10% of its time (one core, d_model 256 and 512, beam of 5).
    """
    model.embeddings.bfloat16()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.bfloat16()


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter from torch built without CUDA
        raise TranslationError(
            f"torch {torch.__version__} has no device {name!r} here; use auto or cpu, or install a torch build for it"
        ) from error
    return device


def _precision(name: str, device: torch.device) -> str:
    if name not in PRECISIONS:
        raise TranslationError(f"precision={name!r} is not one of {', '.join(PRECISIONS)}")
    if name == "auto":
        return "bfloat16" if multiplies_bf16(device.type) else "float32"
    return name


def _config(content: Any, file: Path) -> RunConfig:
    if not isinstance(content, Mapping):
        raise CheckpointError(f"{file}: its config is a {type(content).__name__}, so this project did not write it")
    try:
        return read_config(content)
    except ConfigError as error:
        raise CheckpointError(
            f"{file}: its configuration is not one of this version of seq2seq: {error}\n"
            "Translate with the version that trained it."
        ) from error


def _tokenizer(content: Mapping[str, Any], file: Path) -> Tokenizer:
    stored = content["tokenizer"]
    if not isinstance(stored, Tensor) or stored.dtype != torch.uint8:
        raise CheckpointError(f"{file}: its tokenizer is not stored as bytes, so this project did not write it")
    try:
        tokenizer = Tokenizer.from_bytes(tensor_to_bytes(stored))
    except TokenizerError as error:
        raise TokenizerError(f"{file}: {error}") from error
    if tokenizer.fingerprint != content["tokenizer_sha256"]:
        raise TokenizerError(
            f"{file}: the tokenizer inside (SHA-256 {tokenizer.fingerprint[:12]}...) is not the one that the model "
            f"was trained with ({str(content['tokenizer_sha256'])[:12]}...); take another checkpoint of the run"
        )
    return tokenizer


def _weights(state_dict: Any, file: Path) -> dict[str, Tensor]:
    """Those of the Transformer, under the names that it gives them."""
    weights = {
        name.removeprefix(_PREFIX): weight
        for name, weight in (state_dict.items() if isinstance(state_dict, Mapping) else ())
        if isinstance(name, str) and name.startswith(_PREFIX) and isinstance(weight, Tensor)
    }
    if not weights:
        raise CheckpointError(f"{file}: holds no weights of a Transformer, so this project did not write it")
    return weights


def _check_vocabulary(weights: Mapping[str, Tensor], tokenizer: Tokenizer, file: Path) -> None:
    for name, weight in weights.items():
        if name.startswith("embeddings.tables.") and len(weight) != tokenizer.vocab_size:
            raise TokenizerError(
                f"{file}: the embedding table has {len(weight)} rows and the tokenizer {tokenizer.vocab_size} "
                "pieces, so they are not from one run; take another checkpoint"
            )
