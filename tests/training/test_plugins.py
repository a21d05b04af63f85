"""Runs with a loss, positions and an attention of a module that is no part of the package: that of docs/python.md."""

import dataclasses
import sys
from collections.abc import Iterator
from multiprocessing import current_process
from pathlib import Path

import pytest
import torch

import seq2seq
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig, TrainerConfig, read_config
from seq2seq.config.compose import composed
from seq2seq.errors import ConfigError, PluginError
from seq2seq.plugins import VARIABLE, import_plugins
from seq2seq.training.composed import run_of
from seq2seq.training.launch import _going_on, _resuming
from tests.plugged import KEYS, plugged, unplug
from tests.training.tiny_runs import arguments, checkpoint, tiny_config, train_in_parts, train_with
from tests.training.two_ranks import train_together
from tests.translating import run_cli

PLUGINS = {"plugins": ["mine"]}
KINDS = [{key: value} for key, value in KEYS.items()]
ENDING = RunConfig(trainer=TrainerConfig(max_epochs=1))  # the least that works


@pytest.fixture(autouse=True)
def mine(tmp_path: Path) -> Iterator[None]:
    with plugged(tmp_path):
        yield


@pytest.fixture(scope="module")
def run_with_all(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with_all")
    with plugged(folder):
        import_plugins(["mine"])
        return train_with(tiny_config(corpus, folder / "run", PLUGINS | KEYS)).run_dir


def weights(run: Path) -> dict[str, torch.Tensor]:
    return checkpoint(run)["state_dict"]


def losses(run: Path) -> list[float]:
    return [each.value for each in RunDirectory(run).metrics() if each.name == "train/loss"]


def test_a_run_with_any_plugin_learns_something_else(corpus: Path, tmp_path: Path) -> None:
    import_plugins(["mine"])
    plain = losses(train_with(tiny_config(corpus, tmp_path / "plain")).run_dir)
    for number, keys in enumerate(KINDS):
        found = losses(train_with(tiny_config(corpus, tmp_path / str(number), PLUGINS | keys)).run_dir)
        assert found[-1] < found[0] - 0.5, keys
        assert found != plain, keys


def test_a_run_with_all_of_them_resumes_to_the_bit(corpus: Path, tmp_path: Path, run_with_all: Path) -> None:
    import_plugins(["mine"])
    parts = train_in_parts(tiny_config(corpus, tmp_path / "parts", PLUGINS | KEYS), 15).run_dir
    assert losses(parts) == losses(run_with_all)
    resumed = weights(parts)
    assert all(torch.equal(weight, resumed[name]) for name, weight in weights(run_with_all).items())


def test_two_processes_import_the_plugin(corpus: Path, tmp_path: Path) -> None:
    words = [*arguments(corpus, tmp_path / "run", {"trainer.devices": 2, "trainer.max_epochs": 1}), "plugins=[mine]"]
    words += [f"{key}={value}" for key, value in KEYS.items()]
    done = train_together(tmp_path, *words, before=f"import sys\nsys.path.insert(0, {str(tmp_path)!r})")
    assert done.returncode == 0, done.stderr
    assert not torch.all(weights(tmp_path / "run")["model.positions.weight"] == 1)


def test_a_model_is_translated_with_where_its_plugin_is_named(
    run_with_all: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--model", run_with_all, "--device", "cpu", "--workers", 1]
    assert run_cli(*words, stdin="ba da\n") == (
        2,
        "",
        "error: model.positions='weighted' needs a plugin, and a saved model imports none; if you trust mine, set "
        "SEQ2SEQ_PLUGINS=mine (docs/python.md)\n",
    )
    monkeypatch.setenv(VARIABLE, "mine")
    unplug()  # as in another process
    status, out, err = run_cli(*words, stdin="ba da\n\nfo fu ma\n")
    assert (status, out.count("\n")) == (0, 3), err


def test_a_run_is_resumed_and_fine_tuned_where_its_plugin_is_named(run_with_all: Path) -> None:
    for word in (f"resume={run_with_all}", f"finetune={run_with_all}"):
        with pytest.raises(PluginError, match="if you trust mine, set SEQ2SEQ_PLUGINS=mine"):
            seq2seq.train([word])
    tuned = seq2seq.config(["plugins=[mine]", f"finetune={run_with_all}", "trainer.max_epochs=1"])
    assert tuned.model.attention == "distances"
    assert seq2seq.train(["plugins=[mine]", f"resume={run_with_all}"]).run_dir == run_with_all


def test_a_resumed_run_keeps_the_plugins_that_are_imported(run_with_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "mine")
    with composed([f"resume={run_with_all}"], None) as job:
        assert run_of(job)[0].plugins == ["mine"]


def test_a_saved_model_imports_nothing(corpus: Path, tmp_path: Path) -> None:
    """It may come from a stranger, who would choose what runs here."""
    run = train_with(tiny_config(corpus, tmp_path / "run", PLUGINS | {"trainer.max_epochs": 1})).run_dir
    assert "mine" not in sys.modules  # the words of a command import it, not the configuration
    assert TrainedModel.read(run).config.plugins == ["mine"]
    seq2seq.train([f"resume={run}", "trainer.max_epochs=2"])
    assert "mine" not in sys.modules
    assert checkpoint(run)["config"]["plugins"] == []  # nor does another process, which is told this configuration


def test_a_model_needs_no_loss_to_translate(corpus: Path, tmp_path: Path) -> None:
    import_plugins(["mine"])
    run = train_with(tiny_config(corpus, tmp_path / "run", PLUGINS | KINDS[0] | {"trainer.max_epochs": 1})).run_dir
    unplug()
    assert len(seq2seq.load(run, device="cpu").translate(["ba da"])) == 1
    with pytest.raises(PluginError, match=r"optim.loss='focal' needs a plugin"):
        seq2seq.train([f"resume={run}"])


@pytest.mark.parametrize("way", ["variable", "package"])
def test_a_plugin_that_is_installed_is_imported_when_a_name_is_not_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "variable":
        monkeypatch.setenv(VARIABLE, " mine ,")
    else:
        folder = tmp_path / "mine-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text("[seq2seq.plugins]\nany = mine\n")
    stored = dataclasses.asdict(ENDING)
    read_config(stored)
    assert "mine" not in sys.modules
    stored["model"]["positions"] = "weighted"
    assert read_config(stored).model.positions == "weighted"


def test_the_variable_may_be_set_after_an_error_has_named_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = dataclasses.asdict(ENDING) | {"plugins": ["mine"]}
    stored["model"]["positions"] = "weighted"
    with pytest.raises(PluginError, match="set SEQ2SEQ_PLUGINS=mine"):
        read_config(stored)
    monkeypatch.setenv(VARIABLE, "mine")
    assert read_config(stored).model.positions == "weighted"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plugins=[mine]", "optim.loss=fokal"], r"optim.loss='fokal' is not one of cross_entropy, focal; plugins="),
        (["plugins=[mine]", "model.positions=w"], r"model.positions='w' is not one of sinusoidal, .*, none, weighted;"),
        (["model.attention=distances"], r"model.attention='distances' is not one of scaled, unscaled, additive;"),
        (["plugins=[yours]"], r"the plugin yours is not on Python's path; install it, or add its folder to "),
        (["plugins=[mine.losses]"], r"the plugin mine.losses is not on Python's path"),
        (["plugins=[faulty]"], r"the plugin faulty fails \(ZeroDivisionError: division by zero\); correct it$"),
        (["plugins=[needy]"], r"the plugin needy fails \(ModuleNotFoundError: No module named 'nowhere'\);"),
        (["plugins=[taking]"], r"^model.positions: a plugin adds 'learned', which is built in; give it another name$"),
        (["plugins=['']"], r"the plugin  ?fails"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_wrong_name_is_one_sentence(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "faulty.py").write_text("1 / 0\n")
    (tmp_path / "needy.py").write_text("import nowhere\n")
    (tmp_path / "taking.py").write_text("from seq2seq.plugins import POSITIONS\nPOSITIONS['learned'] = object\n")
    sys.modules.pop("taking", None)
    with pytest.raises((ConfigError, PluginError), match=told) as refused:
        seq2seq.config(["experiment=demo", *words])
    assert "\n" not in str(refused.value)


def test_a_program_that_a_process_of_its_own_imports_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ConfigError, match=r"put what it does below if __name__ == '__main__':$"):
        seq2seq.train(["experiment=demo"])


def test_the_command_that_goes_on_names_the_plugins() -> None:
    config = RunConfig(run_dir="out", plugins=["mine", "yours"])
    assert _going_on(config).endswith("train.py resume=out 'plugins=[mine,yours]'")
    assert _resuming(config) == ["resume=out", "plugins=[mine,yours]"]  # of `seq2seq.train`


@pytest.mark.parametrize("name", ["a b", "$(reboot)", "", ".mine", "\x1b[2J"])
def test_a_stored_name_that_could_do_harm_in_a_shell_is_not_repeated_as_a_remedy(name: str) -> None:
    stored = dataclasses.asdict(ENDING) | {"plugins": [name]}
    stored["model"]["positions"] = "weighted"
    with pytest.raises(ConfigError) as refused:
        read_config(stored)
    assert str(refused.value) == f"plugins: {name!r} is no name of a module, such as mine or mine.losses"
