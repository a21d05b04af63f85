"""The result of translating a line of text, or of scoring one. How it is written, read back, and compared."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seq2seq.analysis.alignment import pharaoh
from seq2seq.corpus.reader import read_aligned, read_lines
from seq2seq.exit_status import note
from seq2seq.translation.text.health import Finding
from seq2seq.translation.text.rewriting import Change

if TYPE_CHECKING:  # it imports sacreBLEU's helpers, which only scores need
    from seq2seq.evaluation.scores import Scoring

_BEFORE_ALIGNMENT = " ||| "  # as Marian and fast_align write it


class Attention(NamedTuple):
    """How much the model looked at each source piece when it chose each target piece."""

    src_pieces: list[str]
    tgt_pieces: list[str]
    weights: np.ndarray  # (target pieces, source pieces); what a row lacks to 1 went to eos and the tag


@dataclass(frozen=True)
class TextHypothesis:
    """One translation of a line.

    Attributes:
        log_prob: in nats, the ends of its sentences included; 0 for a blank line.
        score: log_prob divided by the length penalty; higher is better. Of a line that was split, the mean of the
            scores of its parts, each weighted by the tokens of its source.
        tokens: pieces and their log-probabilities, on request. `</s>` is the last one, unless the hypothesis was cut.
        attention: one for each part of the line, on request.
        alignment: pairs of source word and target word, counted from 0, on request.
    """

    text: str
    log_prob: float
    score: float
    tokens: list[tuple[str, float]] | None = None
    attention: list[Attention] | None = None
    alignment: list[tuple[int, int]] | None = None


@dataclass(frozen=True)
class Translation:
    """The translations of one line.

    Attributes:
        source: the line.
        text: the best hypothesis, always one line; empty for a blank source.
        hypotheses: up to `decoding.n_best` of them, best first. A blank source has one, which is empty.
        parts: the parts that the line was split into; one if it was not split, none if it is blank. Each hypothesis of
            the line joins one hypothesis of each part.
        kept: what was taken out of the line and put back into each hypothesis, in the order of the line; the parts do
            not have it.
        findings: reasons why a reader should look at this translation; mostly none.
        changes: what was changed in the line before it was translated, as training had it.
        translated_as: the line as the model read it, if anything was changed; else empty.
        n_terms: how many terms of the glossary the line has.
    """

    source: str
    text: str
    hypotheses: list[TextHypothesis]
    parts: list[str]
    findings: list[Finding] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    translated_as: str = ""
    n_terms: int = 0


@dataclass(frozen=True)
class Scored:
    """How probable the model finds a given translation of a line.

    Attributes:
        text: the given translation.
        log_prob, score: as in `TextHypothesis`; both -inf if there is a `reason`.
        tokens: pieces with their log-probabilities; `</s>` is the last one.
        reason: why the translation has no score, or no probability; mostly empty.
        changes: what was changed in the source, see `Translation`.
    """

    source: str
    text: str
    log_prob: float
    score: float
    tokens: list[tuple[str, float]]
    reason: str = ""
    changes: list[Change] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        return [Finding("unscored", self.reason)] if self.reason else []


def written(result: Translation | Scored, number: int, form: str) -> str:
    """What the output has of a line of the input: text that ends with a line feed.

    line     the translation, or followed by ` ||| ` and the word alignment if there is one; of a `Scored`, its score
    n-best   a row for each hypothesis, best first: line, rank (both from 1), score, text, alignment if there is one
    json     one object with all that is known

    Minus infinity is `-inf`, which sorts before all scores; in JSON, which has no such number, it is null.

    Args:
        number: of the line, from 1.
        form: one of these three.
    """
    if form == "json":
        record = _translation(result) if isinstance(result, Translation) else _scored(result)
        common = {"line": number, "source": result.source, "translation": result.text}
        return json.dumps(common | record, ensure_ascii=False) + "\n"
    if isinstance(result, Scored):
        return f"{result.score:.4f}\n"
    if form == "n-best":
        rows = (
            # A translation may hold tabs, if the training text did.
            (str(number), str(rank), f"{each.score:.4f}", each.text.replace("\t", " "), *_alignment(each))
            for rank, each in enumerate(result.hypotheses, start=1)
        )
        return "".join("\t".join(row) + "\n" for row in rows)
    return _BEFORE_ALIGNMENT.join([result.text, *_alignment(result.hypotheses[0])]) + "\n"


def texts(lines: Iterable[str], form: str, has_alignment: bool) -> Iterator[str]:
    """Read back the best translation of each line of input from `lines`, which `written` made."""
    for line in lines:
        if form == "json":
            yield json.loads(line)["translation"]
        elif form == "n-best":
            _, rank, _, text, *_ = line.split("\t")
            if rank == "1":
                yield text
        else:
            yield line.rsplit(_BEFORE_ALIGNMENT, 1)[0] if has_alignment else line


def print_scores(
    hypotheses: list[str],
    references: Sequence[Path],
    other: Path | None,
    typography: str,
    scoring: "Scoring",
) -> None:
    """Print BLEU and chrF of translations with intervals, and a comparison with other ones, to stderr.

    Args:
        references: files with known translations, of which line n goes with translation n.
        other: a file with other translations of the same lines, if there is one.
        typography: what the translations were written with; a part of each signature.
    """
    from seq2seq.evaluation.over_seeds import recipe_tests  # they import sacrebleu, which only scores need
    from seq2seq.evaluation.scores import report

    known = list(read_aligned(references))
    for name, score in report(hypotheses, known, scoring=scoring).items():
        about = f"{score.signature}  typography:{typography or 'none'}"
        note(f"{name:5} {score.score:6.2f} ± {score.half_width:.2f}  {about}")
    if other is None:
        return
    note(f"\npaired bootstrap against {other}:")
    tests = recipe_tests([[list(read_lines(other))], [hypotheses]], known, ("bleu", "chrf"), scoring=scoring)
    for name, (theirs, ours) in tests.items():
        found = "equal"
        if ours.p_value is not None:
            found = f"p = {ours.p_value:.4f}, {'' if ours.p_value < 0.05 else 'not '}significant"
        scores = f"{ours.together.score:6.2f} against {theirs.together.score:6.2f}"
        note(f"{name:5} {scores}  {found}  {ours.together.signature}")


def _translation(result: Translation) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if len(result.parts) > 1:
        record["parts"] = result.parts
    if result.kept:
        record["kept"] = result.kept
    if result.changes:
        record |= _normalized(result.changes) | {"translated_as": result.translated_as}
    record["hypotheses"] = [_hypothesis(each) for each in result.hypotheses]
    record["warnings"] = [finding._asdict() for finding in result.findings]
    return record


def _hypothesis(hypothesis: TextHypothesis) -> dict[str, Any]:
    record: dict[str, Any] = {"text": hypothesis.text, "score": hypothesis.score, "log_prob": hypothesis.log_prob}
    if hypothesis.tokens is not None:
        record["tokens"] = _tokens(hypothesis.tokens)
    if hypothesis.alignment is not None:
        record["alignment"] = pharaoh(hypothesis.alignment)
    if hypothesis.attention is not None:
        record["attention"] = [
            {"source": src, "target": tgt, "weights": [[round(float(weight), 4) for weight in row] for row in weights]}
            for src, tgt, weights in hypothesis.attention
        ]
    return record


def _scored(result: Scored) -> dict[str, Any]:
    record: dict[str, Any] = {"score": _finite(result.score), "log_prob": _finite(result.log_prob)}
    record["tokens"] = _tokens(result.tokens)
    if result.changes:
        record |= _normalized(result.changes)
    if result.reason:
        record["reason"] = result.reason
    return record


def _tokens(tokens: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"piece": piece, "log_prob": _finite(log_prob)} for piece, log_prob in tokens]


def _normalized(changes: Iterable[Change]) -> dict[str, Any]:
    return {"normalized": [{"kind": kind, "from": before, "to": after} for kind, before, after in changes]}


def _finite(log_prob: float) -> float | None:
    return log_prob if isfinite(log_prob) else None


def _alignment(hypothesis: TextHypothesis) -> list[str]:
    return [] if hypothesis.alignment is None else [pharaoh(hypothesis.alignment)]
