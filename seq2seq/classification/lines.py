"""Lines in, lines out: one call of `python -m seq2seq classify`."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from seq2seq.classification.text_classifier import Labelled, TextClassifier
from seq2seq.corpus.reader import read_lines, read_stream
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note
from seq2seq.files import atomic_file


def classify_lines(classifier: TextClassifier, source: Path | None, output: Path | None, form: str) -> None:
    """Write a line for each line.

    Args:
        source: None for stdin.
        output: None for stdout.
        form: `labels`, `scores` or `json`.
    Raises:
        UserError: the input cannot be read, or the output cannot be written.
    """
    lines = read_lines(source) if source else read_stream(sys.stdin.buffer, "stdin")
    n_cut = 0
    with _opened(output) as file:
        for each in classifier.stream(lines):
            n_cut += each.is_cut
            file.write(f"{as_line(each, form)}\n".encode())
        file.flush()
    if n_cut:
        longest = classifier.model.config.max_length - 1
        note(f"lines that are longer than the model takes, and judged by their first {longest} tokens: {n_cut:,}")


def as_line(each: Labelled, form: str) -> str:
    if form == "json":
        rounded = {label: round(probability, 6) for label, probability in each.probabilities.items()}
        return json.dumps({"text": each.text, "label": each.label, "probabilities": rounded}, ensure_ascii=False)
    if form == "scores" and each.label:
        return f"{each.label}\t{each.probabilities[each.label]:.4f}"
    return each.label


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        return
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise TranslationError(f"--output {output}: is a directory, or in none; name a file in a directory that exists")
    with atomic_file(output) as file:
        yield file
