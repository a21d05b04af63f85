"""The options of a translation: of its text, its search and its engine.

`TextSettings`, `DecodingSettings` and `EngineSettings` are keywords from Python; `TranslationRequest` (request.py) has
what only a command line needs. Together they are the options of translate.py.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypedDict, get_args, get_type_hints

import regex

from seq2seq.config import DecodingConfig
from seq2seq.errors import ConfigError
from seq2seq.options import (
    Option,
    above_zero,
    check_types,
    device,
    not_negative,
    not_negative_integer,
    positive,
    probability,
)
from seq2seq.translation.text.glossary import Term
from seq2seq.translation.text.kept import KINDS
from seq2seq.translation.text.rewriting import AUTO, kinds_of
from seq2seq.translation.text.rewriting import KINDS as NORMALIZATIONS
from seq2seq.translation.text.splitting import SPLITS
from seq2seq.translation.text.typography import TYPOGRAPHIES

EngineName = Literal["auto", "torch", "ctranslate2"]
AttentionName = Literal["soft", "hard"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
ATTENTIONS: tuple[AttentionName, ...] = get_args(AttentionName)

_text, _form = partial(Option, group="text"), partial(Option, group="what is written")
_search = partial(Option, group="search", is_for_search=True)
_score = partial(Option, group="search")  # means something for given translations, too
_sample = partial(Option, group="search", needs="sampling")
_speed = partial(Option, group="speed")


def _kinds(text: str) -> tuple[str, ...]:
    kinds = KINDS if text == "all" else tuple(text.split(","))
    if not set(kinds) <= set(KINDS):
        raise ValueError
    return kinds


_kinds.__name__ = f"kinds (all, or some of {', '.join(KINDS)})"  # which argparse shows

_SPLIT = (
    "translate the sentences of a line one by one: if training had fewer on a line (auto, the default), always, or "
    "never; a line that is too long for the model is always split"
)
_NORMALIZE = (
    "what is read as training had it, and given back: auto (what the model was not trained for, the default), never, "
    f"always, or some of {','.join(NORMALIZATIONS)}"
)
_KEEP = f"what comes through unchanged: all, or some of {','.join(KINDS)}"
_KEEP_PATTERN = "what else comes through unchanged, as regular expressions; may be given several times"
_ALIGNMENT = "append which source word each word comes from, after ' ||| ' as 0-0 1-2; with --json also attention"
_N_BEST = (
    "write the N best translations of each line, one below the other, as four columns separated by tabs: number of the "
    "line (from 1), rank (from 1), score, text; a blank line has only one; with --json, N hypotheses"
)
_MBR = "find N translations, and choose the one that is most like the others by chrF (minimum Bayes risk)"
_NORMALIZATION = "divide log-probabilities by 1, n^ALPHA or ((5 + n) / 6)^ALPHA, where n is the number of tokens"
_PATIENCE = "with CTranslate2: a beam stops when P x beam size translations have ended; PyTorch's when none can improve"
_BATCH = (
    "size of a batch: lines x tokens of the longest x beam size; lower it if memory runs out; default: 8192, on a GPU "
    "32768, or 3072 with CTranslate2"
)
_WEIGHTS = "how much each model of an ensemble counts, one number for each; default: all the same"
_ATTENTION = "hard: each head attends to the one token that it weighs most; soft: to all; default: as in training"
_ENGINE = "auto takes what the model has weights for, torch first; default: auto"
_DEVICE = "auto, cpu, cuda, or one GPU as cuda:1; several need a process each; default: a GPU if there is one"
_PRECISION = (
    "type of matrix products: float32, bfloat16, with CTranslate2 also int8 and others; default: bfloat16 if the "
    "hardware has it; with CTranslate2, the type of the stored weights"
)
_WORKERS = "batches that are translated at the same time; default: on a CPU one for each thread"


class TextSettings(TypedDict, total=False):
    """What kind of text the lines are, and what to return beside their translations."""

    split: Annotated[str, _text(_SPLIT, choices=SPLITS, is_for_search=True)]
    normalize: Annotated[str, _text(_NORMALIZE, "KINDS")]
    keep: Annotated[Sequence[str], _text(_KEEP, "KINDS", _kinds, is_common=True, is_for_search=True)]
    keep_pattern: Annotated[Sequence[str], _text(_KEEP_PATTERN, "REGEX", is_list=True, is_for_search=True)]
    terms: Mapping[str, str]  # words of the source, and what stands for them, letter by letter; --terms has a file
    tag: Annotated[str, _text("the kind of text, if the model was trained with tags for it", "NAME", is_common=True)]
    token_scores: Annotated[bool, _form("with --json: the log-probability of each token", needs="form")]
    alignment: Annotated[bool, _form(_ALIGNMENT, is_common=True, is_for_search=True, is_by_line=True)]
    typography: Annotated[
        str,
        _form("restore French spacing, quotation marks and apostrophes", choices=[*TYPOGRAPHIES], is_for_search=True),
    ]
    mbr: Annotated[int, _search(_MBR, "N", positive)]


class DecodingSettings(TypedDict, total=False):
    """Settings of the search, which replace those of the model's validation; they are the keys of `DecodingConfig`."""

    beam_size: Annotated[int, _search("hypotheses kept at each step; 1 is greedy", "N", positive, is_common=True)]
    normalization: Annotated[
        str, _score(_NORMALIZATION, flags=["--length-normalization"], choices=["none", "length", "gnmt"])
    ]
    alpha: Annotated[float, _score("higher values favour longer translations", "ALPHA", not_negative)]
    patience: Annotated[float, _search(_PATIENCE, "P", above_zero)]
    n_best: Annotated[
        int,
        _form(
            _N_BEST, "N", positive, flags=["--n-best", "--nbest"], is_common=True, is_for_search=True, is_by_line=True
        ),
    ]
    max_length_a: Annotated[
        float, _search("at most A x source tokens + B tokens", ("A", "B"), not_negative, flags=["--max-length"])
    ]
    max_length_b: int
    min_length_a: Annotated[
        float, _search("at least A x source tokens + B tokens", ("A", "B"), not_negative, flags=["--min-length"])
    ]
    min_length_b: int
    no_repeat_ngram: Annotated[
        int, _search("no sequence of N tokens comes twice in a translation; 0: any may", "N", not_negative_integer)
    ]
    repetition_penalty: Annotated[float, _search("above 1: discourages tokens that came before", "P", above_zero)]
    sampling: Annotated[
        bool,
        _search("draw tokens at random, without a search; --n-best draws several", flags=["--sample"], is_common=True),
    ]
    temperature: Annotated[float, _sample("with --sample: below 1 is less random", "T", above_zero)]
    top_k: Annotated[int, _sample("with --sample: only from the K most probable tokens", "K", positive)]
    top_p: Annotated[float, _sample("with --sample: only from the fewest tokens that reach P", "P", probability)]
    seed: Annotated[int, _sample("with --sample: the same seed gives the same text", "N", not_negative_integer)]
    max_batch_tokens: Annotated[int, _speed(_BATCH, "N", positive, is_common=True)]


