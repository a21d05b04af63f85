"""Which keys a classifier can have, and what is said of the others."""

from typing import Any

import pytest

from seq2seq.config import read_config
from seq2seq.errors import ConfigError

GOOD: dict[str, dict[str, Any]] = {
    "classify": {"encoder": "fresh"},
    "trainer": {"max_epochs": 1, "monitor": "valid/macro_f1"},
}


def problems(**changes):
    sections: dict[str, Any] = GOOD | {
        key: GOOD.get(key, {}) | value if isinstance(value, dict) else value for key, value in changes.items()
    }
    try:
        read_config(sections)
    except ConfigError as error:
        return str(error).splitlines()
    return []


def test_a_classifier_works():
    assert problems() == []
    assert problems(classify={"encoder": "frozen", "pool": "max"}, finetune="run") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classify": {"encoder": "new"}}, "classify.encoder='new' is not one of , fresh, frozen, finetuned"),
        ({"classify": {"pool": "last"}}, "classify.pool='last' is not one of mean, max, first"),
        ({"classify": {"class_weights": "rare"}}, "classify.class_weights='rare' is not one of none, balanced"),
        ({"classify": {"dropout": 1.0}}, "classify.dropout=1.0 is not a probability below 1"),
        ({"finetune": "run"}, "classify.encoder=fresh starts at random, and finetune=run names a model to start from"),
        ({"classify": {"encoder": "frozen"}}, "classify.encoder=frozen needs a model to take the encoder from; add"),
        ({"classify": {"encoder": "finetuned"}}, "classify.encoder=finetuned needs a model"),
        ({"trainer": {"monitor": "valid/bleu"}}, "trainer.monitor=valid/bleu is for translation; for a classifier"),
        ({"batch": {"max_tokens": "auto"}}, "batch.max_tokens=auto is for translation; give a number"),
        ({"data": {"augment": {"typos": 0.1}}}, "data.augment is for translation"),
        ({"data": {"robustness": True}}, "data.robustness is for translation"),
        ({"data": {"max_length_ratio": 2.0}}, "data.max_length_ratio is for translation"),
        ({"data": {"drop_overlap": "exact"}}, "data.drop_overlap is for translation"),
        ({"data": {"clean": {"rules": "default"}}}, "data.clean is for translation"),
        ({"tokenizer": {"subword_regularization": 0.1}}, "tokenizer.subword_regularization is for translation"),
        ({"data": {"test": {"source": "t.tsv", "disguise": "typos"}}}, "data.test: a disguise is for translation"),
    ],
)
def test_what_cannot_work_is_said(changes, message):
    (found,) = problems(**changes)
    assert found.startswith(message)


def test_a_translation_has_no_macro_f1():
    (found,) = problems(classify={"encoder": ""})
    assert found == "trainer.monitor=valid/macro_f1 is for classifiers; choose another, or set classify.encoder"
