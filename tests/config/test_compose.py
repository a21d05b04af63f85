"""Words are composed beside a program that uses Hydra, too."""

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from seq2seq.config.compose import composed
from seq2seq.files import conf_dir


def test_a_program_that_uses_hydra_itself_composes_a_run_and_keeps_its_own() -> None:
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        own = GlobalHydra.instance().hydra
        with composed(["seed=3"]) as job:
            assert job.cfg.seed == 3
        assert own is not None and GlobalHydra.instance().hydra is own
