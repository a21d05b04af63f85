"""What a program or a notebook can do with the package, and the code of docs/python.md."""

import collections
import errno
import json
import re
import signal
import threading
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from hydra.core.hydra_config import HydraConfig
from nbclient import NotebookClient
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, TQDMProgressBar

import seq2seq
from seq2seq.errors import ConfigError, RunError
from seq2seq.exit_status import STOP_SIGNALS
from seq2seq.training.selection import Outcome
from seq2seq.training.trainer import _AtomicCheckpoints
from tests.documentation import fenced, write_experiment, write_preset
from tests.places import ROOT
from tests.plugged import plugged
from tests.training.tiny_runs import SignalAt, arguments, train_here, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


class At(pl.Callback):
    """Raises an error in one of Lightning's hooks."""

    def __init__(self, hook: str, error: BaseException) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise error

        setattr(self, hook, fail)


def test_what_is_public_is_listed() -> None:
    assert dir(seq2seq) == ["UserError", "__version__", "config", "load", "train"]
    assert all(hasattr(seq2seq, name) for name in dir(seq2seq))


def test_words_give_a_typed_configuration_and_leave_hydra_as_it_was() -> None:
    before = HydraConfig.instance().cfg
    config = seq2seq.config(["experiment=demo", "optim.lr=1e-3", "data.dir=/x/été", "name=${hydra:job.name}"])
    assert (config.optim.lr, config.data.dir, config.name) == (1e-3, "/x/été", "train")
    assert HydraConfig.instance().cfg is before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["experiment=foo"], r"^experiment=foo is not a preset; choose one of: demo, .*; --config-dir=DIR adds"),
        ("experiment=demo", r"^'experiment=demo' is one text; give a list of words, such as \['experiment=demo'\]$"),
        (["-m", "seed=1"], r"^-m is an option of train.py; leave it out; config_dir=DIR is --config-dir=DIR$"),
        (["seed=1,2"], r"^Ambiguous value for argument 'seed=1,2'"),
        (["model=null"], r"^Hydra cannot read these words \(Config group override must be a string.*\); correct them$"),
        (["optim.ler=1"], r"^there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["optim.lr=é"], r"^Hydra cannot read optim.lr=é; in a list"),
        (["run_dir=${nothing}"], "nothing"),
        (["seed=" + "1" * 5000], r"^Hydra cannot read these words"),
        (["hours=1"], r"^hours= chooses when a run begins; give the plain keys that it prints then$"),
        (["resume=x"], r"^resume=x goes on with a run that is there; leave it out for a new one$"),
        (["experiment=demo", "optim.lr=-1"], r"^optim.lr=-1.0 must be a finite number above 0$"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_words_that_describe_no_run_are_refused_in_a_sentence(words: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        seq2seq.config(words)
    assert "\n" not in str(refused.value)


def test_a_run_that_is_interrupted_saves_and_says_how_to_go_on(corpus: Path, tmp_path: Path) -> None:
    whole, parts = arguments(corpus, tmp_path / "whole"), arguments(corpus, tmp_path / "parts")
    handlers = [signal.getsignal(number) for number in STOP_SIGNALS]
    resume = f"resume={tmp_path / 'parts'}"
    with pytest.raises(KeyboardInterrupt) as stopped:
        seq2seq.train(parts, callbacks=[SignalAt(7, signal.SIGINT)])
    assert str(stopped.value) == f"stopped and saved; go on with seq2seq.train(['{resume}'])"
    with pytest.raises(RunError, match=r"^SIGTERM: stopped and saved; go on with seq2seq\.train\(\['resume=.*'\]\)$"):
        seq2seq.train([resume], callbacks=[SignalAt(20)])
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == handlers
    assert seq2seq.train([resume]) == seq2seq.train(whole)
    starts = json.loads((tmp_path / "parts/provenance.json").read_text())["starts"]
    assert [start["command"] for start in starts] == [
        ["seq2seq.train", *words] for words in (parts, [resume], [resume])
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
def test_what_ends_a_run_before_its_first_step_leaves_nothing(
    corpus: Path, tmp_path: Path, error: BaseException
) -> None:
    is_stop = isinstance(error, KeyboardInterrupt)  # for which Lightning exits
    told = "^stopped at once; nothing was saved yet$" if is_stop else "No space left on device.; make room, or name an"
    on_interrupt = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt if is_stop else RunError, match=told):
        seq2seq.train(arguments(corpus, tmp_path / "run"), callbacks=[At("setup", error)])
    assert signal.getsignal(signal.SIGINT) is on_interrupt
    with pytest.raises(ConfigError, match=r"^trainer.devices=2 takes 2 processes, and a program is only one; set"):
        seq2seq.train(arguments(corpus, tmp_path / "run", {"trainer.devices": 2}))


def test_the_number_of_threads_is_of_the_run_alone(corpus: Path, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(ConfigError, match=r"^trainer.devices=2 takes"):
            seq2seq.train(arguments(corpus, tmp_path / "run", {"trainer.devices": 2, "trainer.threads": 2}))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("needs_metrics", [EarlyStopping("valid/bleu"), ModelCheckpoint(monitor="valid/bleu")])
def test_a_callback_that_needs_metrics_of_lightning_is_refused(
    corpus: Path, tmp_path: Path, needs_metrics: pl.Callback
) -> None:
    with pytest.raises(ConfigError, match=r"cannot see valid/bleu; leave it out, and use trainer.monitor") as refused:
        seq2seq.train(arguments(corpus, tmp_path / "run"), callbacks=[needs_metrics])
    assert f"the callback {type(needs_metrics).__name__} " in str(refused.value) and not (tmp_path / "run").exists()


def test_a_progress_bar_of_lightning_shows_the_run(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seq2seq.train(arguments(corpus, tmp_path / "run", {"trainer.max_steps": 2}), callbacks=[TQDMProgressBar()])
    assert "Epoch 0" in "".join(capsys.readouterr())


class Keeping(pl.Callback):
    """Has a state."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def state_dict(self) -> dict[str, Any]:
        return {"kept": self.state}


SHARED = [1]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (np.float64(1.5), "numpy"),
        ({np.int64(3): 1}, "numpy"),
        ({1, 2}, "set"),
        (collections.deque([1]), "collections deque"),
        (Path("a"), "pathlib"),
        (torch.nn.Parameter(torch.zeros(3)), "_rebuild_parameter"),
        ([SHARED, SHARED], "a value stands in two places of it"),
        (threading.Lock(), "cannot pickle"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_state_of_a_callback_that_could_not_be_read_back_is_not_saved(tmp_path: Path, state: Any, told: str) -> None:
    states = {Keeping(state).state_key: Keeping(state).state_dict()}
    with pytest.raises(RunError, match=rf"^the callback Keeping saves what cannot be read back \(.*{told}"):
        _AtomicCheckpoints().save_checkpoint({"callbacks": states}, tmp_path / "last.ckpt")
    assert not list(tmp_path.iterdir())


class Adding(pl.Callback):
    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["added"] = np.float64(1.5)


def test_a_run_ends_at_its_first_save_of_something_that_could_not_be_read_back(corpus: Path, tmp_path: Path) -> None:
    words = arguments(corpus, tmp_path / "run", {"trainer.max_steps": 2})
    for callback, whose in ((Keeping(np.float64(1.5)), "the callback Keeping"), (Adding(), "a callback")):
        with pytest.raises(RunError, match=rf"^{whose} saves what cannot be read back"):
            seq2seq.train(words, callbacks=[callback])


def test_a_program_that_exits_in_a_callback_exits(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="3"):
        seq2seq.train(arguments(corpus, tmp_path / "run"), callbacks=[At("on_train_batch_end", SystemExit(3))])


def test_a_thread_can_train_which_cannot_handle_signals(corpus: Path, tmp_path: Path) -> None:
    found: list[Outcome] = []
    words = arguments(corpus, tmp_path / "a b")
    thread = threading.Thread(target=lambda: found.append(seq2seq.train(words)))
    thread.start()
    thread.join()
    (outcome,) = found
    assert outcome.run_dir == tmp_path / "a b" and outcome.selected in outcome.valid


@pytest.mark.nightly
def test_a_notebook_shows_progress_and_its_stop_button_saves(corpus: Path, tmp_path: Path) -> None:
    words = arguments(corpus, Path("run"), {"trainer.progress": True})
    stop = (
        "import os, signal, pytorch_lightning as pl\n"
        "class Stop(pl.Callback):\n"
        "    def on_train_batch_end(self, trainer, module, *_):\n"
        "        if module.n_steps == 17: os.kill(os.getpid(), signal.SIGINT)  # as the button does\n"
        f"seq2seq.train({words!r}, callbacks=[Stop()])"
    )
    cells = ["import seq2seq", stop, "print(seq2seq.train(['resume=run']).run_dir)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client: Any = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}, allow_errors=True
    )
    client.execute()
    _, stopped, done = notebook.cells
    assert "valid  step 15" in str(stopped.outputs) and "valid  step 30" in str(done.outputs)
    assert stopped.outputs[-1].ename == "KeyboardInterrupt"
    assert stopped.outputs[-1].evalue == "stopped and saved; go on with seq2seq.train(['resume=run'])"
    assert done.outputs[-1].text == "run\n"


# --- presets of the user ---


@pytest.fixture
def presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that a relative path names."""
    monkeypatch.chdir(tmp_path)
    return write_preset(tmp_path).relative_to(tmp_path)


def test_a_preset_of_the_user_is_one_of_those_that_there_are(presets: Path) -> None:
    config = seq2seq.config(["experiment=mine"], config_dir=presets)
    assert (config.name, config.model.d_model, config.trainer.max_epochs) == ("mine", 128, 5)
    with pytest.raises(
        ConfigError, match=r"choose one of: demo, general, mine, mixed, .*; --config-dir=DIR adds your own"
    ):
        seq2seq.config(["experiment=min"], config_dir=presets)
    with pytest.raises(ConfigError, match=r"^config_dir=nowhere is no directory; give the one that holds exp"):
        seq2seq.config(["experiment=mine"], config_dir="nowhere")
    (presets / "model").mkdir()
    (presets / "model/tiny.yaml").write_text("d_model: 8\n")
    with pytest.raises(ConfigError, match=r"^presets/model/tiny.yaml: there is a preset model/tiny already"):
        seq2seq.config(["experiment=mine"], config_dir=presets)


@pytest.mark.usefixtures("own_signals")
@pytest.mark.nightly
def test_the_command_takes_presets_of_the_user_for_a_run_and_for_the_jobs_of_a_sweep(
    presets: Path, corpus: Path
) -> None:
    words = [f"--config-dir={presets}", "experiment=mine", *arguments(corpus, Path("run"), {"trainer.max_epochs": 1})]
    done = train_here(*words)
    assert done.returncode == 0, done.stderr
    assert "name: mine" in Path("run/config.yaml").read_text()
    done = train_here("resume=run", "trainer.max_epochs=2")  # the run has its configuration
    assert done.returncode == 0, done.stderr
    done = train_here("-m", *words, "run_dir=many", "seed=1,2")
    assert done.returncode == 0, done.stderr
    assert all("name: mine" in file.read_text() for file in Path("many").glob("*/config.yaml"))
    assert len(list(Path("many").glob("*/scores.json"))) == 2


# --- the page ---


def test_the_code_of_the_page_runs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words of a tiny run in place of the demo's, and `mine` as the page has it."""
    monkeypatch.chdir(tmp_path)
    blocks = fenced(ROOT / "docs/python.md", "python")
    first, second, third, check = (
        block for block in blocks if "seq2seq.plugins" not in block and "__main__" not in block
    )
    names: dict[str, Any] = {"WORDS": arguments(corpus, Path("tiny"))}
    for block in (first, second, third):
        exec(block.replace('"experiment=demo"', "*WORDS"), names)
    scores, translation, settings, losses, bleu, curve = capsys.readouterr().out.splitlines()
    assert scores.startswith("tiny ") and translation and settings.startswith("0.001 16 train")
    before, after = map(float, losses.split())
    assert after < before
    assert " ± " in bleu and "|tok:" in bleu and "(30, " in curve
    with plugged(tmp_path):
        exec(check, {})


def test_the_experiment_of_the_page_runs_in_an_empty_folder_and_goes_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words of a tiny run beside its own."""
    monkeypatch.chdir(tmp_path)
    write_experiment(tmp_path)
    words = [word for word in arguments(corpus, tmp_path) if not word.startswith("run_dir=")]
    script = (tmp_path / "experiment.py").read_text().replace('"experiment=focal"', f'"experiment=focal", *{words!r}')
    with plugged(tmp_path):
        exec(script, {"__name__": "__main__"})
        first = capsys.readouterr().out
        exec(script, {"__name__": "__main__"})
    assert first == capsys.readouterr().out and re.fullmatch(r"cross_entropy [\d.]+\nfocal [\d.]+\n", first)
    assert "loss: focal" in (tmp_path / "runs/focal/config.yaml").read_text()
