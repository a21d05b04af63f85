"""The options of a translation, the same for all engines."""

from dataclasses import dataclass
from typing import TypedDict

from seq2seq.errors import ConfigError
from seq2seq.translation.text.typography import TYPOGRAPHIES


class DecodingSettings(TypedDict, total=False):
    """Settings of the search, which replace those of the model's validation; `DecodingConfig` explains them."""

    beam_size: int
    normalization: str
    alpha: float
    n_best: int
    max_length_a: float
    max_length_b: int
    min_length_a: float
    min_length_b: int
    no_repeat_ngram: int
    repetition_penalty: float
    sampling: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    max_batch_tokens: int


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """What kind of text the lines are, and what to return beside their translations.

    Attributes:
        tag: the kind of text, one of `tokenizer.tags`; empty: unknown.
        token_scores: return the log-probability of each token.
        alignment: return attention and word alignment.
        typography: `fr` restores French typography; empty leaves the text as the model wrote it.
    Raises:
        ConfigError: the typography is unknown.
    """

    tag: str = ""
    token_scores: bool = False
    alignment: bool = False
    typography: str = ""

    def __post_init__(self) -> None:
        if self.typography and self.typography not in TYPOGRAPHIES:
            raise ConfigError(f"typography={self.typography!r} is not one of {', '.join(TYPOGRAPHIES)}")
