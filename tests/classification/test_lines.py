"""Lines in, labels out: from the command line and from Python."""

import io
import json
from pathlib import Path

import pytest
import torch

import seq2seq
from seq2seq.artifacts.checkpoint import write_checkpoint
from seq2seq.cli import main
from seq2seq.errors import CheckpointError
from tests.labelling import MARKS
from tests.training.tiny_runs import checkpoint

TEXT = "bab zuz\n\nkak lol gug\nvev\n  \n"
LABELS = ["catégorie un", "", "3", "deux/2", ""]


def classify(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch, *words: object, stdin: str = "") -> list[str]:
    """The lines that come out."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
    main(["classify", *map(str, words), "--precision", "float32", "--device", "cpu"])
    out = capsysbinary.readouterr().out.decode()
    assert not out or out.endswith("\n")
    return out.split("\n")[:-1]


def test_there_is_a_line_for_each_line(classified_run: Path, capsysbinary, monkeypatch, tmp_path: Path) -> None:
    assert classify(capsysbinary, monkeypatch, "--model", classified_run, stdin=TEXT) == LABELS
    (tmp_path / "text").write_text(TEXT)
    words = ("--model", classified_run, "--input", tmp_path / "text", "--output", tmp_path / "labels")
    assert classify(capsysbinary, monkeypatch, *words) == []
    assert (tmp_path / "labels").read_text().split("\n")[:-1] == LABELS


def test_probabilities_come_as_scores_and_as_json(classified_run: Path, capsysbinary, monkeypatch) -> None:
    lines = classify(capsysbinary, monkeypatch, "--model", classified_run, "--json", stdin=TEXT)
    records = [json.loads(line) for line in lines]
    assert [record["text"] for record in records] == TEXT.split("\n")[:-1]
    assert [record["label"] for record in records] == LABELS
    assert records[1]["probabilities"] == {}
    assert next(iter(records[0]["probabilities"])) == LABELS[0]
    assert set(records[0]["probabilities"]) == set(MARKS)
    assert sum(records[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    first, second, *_ = classify(capsysbinary, monkeypatch, "--model", classified_run, "--scores", stdin=TEXT)
    assert first == f"{LABELS[0]}\t{records[0]['probabilities'][LABELS[0]]:.4f}"
    assert second == ""


def test_neighbours_and_their_number_change_nothing(classified_run: Path, monkeypatch) -> None:
    classifier = seq2seq.load_classifier(classified_run, precision="float32", device="cpu", threads=1)
    texts = ["bab zuz", "", "kak lol gug gug gug", "vev dod"] * 3
    alone = [classifier.classify([text])[0] for text in texts]
    monkeypatch.setattr("seq2seq.classification.text_classifier.BLOCK", 5)
    for one, other in zip(alone, classifier.stream(texts), strict=True):
        assert (one.text, one.label) == (other.text, other.label)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)


def test_a_text_that_is_too_long_is_read_from_its_beginning(classified_run: Path, capsys) -> None:
    classifier = seq2seq.load_classifier(classified_run, precision="float32", device="cpu")
    longest = classifier.model.config.max_length - 1
    assert len(classifier.tokenizer.encode(["bab bab bab"])[0]) == 3
    found = classifier.classify(["bab " * longest, "bab " * longest + "zuz"])
    assert [each.is_cut for each in found] == [False, True] and found[1].label


def test_the_command_counts_the_texts_that_are_too_long(classified_run: Path, capsysbinary, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"bab " * 2000 + b"\nzuz\n")))
    main(["classify", "--model", str(classified_run), "--precision", "float32"])
    said = capsysbinary.readouterr().err.decode()
    assert "longer than the model takes, and judged by their first 1023 tokens: 1" in said


def test_one_string_is_no_list_of_texts(classified_run: Path) -> None:
    with pytest.raises(TypeError, match="texts is one string; pass a list"):
        seq2seq.load_classifier(classified_run).classify("bab")


@pytest.mark.parametrize("place", ["nowhere/labels", "."])
def test_an_output_that_cannot_be_is_refused(classified_run: Path, capsysbinary, monkeypatch, tmp_path, place) -> None:
    with pytest.raises(SystemExit) as ended:
        classify(capsysbinary, monkeypatch, "--model", classified_run, "--output", tmp_path / place, stdin="zuz\n")
    assert ended.value.code == 2
    assert b"name a file in a directory that exists" in capsysbinary.readouterr().err


@pytest.mark.parametrize("labels", ["deux", ["a"], ["a", "a", "b"], ["a", " "], ["a", 3], torch.zeros(3)])
def test_labels_that_are_none_are_refused(classified_run: Path, tmp_path: Path, labels: object) -> None:
    write_checkpoint(checkpoint(classified_run, "model.ckpt") | {"labels": labels}, tmp_path / "model.ckpt")
    with pytest.raises(CheckpointError, match=r"model.ckpt: its 'labels' are not two or more different texts"):
        seq2seq.load_classifier(tmp_path / "model.ckpt")


def test_weights_of_other_labels_are_refused(classified_run: Path, tmp_path: Path) -> None:
    write_checkpoint(checkpoint(classified_run, "model.ckpt") | {"labels": ["a", "b"]}, tmp_path / "model.ckpt")
    with pytest.raises(CheckpointError, match="its weights do not fit its own configuration"):
        seq2seq.load_classifier(tmp_path / "model.ckpt")
