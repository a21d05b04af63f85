"""Which of two translations a model prefers, a right or a wrong one; and which of two words a word is drawn to."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.corpus.reader import read_lines
from seq2seq.errors import CorpusError, TranslationError
from seq2seq.inspection.neighbours import cosine, row_of
from seq2seq.inspection.vectors import LineVectors, VectorOptions, line_vectors
from seq2seq.translation.translator import Translator

_N_FIELDS = (3, 6)


@dataclass(frozen=True)
class Contrast:
    """A sentence with two translations.

    Attributes:
        word, antecedent, other: words of the source: one, the one that it refers to, and one that it does not refer to;
            all empty if nobody asks.
    """

    source: str
    right: str
    wrong: str
    word: str = ""
    antecedent: str = ""
    other: str = ""


@dataclass(frozen=True)
class Judged:
    """What a model makes of a contrast.

    Attributes:
        margin: by how many nats the right translation is more probable; below 0 if the model prefers the wrong one.
        nearness: by how much the cosine of the word and its antecedent is larger than that of the word and the other
            one; None if nobody asks.
    """

    source: str
    margin: float
    nearness: float | None


def read_contrasts(path: Path) -> list[Contrast]:
    """Read a file with tabs between its fields.

    Raises:
        CorpusError: a line does not have 3 or 6 fields, or one is blank; there is no line.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) not in _N_FIELDS or not all(map(str.strip, fields)):
            raise CorpusError(
                f"{path}:{number}: expected source, right and wrong translation with tabs between them, and maybe a "
                f"word, what it refers to and what it does not, found {line[:60]!r}"
            )
        found.append(Contrast(*fields))
    if not found:
        raise CorpusError(f"{path} is empty; give a contrast on each line")
    return found


def judge(translator: Translator, contrasts: Sequence[Contrast], layer: int | None = None) -> list[Judged]:
    """Ask a model about each contrast.

    Args:
        layer: of the vectors, see `VectorOptions`.
    Raises:
        TranslationError: a translation cannot be scored, or a source does not have a word.
    """
    margins = []
    pairs = [(each.source, text) for each in contrasts for text in (each.right, each.wrong)]
    scored = list(translator.score(pairs))
    for right, wrong in zip(scored[::2], scored[1::2], strict=True):
        if reason := right.reason or wrong.reason:
            raise TranslationError(f"{right.source!r} cannot be scored: {reason}")
        margins.append(right.log_prob - wrong.log_prob)
    vectors = line_vectors(translator, [each.source for each in contrasts], VectorOptions(unit="word", layer=layer))
    return [
        Judged(each.source, margin, _nearness(each, line) if each.word else None)
        for each, margin, line in zip(contrasts, margins, vectors, strict=True)
    ]


def _nearness(contrast: Contrast, line: LineVectors) -> float:
    word, antecedent, other = (row_of(each, line) for each in (contrast.word, contrast.antecedent, contrast.other))
    near, far = cosine(line.vectors[[antecedent, other]], line.vectors[word])
    return float(near - far)


def contrasts_as_text(judged: Sequence[Judged]) -> str:
    """A row for each contrast, and how many are right."""
    asked = [each.nearness for each in judged if each.nearness is not None]
    lines = ["margin" + "  nearness" * bool(asked)]
    for each in judged:
        nearness = "" if each.nearness is None else f"  {each.nearness:+8.3f}"
        lines.append(f"{each.margin:+6.2f}{nearness}  {each.source}")
    n_right = sum(each.margin > 0 for each in judged)
    lines += ["", f"{n_right} of {len(judged)} times, the right translation is the more probable one"]
    if asked:
        n_near = sum(each > 0 for each in asked)
        lines.append(f"{n_near} of {len(asked)} times, the word is nearer to what it refers to")
    return "\n".join(lines)
