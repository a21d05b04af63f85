"""Words as a preset: it composes what they do."""

from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from seq2seq.config.compose import as_preset, composed
from seq2seq.files import conf_dir

FILES = ["data=files", "data.dir=somewhere"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["experiment=multi30k_fast", "optim.lr=3e-3", "model.dropout=0"],
        ["model=big", "experiment=wmt14_big", "data=multi30k", "optim=cosine", "augment=none", "model.n_heads=8"],
        [*FILES, "data.train=['a b','c=d']", "data.test={x: 'its', y: b.tsv}", "trainer.max_time="],
        [*FILES, "data.test=null", "optim.lr=1", "optim.lr=2", "name='null'", "logger.wandb_tags=['${name}']"],
        [*FILES, "data.train=l'été [1]", "data.valid=it's = it"],
    ],
)
def test_a_preset_composes_what_the_words_do(tmp_path: Path, words: list[str]) -> None:
    text, others = as_preset(words, "made by a test")
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(text, encoding="utf-8")
    assert others == []
    with composed(words) as first, composed(["experiment=mine"], tmp_path) as second:
        first.cfg.run_dir = second.cfg.run_dir = ""
        assert second.cfg == first.cfg


def test_words_that_no_preset_can_hold_are_named() -> None:
    words = ["hydra.verbose=true", "seed=3", "~data.valid", "data.test=null", "data.test={mine: a}"]
    text, others = as_preset(words, "made by a test")
    assert others == [word for word in words if word != "seed=3"] and "seed: 3" in text


def test_a_program_that_uses_hydra_itself_composes_a_run_and_keeps_its_own() -> None:
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        own = GlobalHydra.instance().hydra
        with composed(["seed=3"]) as job:
            assert job.cfg.seed == 3
        assert own is not None and GlobalHydra.instance().hydra is own
