"""What trackers get of a classifier."""

from pathlib import Path

import pytest

from tests.labelling import MARKS, label_config, labelled_lines, write_labelled
from tests.training.tiny_runs import train_with


def texts(run_dir: Path) -> dict[str, str]:
    """The tables that TensorBoard has, by their names."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="no tensorboard")
    found = events.EventAccumulator(str(run_dir / "tensorboard"))
    found.Reload()
    return {
        tag.removesuffix("/text_summary"): b"".join(found.Tensors(tag)[-1].tensor_proto.string_val).decode()
        for tag in found.Tags()["tensors"]
    }


@pytest.mark.parametrize("shows_text", [True, False])
def test_they_get_the_confusion_matrix_and_text_only_if_they_may(tmp_path: Path, shows_text: bool) -> None:
    steps = {"trainer.max_steps": 2, "trainer.val_every_n_steps": 2}
    changes = {"logger.tensorboard": True, "logger.text": shows_text, "logger.n_samples": 7, **steps}
    train_with(label_config(write_labelled(tmp_path / "text"), tmp_path / "run", changes))
    found = texts(tmp_path / "run")
    rows = found["test/test/confusion"].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == sorted(MARKS)
    counts = [[int(cell) for cell in row.split("|")[2:-1]] for row in rows]
    assert sum(map(sum, counts)) == 31
    labels = [line.split("\t")[1] for line in labelled_lines(31, 2)]
    assert [sum(row) for row in counts] == [labels.count(label) for label in sorted(MARKS)]
    assert ("test/test/mistakes" in found, "valid/samples" in found) == (shows_text, shows_text)
    if shows_text:
        assert len(found["valid/samples"].splitlines()) == 2 + 7
        assert len(found["test/test/mistakes"].splitlines()) == 2 + 31 - sum(counts[i][i] for i in range(3))
