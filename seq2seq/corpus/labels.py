"""Labelled text: pairs of a text and its label. It has the forms of parallel text, with the label as target."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import PairedFiles, Source
from seq2seq.errors import CorpusError

MOST_LABELS = 1_000  # of more, the column of the labels is rather one of texts


def read_labelled(source: Source, labels: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
    """All texts of one corpus source with their labels, in order.

    Args:
        labels: those that there may be; None: any.
    Raises:
        CorpusError: what `read_pairs` raises; a text or a label that is blank; an unknown label. It says where.
    """
    return checked_labels(read_pairs(source), source, labels)


def checked_labels(
    pairs: Iterable[tuple[str, str]], source: Source, labels: Sequence[str] | None = None, first: int = 1
) -> Iterator[tuple[str, str]]:
    """These texts with their labels, of which the first stands in line `first`; see `read_labelled`."""
    known = None if labels is None else frozenset(labels)
    for number, (text, label) in enumerate(pairs, start=first):
        if not text.strip():
            raise CorpusError(f"{_text_file(source)}:{number}: there is no text to classify; remove the line")
        if not label.strip():
            raise CorpusError(f"{_label_file(source)}:{number}: {text[:60]!r} has no label; add it, or remove the line")
        if known is not None and label not in known:
            raise CorpusError(
                f"{_label_file(source)}:{number}: the label {label[:60]!r} is not one of the training text "
                f"({_listed(labels or ())}); correct it, or add such lines to data.train"
            )
        yield text, label


def learned_labels(sources: Sequence[Source]) -> list[str]:
    """The labels of the training text, each once, in alphabetical order.

    Raises:
        CorpusError: what `read_labelled` raises; there are fewer than two, or so many that they are no labels.
    """
    found: set[str] = set()
    for source in sources:
        for number, (_, label) in enumerate(read_labelled(source), start=1):
            found.add(label)
            if len(found) > MOST_LABELS:
                raise CorpusError(
                    f"{_label_file(source)}:{number}: more than {MOST_LABELS:,} different labels, the latest one "
                    f"{label[:60]!r}; check which column is the label (data.tsv_columns)"
                )
    if len(found) < 2:
        files = ", ".join(str(_label_file(source)) for source in sources)
        raise CorpusError(f"{files}: the only label is {_listed(sorted(found))}; a classifier needs at least two")
    return sorted(found)


def _text_file(source: Source) -> Path:
    return source.src if isinstance(source, PairedFiles) else source.path


def _label_file(source: Source) -> Path:
    return source.tgt if isinstance(source, PairedFiles) else source.path


def _listed(labels: Sequence[str]) -> str:
    few = [repr(label[:30]) for label in labels[:8]]
    return ", ".join(few) + (f" and {len(labels) - len(few):,} more" if len(labels) > len(few) else "")
