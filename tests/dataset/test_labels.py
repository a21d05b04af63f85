"""Labels as targets of one token, from a TSV to a batch."""

from pathlib import Path

import pytest

from seq2seq.dataset.batches import collate
from seq2seq.dataset.labels import Labels
from seq2seq.dataset.prepare import prepare
from seq2seq.training.classification.module import label_numbers
from seq2seq.vocabulary import BOS, EOS
from tests.labelling import label_config, labelled_lines, write_labelled, write_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_labelled(tmp_path_factory.mktemp("labelled"))


def test_a_store_has_the_id_of_each_label(folder: Path) -> None:
    prepared = prepare(label_config(folder, folder / "run"))
    assert prepared.labels == ("3", "catégorie un", "deux/2")
    lines = [line.split("\t") for line in labelled_lines(30, 1)]
    assert [prepared.labels[i] for i in Labels.of_store(prepared.valid)] == [label for _, label in lines]
    assert [prepared.valid.src_text(i) for i in range(30)] == [text for text, _ in lines]
    assert set(prepared.train.tgt_lengths) == {1}
    batch = collate([[9, 8], [7]], [prepared.valid.tgt(0), prepared.valid.tgt(1)])
    assert label_numbers(batch).tolist() == Labels.of_store(prepared.valid)[:2].tolist()
    assert batch.tgt_out[:, 1].tolist() == [EOS, EOS]
    assert batch.tgt_in[:, 0].tolist() == [BOS, BOS]


def test_subwords_are_learned_from_texts_alone(folder: Path) -> None:
    tokenizer = prepare(label_config(folder, folder / "run")).tokenizer
    assert "\ufffd" not in tokenizer.decode(tokenizer.encode(["zuz"]))[0]
    assert "é" not in {character for piece in tokenizer.subwords() for character in piece}


def test_another_set_of_labels_makes_another_store(folder: Path, tmp_path: Path) -> None:
    """The valid text stays the same, and the ids of its labels do not."""
    other = write_labelled(tmp_path / "other")
    write_lines(other / "train.tsv", [*labelled_lines(240, 0), "bab\ta new one"])
    cache = {"data.cache_dir": str(tmp_path / "cache")}
    first = prepare(label_config(folder, folder / "run", cache))
    second = prepare(label_config(other, folder / "run", cache), first.tokenizer)
    assert first.valid.directory != second.valid.directory
    assert [first.labels[i] for i in Labels.of_store(first.valid)] == [
        second.labels[i] for i in Labels.of_store(second.valid)
    ]
