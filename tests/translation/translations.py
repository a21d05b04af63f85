"""Small texts, and what tests ask of translations."""

from collections.abc import Iterable

from seq2seq.config import DecodingConfig
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.result import Translation
from seq2seq.translation.translator import Translator

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
SHORT = DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=2)


def texts(translations: Iterable[Translation]) -> list[str]:
    return [translation.text for translation in translations]


def kinds(translation: Translation) -> list[str]:
    return [finding.kind for finding in translation.findings]


def engine_of(translator: Translator) -> PyTorchEngine:
    assert isinstance(translator.engine, PyTorchEngine)
    return translator.engine


def of_length(translator: Translator, n_tokens: int) -> str:
    """A line of unknown characters: two byte pieces each, after a first space, and a third byte for one euro sign."""
    line = "é" * ((n_tokens - 1) // 2) if n_tokens % 2 else "é" * ((n_tokens - 4) // 2) + "€"
    assert len(translator.tokenizer.encode([line])[0]) == n_tokens
    return line
