"""The options of a translation, the same for all engines."""

import dataclasses
from dataclasses import dataclass
from typing import TypedDict, get_type_hints

from seq2seq.config import DecodingConfig
from seq2seq.errors import ConfigError
from seq2seq.translation.argument_types import check_types
from seq2seq.translation.normalizations import AUTO, kinds_of
from seq2seq.translation.text.glossary import Term
from seq2seq.translation.text.kept import KINDS
from seq2seq.translation.text.splitting import SPLITS
from seq2seq.translation.text.typography import TYPOGRAPHIES


class DecodingSettings(TypedDict, total=False):
    """Settings of the search, which replace those of the model's validation; `DecodingConfig` explains them."""

    beam_size: int
    normalization: str
    alpha: float
    patience: float
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
        mbr: find so many translations and choose the one that is most like the others, by chrF (minimum Bayes risk
            decoding, Eikema and Aziz 2020); 0: the one with the best score.
        keep: kinds of things that come through unchanged, some of `kept.KINDS`.
        terms: words of the source, and what must stand for them in the translation, letter by letter.
        normalize: what is changed in a line before it is translated, as training had it: `auto` what the model was not
            trained for, `never` nothing, `always` all kinds, or some of `normalizations.KINDS` with commas between.
        split: which lines of several sentences are split: `auto` those with more sentences than lines in training had,
            `always` all, `never` none. Whatever it is, a line is split if it is too long for the model.
        typography: `fr` restores French typography; empty leaves the text as the model wrote it.
    Raises:
        TypeError: a value is of another type.
        ConfigError: the typography, the split, a kind of change or of thing is unknown, or a term is blank.
    """

    tag: str = ""
    token_scores: bool = False
    alignment: bool = False
    typography: str = ""
    mbr: int = 0
    keep: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    split: str = "auto"
    normalize: str = AUTO

    def __post_init__(self) -> None:
        check_types(vars(self), get_type_hints(TranslationOptions))
        if self.typography and self.typography not in TYPOGRAPHIES:
            raise ConfigError(f"typography={self.typography!r} is not one of {', '.join(TYPOGRAPHIES)}")
        if self.split not in SPLITS:
            raise ConfigError(f"split={self.split!r} is not one of {', '.join(SPLITS)}")
        kinds_of(self.normalize)
        if unknown := [kind for kind in self.keep if kind not in KINDS]:
            raise ConfigError(f"keep={unknown[0]!r} is not one of {', '.join(KINDS)}")
        if not all(side.strip() for term in self.terms for side in term):
            raise ConfigError("terms has an entry whose term or translation is blank; leave it out")

    @property
    def takes_out(self) -> bool:
        """Whether anything is taken out of lines, and put back by attention."""
        return any(kind != "numbers" for kind in self.keep)

    def searched_with(self, decoding: DecodingConfig) -> DecodingConfig:
        """The settings of the search: with `mbr`, and for an n-best list, it finds more than are returned.

        Raises:
            ConfigError: fewer translations are to be found than returned.
        """
        if not self.mbr:
            return dataclasses.replace(decoding, n_best=_n_searched(decoding))
        if self.mbr < max(2, decoding.n_best):
            raise ConfigError(f"mbr={self.mbr} are too few to choose {decoding.n_best} of them; search for more")
        beam_size = decoding.beam_size if decoding.sampling else max(self.mbr, decoding.beam_size)
        return dataclasses.replace(decoding, n_best=self.mbr, beam_size=beam_size)


def _n_searched(decoding: DecodingConfig) -> int:
    """How many translations are searched for n different ones: two of them may have one text. Samples are as drawn."""
    if decoding.n_best == 1 or decoding.sampling:
        return decoding.n_best
    return min(2 * decoding.n_best, decoding.beam_size)
