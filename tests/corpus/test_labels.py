"""Labelled text: what is read, and what is refused with its file and line."""

from pathlib import Path

import pytest

from seq2seq.corpus import labels
from seq2seq.corpus.labels import learned_labels, read_labelled
from seq2seq.corpus.sources import JsonlFile, PairedFiles, Source, TsvFile
from seq2seq.errors import CorpusError
from tests.labelling import write_lines

GOOD = ["Un chat dort.\tcaptions", "Oui !\teveryday", "Un chien court.\tcaptions"]


def tsv(folder: Path, lines: list[str]) -> TsvFile:
    return TsvFile(write_lines(folder / "text.tsv", lines), 0, 1, 2)


def forms(folder: Path) -> list[Source]:
    """The same text as TSV, as two files and as JSON Lines."""
    pairs = [line.split("\t") for line in GOOD]
    write_lines(folder / "t.fr", [text for text, _ in pairs])
    write_lines(folder / "t.label", [label for _, label in pairs])
    write_lines(folder / "t.jsonl", [f'{{"fr": "{text}", "label": "{label}"}}' for text, label in pairs])
    return [
        tsv(folder, GOOD),
        PairedFiles(folder / "t.fr", folder / "t.label"),
        JsonlFile(folder / "t.jsonl", "fr", "label"),
    ]


def test_labels_may_be_any_texts_and_text_has_the_forms_of_parallel_text(tmp_path: Path) -> None:
    expected = [tuple(line.split("\t")) for line in GOOD]
    for source in forms(tmp_path):
        assert list(read_labelled(source)) == expected
        assert learned_labels([source]) == ["captions", "everyday"]
    assert learned_labels([tsv(tmp_path, ["a\t-1", "b\té à", "c\t</s>"])]) == ["-1", "</s>", "é à"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("no label here", "text.tsv:3: expected 2 tab-separated fields, found 1"),
        ("Un chat\tdort.\tcaptions", "text.tsv:3: expected 2 tab-separated fields, found 3"),
        ("  \tcaptions", "text.tsv:3: there is no text to classify; remove the line"),
        ("Un chat.\t ", "text.tsv:3: 'Un chat.' has no label; add it, or remove the line"),
        (
            "Un chat.\tcaption",
            "text.tsv:3: the label 'caption' is not one of the training text ('captions', 'everyday'); correct it, or "
            "add such lines to data.train",
        ),
    ],
)
def test_a_bad_line_is_one_sentence_with_its_place(tmp_path: Path, bad: str, message: str) -> None:
    with pytest.raises(CorpusError) as refused:
        list(read_labelled(tsv(tmp_path, [*GOOD[:2], bad, GOOD[2]]), ["captions", "everyday"]))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_one_label_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"text.tsv: the only label is 'captions'; a classifier needs at least two"):
        learned_labels([tsv(tmp_path, [GOOD[0], GOOD[2]])])


def test_a_column_of_texts_is_no_column_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_LABELS", 4)
    with pytest.raises(CorpusError, match=r"text.tsv:5: more than 4 different labels, the latest one 'text 4'; check"):
        learned_labels([tsv(tmp_path, [f"captions\ttext {i}" for i in range(9)])])