class Settings(TextSettings, DecodingSettings, total=False):
    """All keywords of `Translator.translate`."""


class EngineSettings(TypedDict, total=False):
    """The keywords of `seq2seq.load`."""

    weights: Annotated[Sequence[float], Option(_WEIGHTS, "W", above_zero, is_list=True)]
    attention: Annotated[AttentionName, Option(_ATTENTION, choices=ATTENTIONS)]
    engine: Annotated[EngineName, _speed(_ENGINE, choices=ENGINES, is_common=True)]
    device: Annotated[str, _speed(_DEVICE, "DEVICE", device, is_common=True)]
    precision: Annotated[str, _speed(_PRECISION, "TYPE")]
    threads: Annotated[int, _speed("CPU threads in all; default: one for each core", "N", positive)]
    workers: Annotated[int, _speed(_WORKERS, "N", positive)]
    forks: bool  # see `EngineOptions`


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """`TextSettings` with their defaults, checked.

    Raises:
        TypeError: a value is of another type.
        ConfigError: the typography, the split, a kind of change or of thing is unknown, a pattern is wrong, or a
            term is blank.
    """

    tag: str = ""
    token_scores: bool = False
    alignment: bool = False
    typography: str = ""
    mbr: int = 0
    keep: tuple[str, ...] = ()
    keep_pattern: tuple[str, ...] = ()
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
        for pattern in self.keep_pattern:
            _check_pattern(pattern)
        if not all(side.strip() for term in self.terms for side in term):
            raise ConfigError("terms has an entry whose term or translation is blank; leave it out")

    @property
    def takes_out(self) -> bool:
        """Whether anything is taken out of lines, and put back by attention."""
        return bool(self.keep_pattern) or any(kind != "numbers" for kind in self.keep)

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


def _check_pattern(pattern: str) -> None:
    try:
        matches_nothing = regex.search(pattern, "") is not None
    except regex.error as error:
        raise ConfigError(f"keep_pattern={pattern!r} is no regular expression: {error}") from error
    if matches_nothing:
        raise ConfigError(f"keep_pattern={pattern!r} matches empty text, which is everywhere; write + in place of *")


def _n_searched(decoding: DecodingConfig) -> int:
    """How many translations are searched for n different ones: two of them may have one text. Samples are as drawn."""
    if decoding.n_best == 1 or decoding.sampling:
        return decoding.n_best
    return min(2 * decoding.n_best, decoding.beam_size)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """`EngineSettings` with their defaults, and what the call of a command adds; `load.py` decides the rest.

    Attributes:
        workers: 0 means one on a GPU, and one for each thread of a CPU, where a batch on one thread never waits for
            another thread; but at most 4 if torch's workers are threads, and no more than fit into memory.
        forks: whether torch's workers on a CPU may be processes forked from this one, if each has one thread. That is
            faster. It is safe only while nothing else runs in this process: a lock that another thread holds would
            never open in the child.
        local_rank: number, from 0, of this process among those of the machine that share a text: each takes a GPU of
            its own where `device` names none.
        n_local: how many processes share the memory of the machine.
        max_batch_tokens: how large the batches will be, which decides how much memory a worker needs; 0: as large as
            suits the engine.
        converted: a model directory with weights for CTranslate2 of the one model, to search with it; PyTorch then only
            gives attention.
    Raises:
        TypeError: a value is of another type.
        ConfigError: several devices are named.
    """

    engine: str = "auto"
    device: str = "auto"
    precision: str = "auto"
    threads: int = 0
    workers: int = 0
    forks: bool = False
    attention: str = ""
    weights: tuple[float, ...] = ()
    local_rank: int = 0
    n_local: int = 1
    max_batch_tokens: int = 0
    converted: Path | None = None

    def __post_init__(self) -> None:
        check_types(vars(self), get_type_hints(EngineOptions))
        if "," in self.device:
            raise ConfigError(
                f"device={self.device!r} names several devices, and a process uses one; start a process for each, "
                "as in torchrun --nproc-per-node 2 translate.py ..."
            )
        for weight in self.weights:
            check_types({"weights": weight}, {"weights": float})
