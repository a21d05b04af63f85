"""Compare an exported model with the original: both translate and score the same lines."""

import math
import random
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from seq2seq.config import DecodingConfig, RunConfig
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_lines, read_pairs
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.errors import ConfigError, CorpusError, UserError
from seq2seq.evaluation.scores import corpus_scores, difference_interval
from seq2seq.files import bundled_corpus
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.vocabulary import EOS

N_LINES = 100
_BATCH = 10  # lines at once, few enough for the memory of any model


class ParityError(UserError):
    """The exported model does not compute what the original computes."""


@dataclass(frozen=True)
class Lines:
    """Text to compare two engines on."""

    origin: str
    sources: list[str]
    references: list[str] | None = None


@dataclass(frozen=True)
class ParityReport:
    """How two engines differ on the same lines.

    Attributes:
        n_identical: lines for which both found the same translation.
        score_difference: largest difference between the two scores of such a translation.
        largest, mean: largest and mean absolute difference between the log-probabilities (nats) that both engines give
            to each token of the same hypotheses.
    """

    n_lines: int
    n_identical: int
    score_difference: float
    largest: float
    mean: float
    bleu: str

    def __str__(self) -> str:
        return (
            f"{self.n_identical} of {self.n_lines} translations identical, their scores up to "
            f"{self.score_difference:.2g} apart; {self.bleu}\n"
            f"log-probabilities of the same tokens: {self.largest:.2g} apart at most, {self.mean:.2g} on average"
        )


def measure_parity(
    before: Engine, after: Engine, tokenizer: Tokenizer, decoding: DecodingConfig, lines: Lines
) -> ParityReport:
    """Translate the lines with both engines, and score the hypotheses of `before` with both.

    Args:
        before: the engine with the original model, in float32.
        after: the engine with the exported model.
        lines: at least one, each of at most `max_length - 1` tokens for both.
    Raises:
        ParityError: one of them computes something that is not a finite number, which no comparison can judge.
    """
    # Only what both engines can do.
    decoding = replace(decoding, n_best=1, sampling=False)
    if decoding.normalization == "gnmt":
        decoding = replace(decoding, normalization="length")
    sources = tokenizer.encode(lines.sources)
    ours: list[Hypothesis] = []
    theirs: list[Hypothesis] = []
    differences: list[float] = []
    for begin in range(0, len(sources), _BATCH):
        batch = sources[begin : begin + _BATCH]
        sentences = [Sentence(source) for source in batch]
        found = [hypotheses[0] for hypotheses in before.decode(sentences, decoding)]
        ours += found
        theirs += [hypotheses[0] for hypotheses in after.decode(sentences, decoding)]
        targets = [hypothesis.tokens[: before.max_length - 1] for hypothesis in found]  # room for eos
        for source, expected, log_probs in zip(
            lines.sources[begin:], before.score(batch, targets), after.score(batch, targets), strict=False
        ):
            _check_finite("original", source, expected)
            _check_finite("exported", source, log_probs)
            differences += [abs(a - b) for a, b in zip(log_probs, expected, strict=True)]
    identical = [(a, b) for a, b in zip(ours, theirs, strict=True) if a.tokens == b.tokens]
    return ParityReport(
        n_lines=len(sources),
        n_identical=len(identical),
        score_difference=max((abs(a.score - b.score) for a, b in identical), default=0.0),
        largest=max(differences),
        mean=sum(differences) / len(differences),
        bleu=_bleu(_texts(ours, tokenizer), _texts(theirs, tokenizer), lines.references),
    )


def _check_finite(model: str, source: str, log_probs: list[float]) -> None:
    for value in log_probs:
        if not math.isfinite(value):
            raise ParityError(
                f"the {model} model gives a token of the translation of {source[:60]!r} the log-probability {value}, "
                "so it cannot be compared with the other; nothing was written"
            )


def find_lines(
    config: RunConfig, tokenizer: Tokenizer, given: Path | None = None, reference: Path | None = None
) -> Lines:
    """Up to `N_LINES` lines to compare with: of `given`, else of the validation set, else of the sample, else random.

    Raises:
        CorpusError: `given` or `reference` cannot be read, or `given` has no line that the model can translate.
    """
    if given is not None:
        sources = list(read_lines(given))
        references = list(read_lines(reference)) if reference is not None else None
        if references is not None and len(references) != len(sources):
            raise CorpusError(
                f"{reference} has {len(references)} lines and {given} {len(sources)}; line n of one must translate "
                "line n of the other"
            )
        if lines := _fitting(Lines(str(given), sources, references), config, tokenizer):
            return lines
        raise CorpusError(f"{given}: has no line that the model can translate; choose another --parity-input")
    for lines in (_validation(config), _sample(config)):
        if lines is not None and (fitting := _fitting(lines, config, tokenizer)) is not None:
            return fitting
    return Lines("random pieces of the vocabulary", _random_text(tokenizer, config.model.max_length))


def _validation(config: RunConfig) -> Lines | None:
    try:
        sources = fetch_sources(config.data, config.data.valid_sources, is_offline=True)
        pairs = list(islice(chain.from_iterable(map(read_pairs, sources)), 10 * N_LINES))
    except (CorpusError, ConfigError):  # not on this machine, or not any more
        return None
    return Lines("the validation set", [src for src, _ in pairs], [tgt for _, tgt in pairs])


def _sample(config: RunConfig) -> Lines | None:
    file = bundled_corpus("sample") / f"valid.{config.data.src_lang}"
    return Lines(f"the sample corpus ({file.name})", list(read_lines(file))) if file.is_file() else None


def _fitting(lines: Lines, config: RunConfig, tokenizer: Tokenizer) -> Lines | None:
    """The first `N_LINES` that are not blank, and not too long for the model; None if there are none."""
    ids = tokenizer.encode(lines.sources)
    longest = config.model.max_length - 1
    chosen = [i for i, text in enumerate(lines.sources) if text.strip() and 0 < len(ids[i]) <= longest][:N_LINES]
    if not chosen:
        return None
    references = None if lines.references is None else [lines.references[i] for i in chosen]
    return Lines(lines.origin, [lines.sources[i] for i in chosen], references)


def _random_text(tokenizer: Tokenizer, max_length: int) -> list[str]:
    """Lines of random pieces of the vocabulary."""
    draw = random.Random(0)
    n_tokens = max(1, min(20, max_length // 4))  # the tokenizer may make more pieces of the text than it was made from
    ids = [
        [draw.randrange(EOS + 1, tokenizer.vocab_size) for _ in range(draw.randint(1, n_tokens))]
        for _ in range(N_LINES)
    ]
    texts = [text for text in tokenizer.decode(ids) if text.strip()]
    encoded = tokenizer.encode(texts)
    return [text for text, line_ids in zip(texts, encoded, strict=True) if 0 < len(line_ids) < max_length]


def _texts(hypotheses: list[Hypothesis], tokenizer: Tokenizer) -> list[str]:
    return tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses])


def _bleu(ours: list[str], theirs: list[str], references: list[str] | None) -> str:
    if references is None:
        return f"BLEU {corpus_scores(theirs, ours, ['bleu'])['bleu'].score:.2f} against each other (no references)"
    before, after = (corpus_scores(texts, references, ["bleu"])["bleu"].score for texts in (ours, theirs))
    scores = f"BLEU {before:.2f} before and {after:.2f} after"
    if ours == theirs:
        return scores
    low, high = difference_interval(ours, theirs, references)
    verdict = "which is no more than chance" if low <= 0 <= high else "which is more than chance"
    return f"{scores}, {verdict} on these lines (95% of the differences are between {low:+.2f} and {high:+.2f})"
