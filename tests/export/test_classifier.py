"""A classifier to ship: safetensors alone, with its labels and its scores."""

from pathlib import Path

import pytest

import seq2seq
from seq2seq.artifacts.model_directory import holds_labels
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.cli import main
from tests.labelling import MARKS


def test_the_directory_says_the_same_labels(classified_run: Path, tmp_path: Path, capsys) -> None:
    main(["export", str(classified_run), "--format", "safetensors", "--output", str(tmp_path / "model")])
    assert f"classify with: python -m seq2seq classify --model {tmp_path / 'model'}" in capsys.readouterr().out
    texts = ["bab zuz", "kak", "lol vev dod"]
    original, shipped = (seq2seq.load_classifier(path).classify(texts) for path in (classified_run, tmp_path / "model"))
    assert shipped == original
    assert holds_labels(tmp_path / "model")
    assert list(TrainedModel.read(tmp_path / "model").saved.labels) == sorted(MARKS)
    card = (tmp_path / "model" / "README.md").read_text()
    assert "- labels: 3, catégorie un, deux/2" in card
    assert "| test | macro_f1 | " in card


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "ctranslate2"], "is a classifier, and CTranslate2 has none with a pool over positions; use"),
        (["--format", "safetensors", "--parity-input", "x"], "--parity-input compares translations, and a classifier"),
    ],
)
def test_what_a_classifier_does_not_have_is_refused_by_name(classified_run: Path, tmp_path, capsys, words, message):
    with pytest.raises(SystemExit) as ended:
        main(["export", str(classified_run), *words, "--output", str(tmp_path / "model")])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
