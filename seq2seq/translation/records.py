"""How a translation is written (a line, n-best rows or JSON), and how its text is read back.

A function that writes takes the number of the line, counted from 1, and returns text that ends with a line feed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any

from seq2seq.analysis.alignment import pharaoh
from seq2seq.translation.result import Scored, TextHypothesis, Translation
from seq2seq.translation.text.rewriting import Change

FORMS = ("line", "n-best", "json")
_BEFORE_ALIGNMENT = " ||| "  # as Marian and fast_align write it


def line(number: int, translation: Translation) -> str:
    """The text alone, or followed by ` ||| ` and the word alignment if there is one."""
    best = translation.hypotheses[0]
    if best.alignment is None:
        return translation.text + "\n"
    return f"{translation.text}{_BEFORE_ALIGNMENT}{pharaoh(best.alignment)}\n"


def n_best(number: int, translation: Translation) -> str:
    """A row for each hypothesis, best first: line, rank (both from 1), score, text, alignment if there is one."""
    rows = (
        [str(number), str(rank), f"{hypothesis.score:.4f}", _column(hypothesis.text), *_alignment_column(hypothesis)]
        for rank, hypothesis in enumerate(translation.hypotheses, start=1)
    )
    return "".join("\t".join(row) + "\n" for row in rows)


def as_json(number: int, translation: Translation) -> str:
    """One object with all that is known about the translation of a line."""
    record: dict[str, Any] = {"line": number, "source": translation.source, "translation": translation.text}
    if len(translation.parts) > 1:
        record["parts"] = translation.parts
    if translation.kept:
        record["kept"] = translation.kept
    if translation.changes:
        record["normalized"] = _normalized(translation.changes)
        record["translated_as"] = translation.translated_as
    record["hypotheses"] = [_as_object(hypothesis) for hypothesis in translation.hypotheses]
    record["warnings"] = [{"kind": finding.kind, "message": finding.message} for finding in translation.findings]
    return json.dumps(record, ensure_ascii=False) + "\n"


def score(number: int, scored: Scored, is_json: bool) -> str:
    """The score of a given translation, or a JSON object that also has the log-probability of each token.

    Minus infinity is `-inf`, which sorts before all scores; in JSON, which has no such number, it is null.
    """
    if not is_json:
        return f"{scored.score:.4f}\n"
    record: dict[str, Any] = {
        "line": number,
        "source": scored.source,
        "translation": scored.text,
        "score": _finite(scored.score),
        "log_prob": _finite(scored.log_prob),
        "tokens": [{"piece": piece, "log_prob": _finite(log_prob)} for piece, log_prob in scored.tokens],
    }
    if scored.changes:
        record["normalized"] = _normalized(scored.changes)
    if scored.reason:
        record["reason"] = scored.reason
    return json.dumps(record, ensure_ascii=False) + "\n"


RECORDS: dict[str, Callable[[int, Translation], str]] = {"line": line, "n-best": n_best, "json": as_json}


def texts(lines: Iterable[str], form: str, has_alignment: bool) -> Iterator[str]:
    """Read back the best translation of each line of input from `lines`, which this module wrote."""
    for written in lines:
        if form == "json":
            yield json.loads(written)["translation"]
        elif form == "n-best":
            _, rank, _, text, *_ = written.split("\t")
            if rank == "1":
                yield text
        else:
            yield written.rsplit(_BEFORE_ALIGNMENT, 1)[0] if has_alignment else written


def _as_object(hypothesis: TextHypothesis) -> dict[str, Any]:
    record: dict[str, Any] = {"text": hypothesis.text, "score": hypothesis.score, "log_prob": hypothesis.log_prob}
    if hypothesis.tokens is not None:
        record["tokens"] = [{"piece": piece, "log_prob": log_prob} for piece, log_prob in hypothesis.tokens]
    if hypothesis.alignment is not None:
        record["alignment"] = pharaoh(hypothesis.alignment)
    if hypothesis.attention is not None:
        record["attention"] = [
            {
                "source": part.src_pieces,
                "target": part.tgt_pieces,
                "weights": [[round(float(weight), 4) for weight in row] for row in part.weights],
            }
            for part in hypothesis.attention
        ]
    return record


def _normalized(changes: Iterable[Change]) -> list[dict[str, str]]:
    return [{"kind": change.kind, "from": change.before, "to": change.after} for change in changes]


def _finite(log_prob: float) -> float | None:
    return log_prob if isfinite(log_prob) else None


def _alignment_column(hypothesis: TextHypothesis) -> list[str]:
    return [] if hypothesis.alignment is None else [pharaoh(hypothesis.alignment)]


def _column(text: str) -> str:
    """`text` without tabs. A translation may hold some, if the training text did."""
    return text.replace("\t", " ")
