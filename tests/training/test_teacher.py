"""A run that learns the probabilities of a trained model beside its text."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.dataset.batches import Batch
from seq2seq.errors import ConfigError
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.teacher import Teacher
from tests.plugged import plugged
from tests.training.tiny_runs import (
    STUDENT,
    checkpoint,
    tiny_config,
    train_here,
    train_in_parts,
    train_with,
    write_wrong_corpus,
)
from tests.translating import model_content, write_run


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    return write_wrong_corpus(tmp_path / "wrong")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_student_learns_from_probabilities_alone(device: str, trained_run: Path, wrong: Path, tmp_path: Path) -> None:
    """With this text and without a teacher, no word can be learned."""
    keys = {
        "teacher": str(trained_run),
        "optim.teacher_share": 1.0,
        "data.test": None,
        "data.max_sentence_tokens": 40,
        "model.max_length": 48,
    }
    free = {"trainer.max_rollbacks": 0}  # the loss of this text rises while its translations get better
    train_with(tiny_config(wrong, tmp_path / "run", STUDENT | keys | free | {"trainer.accelerator": device}))
    student, teacher = TrainedModel.read(tmp_path / "run"), TrainedModel.read(trained_run)
    assert student.tokenizer.fingerprint == teacher.tokenizer.fingerprint
    selection = RunDirectory(tmp_path / "run").selection()
    assert selection.valid[selection.selected]["bleu"] > 30  # 40


def test_it_is_no_part_of_the_run(trained_run: Path, wrong: Path, tmp_path: Path) -> None:
    """Stopped and continued, the weights are the same; the file has one model, and the teacher is as it was."""
    ends = {
        "trainer.max_epochs": 0,
        "trainer.max_steps": 4,
        "data.test": None,
        "data.max_sentence_tokens": 40,
        "model.max_length": 48,
    }
    changes = STUDENT | ends | {"teacher": str(trained_run)}
    train_with(tiny_config(wrong, tmp_path / "unbroken", changes))
    train_in_parts(tiny_config(wrong, tmp_path / "stopped", changes), 2)
    train_with(tiny_config(wrong, tmp_path / "alone", changes | {"teacher": "", "finetune": str(trained_run)}))
    states = [checkpoint(tmp_path / name)["state_dict"] for name in ("unbroken", "stopped", "alone")]
    assert states[0].keys() == states[2].keys()
    for name, weight in states[0].items():
        assert torch.equal(weight, states[1][name]), name
    assert any(not torch.equal(weight, states[2][name]) for name, weight in states[0].items())


def test_its_factors_are_those_of_the_model_in_half_precision_too(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", model_content())  # which was trained with dropout
    found = TrainedModel.read(run)
    assert found.config.model.dropout > 0
    teacher = Teacher.read(str(run), found.tokenizer, found.config)
    src, tgt = (torch.tensor(found.tokenizer.encode([text])) for text in ("ba bi fo.", "Bas bis fos."))
    batch = Batch(src, tgt[:, :-1], tgt[:, 1:], tgt.size(1) - 1)
    expected = found.build().eval()(batch.src, batch.tgt_in)
    hidden, table = teacher.factors(batch)
    torch.testing.assert_close(hidden @ table.T, expected)
    with torch.autocast("cpu", torch.bfloat16):
        hidden, table = teacher.factors(batch)
    torch.testing.assert_close((hidden.float() @ table.float().T).softmax(-1), expected.softmax(-1), atol=0.05, rtol=0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["tokenizer.vocab_size=500"],
            r"tokenizer.vocab_size=500 does not fit teacher=.* has tokenizer.vocab_size=340",
        ),
        (["optim.teacher_share=0"], r"optim.teacher_share=0.0 is not in \(0, 1\]"),
        (["plugins=[mine]", "optim.loss=focal"], "optim.loss=focal knows no teacher; leave teacher= or the loss out"),
        (["hours=1"], "teacher= and hours= exclude each other"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_words_that_do_not_go_with_it(
    trained_run: Path, wrong: Path, tmp_path: Path, own_signals: None, words: list[str], sentence: str
) -> None:
    with plugged(tmp_path):
        done = train_here("data=files", f"data.dir={wrong}", "data.test=null", f"teacher={trained_run}", *words)
    assert done.returncode == 2
    assert re.search(f"error: {sentence}", done.stderr)


def test_a_model_that_cannot_teach(trained_run: Path) -> None:
    found, other = TrainedModel.read(trained_run), model_content()
    with pytest.raises(ConfigError, match=r"has other subwords than this run; name a model that has its tokenizer"):
        Teacher.read(str(trained_run), Tokenizer(other.tokenizer), found.config)
    data = replace(found.config.data, src_lang="de")
    with pytest.raises(ConfigError, match=r"translates fr to en, and this run de to en"):
        Teacher.read(str(trained_run), found.tokenizer, replace(found.config, data=data))
    model = replace(found.config.model, max_length=49)
    with pytest.raises(ConfigError, match=r"reads 48 tokens at once, and this run 49; add model.max_length=48$"):
        Teacher.read(str(trained_run), found.tokenizer, replace(found.config, model=model))
