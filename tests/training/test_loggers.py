import contextlib
import logging
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytorch_lightning as pl

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.wandb_access import local_model, wandb_mode
from seq2seq.config import LoggerConfig
from seq2seq.config.by_hydra import job_of, with_hydra
from seq2seq.errors import ConfigError, packages_needed
from seq2seq.training import loggers
from seq2seq.training.composed import run_of
from seq2seq.training.launch import check_environment
from seq2seq.training.loggers import MetricsCsv
from tests.training.tiny_runs import arguments, checkpoint, tiny_config, train_here, train_with
from tests.training.wandb_file import read_parts, read_run

WANDB = {
    "logger.wandb": True,
    "logger.n_samples": 3,
    "logger.wandb_project": "reversing",
    "trainer.max_steps": 4,
    "trainer.val_every_n_steps": 4,
    "decoding.beam_size": 1,
}


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch, tmp_path):
    """As on a machine that has never seen W&B, in a process that has not either: W&B reads its settings once."""
    import wandb

    wandb.teardown()
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


class Failing(pl.Callback):
    def setup(self, trainer, pl_module, stage):
        raise ZeroDivisionError


def test_a_copy_that_goes_on_is_a_run_of_its_own(corpus, tmp_path):
    import wandb

    run, copy = RunDirectory(tmp_path / "run"), RunDirectory(tmp_path / "copy")
    keys = WANDB | {"trainer.val_every_n_steps": 1, "data.test": None}
    train_with(tiny_config(corpus, run.path, keys | {"trainer.max_steps": 2}))
    shutil.copytree(run.path, copy.path, ignore=shutil.ignore_patterns("wandb"))
    with pytest.raises(ZeroDivisionError):  # before it has saved
        train_with(tiny_config(corpus, copy.path, keys), Failing(), resume=True)
    train_with(tiny_config(corpus, copy.path, keys | {"trainer.max_steps": 3, "logger.wandb": False}), resume=True)
    for n_steps in (4, 5):
        train_with(tiny_config(corpus, copy.path, keys | {"trainer.max_steps": n_steps}), resume=True)
    train_with(tiny_config(corpus, run.path, keys | {"trainer.max_steps": 3}), resume=True)
    wandb.teardown()
    own, others = (read_run(each.path)["ids"] for each in (run, copy))
    assert len(own) == 2 and len({*own}) == 1 and not {*own} & {*others}
    assert len(others) == 3 and others[1] == others[2]  # the first part is of the start that came to nothing
    assert run.identity() != copy.identity()


@pytest.mark.usefixtures("own_signals")
def test_the_log_of_a_run_without_credentials_is_whole_and_goes_on_under_its_id(corpus, tmp_path, caplog):
    """From the command line, with nobody to answer a prompt; then continued."""
    import wandb

    run_dir = tmp_path / "run"
    with caplog.at_level(logging.INFO):
        done = train_here(*arguments(corpus, run_dir, WANDB | {"logger.text": True}))
    wandb.teardown()  # as at the end of a process: `finish` returns before the last rows are on disk
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and not [each for each in caplog.records if each.levelno >= logging.WARNING]
    sync = f"upload it after the run with: wandb sync {run_dir}/wandb\n"
    assert f"W&B is offline, without credentials; {sync}" in caplog.text
    assert f"W&B has not got all of this run; {sync}" in caplog.text
    first = read_run(run_dir)
    assert first["config"]["model"]["d_model"] == 16 and first["config"]["tokenizer"]["vocab_size"] == 300
    assert first["config"]["precision"] == "32-true" and first["config"]["n_parameters"] > 1000
    assert first["config"]["data_report"]["splits"]["valid"]["pairs_kept"] == 9
    assert checkpoint(run_dir)["wandb_id"] == first["ids"][0]
    (run_dir / "wandb/offline-run-20200101_000000-empty").mkdir()
    with caplog.at_level(logging.INFO):
        train_with(tiny_config(corpus, run_dir, WANDB | {"trainer.max_steps": 7}), resume=True)
    assert caplog.text.count(sync) == 4  # at each start and each end
    wandb.teardown()
    steps = [row["trainer/global_step"] for row in read_run(run_dir)["history"] if "train/loss" in row]
    assert steps == list(range(1, 8))


def test_a_tracker_that_does_not_start_is_left_out(corpus, tmp_path, monkeypatch, caplog):
    import wandb

    attempts = []

    def broken(*args, settings, **kwargs):
        attempts.append((settings.mode, settings.init_timeout))
        raise wandb.errors.CommError("no route to host\nConsider a word of advice to programmers")

    monkeypatch.setattr(wandb, "init", broken)
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    with caplog.at_level(logging.WARNING, "seq2seq"):
        opened = loggers.build_loggers(tiny_config(corpus, tmp_path, WANDB), RunDirectory(tmp_path), -1, "")
    assert len(opened) == 1
    assert "W&B did not start online (no route to host)" in caplog.text
    assert "W&B did not start offline (no route to host" in caplog.text
    assert attempts == [("online", 20), ("offline", 20)]


def test_a_run_that_the_program_has_open_at_wandb_is_left_alone(corpus, tmp_path):
    import wandb

    theirs = wandb.init(mode="offline", dir=str(tmp_path), project="theirs", settings=wandb.Settings(silent=True))
    opened = loggers.build_loggers(tiny_config(corpus, tmp_path / "run", WANDB), RunDirectory(tmp_path / "run"), -1, "")
    opened[-1].log_metrics({"ours": 1.0}, 1)
    loggers.finish(opened)
    assert wandb.run is theirs
    theirs.log({"theirs": 2.0})  # an error if it is finished
    theirs.finish()
    wandb.teardown()
    (part,) = read_parts(tmp_path / "run")
    assert part["project"] == "reversing" and part["id"] != theirs.id
    assert [row.get("theirs") for row in read_run(tmp_path)["history"]] == [2.0]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, ""),
        ({"logger.n_samples": 0, "logger.text": True}, ""),
        ({"logger.text": True}, "and with logger.text=true, sentences of valid with their translations"),
    ],
)
def test_an_online_run_says_what_leaves_the_machine(keys, text, monkeypatch, tmp_path, corpus, caplog):
    import wandb

    url = "https://wandb.example.org/reversing/runs/a1"
    connected = SimpleNamespace(id="a1", url=url, define_metric=lambda *_, **__: None)
    monkeypatch.setattr(wandb, "init", lambda **_: connected)
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    with caplog.at_level(logging.INFO):
        loggers.build_loggers(tiny_config(corpus, tmp_path, WANDB | keys), RunDirectory(tmp_path), -1, "")
    (line,) = [line for line in caplog.messages if "W&B is online: it uploads the configuration, the metrics" in line]
    assert f"to {connected.url}; logger.wandb_mode=offline" in line
    assert text in line and ("sentences" in line) == bool(text)


@pytest.mark.parametrize("fails", [False, True])
def test_loggers_are_closed_and_told_how_the_run_ended(tmp_path, corpus, monkeypatch, fails):
    told = []
    monkeypatch.setattr(MetricsCsv, "finalize", lambda self, status: told.append(status))
    config = tiny_config(corpus, tmp_path / "run")
    with contextlib.suppress(KeyboardInterrupt), loggers.open_loggers(config, RunDirectory(tmp_path / "run"), None):
        assert told == []
        if fails:
            raise KeyboardInterrupt
    assert told == ["failed" if fails else "success"]


def test_the_mode_is_known_before_anything_is_asked(monkeypatch, tmp_path):
    import wandb

    auto = LoggerConfig()
    assert wandb_mode(auto) == "offline"
    assert wandb_mode(LoggerConfig(wandb_mode="online")) == "offline"  # W&B would ask for a key
    netrc = tmp_path / "home/.netrc"
    netrc.touch(0o600)
    for host in (wandb.Settings().base_url.removeprefix("https://"), "api.wandb.ai"):
        netrc.write_text(f"machine {host} login user password secret\n")
        assert wandb_mode(auto) == "online"
    assert wandb_mode(LoggerConfig(wandb_mode="disabled")) == "disabled"
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org:8080/path")
    assert wandb_mode(auto) == "offline"
    for name in ("WANDB_IDENTITY_TOKEN_FILE", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "x")
        assert wandb_mode(auto) == wandb_mode(LoggerConfig(wandb_mode="online")) == "online"
    for mode in ("offline", "dryrun"):
        monkeypatch.setenv("WANDB_MODE", mode)
        assert wandb_mode(auto) == "offline"
    monkeypatch.setenv("WANDB_MODE", "bogus")
    with pytest.raises(ConfigError, match=r"WANDB_MODE=bogus is not online, offline or disabled; unset it"):
        check_environment(auto)
    monkeypatch.setenv("WANDB_DISABLED", "true")
    assert wandb_mode(auto) == "disabled"
    with pytest.raises(ConfigError, match=r"WANDB_MODE=bogus"):  # W&B refuses it whatever the key says
        check_environment(LoggerConfig(wandb_mode="offline"))
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert wandb_mode(LoggerConfig(wandb_mode="offline")) == "offline"  # a key beats the environment


def test_variables_that_are_empty_are_not_set(monkeypatch, tmp_path, corpus, caplog):
    import wandb

    for name in ("MODE", "BASE_URL", "API_KEY", "DISABLED", "INIT_TIMEOUT"):
        monkeypatch.setenv(f"WANDB_{name}", "")
    with caplog.at_level(logging.WARNING, "seq2seq"):
        opened = loggers.build_loggers(tiny_config(corpus, tmp_path, WANDB), RunDirectory(tmp_path), -1, "")
        loggers.finish(opened)
    wandb.teardown()
    assert len(opened) == 2 and not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_folder_of_former_runs_is_not_the_package(monkeypatch, tmp_path):
    """Python imports a folder without an __init__.py, too, as an empty package."""
    (tmp_path / "wandb").mkdir()
    (tmp_path / "home/.netrc").touch(0o600)  # W&B's own class says whose credentials count
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "wandb")
    for ask in (lambda: check_environment(LoggerConfig()), lambda: local_model("wandb:a/b:v0")):
        with (
            pytest.raises(ConfigError, match=r"^the package wandb is not installed; .* pip install"),
            packages_needed(),
        ):
            ask()


def test_the_environment_beats_a_default_and_a_key_beats_the_environment(monkeypatch, tmp_path):
    import wandb

    asked = []

    def init(**given):
        asked.append(given)
        return SimpleNamespace(id="a", url="u", define_metric=lambda *_, **__: None)

    monkeypatch.setattr(wandb, "init", init)
    for name in ("PROJECT", "NAME", "RUN_GROUP"):
        monkeypatch.setenv(f"WANDB_{name}", f"their-{name.lower()}")
    words = ["experiment=demo", f"run_dir={tmp_path / 'run'}"]
    keys = [f"logger.wandb_{name}=our-{name}" for name in ("project", "name", "group")]
    for each in (words, words + keys):
        with_hydra(
            each,
            lambda cfg: loggers.build_loggers(run_of(job_of(cfg))[0], RunDirectory(tmp_path / "run"), -1, ""),
        )
    told = [tuple(arguments[name] for name in ("project", "name", "group")) for arguments in asked]
    assert told == [("their-project", "their-name", "their-run_group"), ("our-project", "our-name", "our-group")]


def test_metrics_are_appended_and_cut_at_the_step_that_is_continued(tmp_path):
    run = RunDirectory(tmp_path)
    log = MetricsCsv(run)
    log.log_metrics({"a,b": 1 / 3, "epoch": 4.0}, 1)
    log.log_metrics({"loss": 2.5}, 2)
    log.log_metrics({"test/en/bleu": 30}, 2)
    log.log_metrics({"loss": float("nan")}, 3)
    assert run.metrics_file.read_text().startswith("step,metric,value,unix_time\n")
    assert [row.split(",")[:-1] for row in run.metrics_file.read_text().splitlines()[1:]] == [
        ["1", '"a', 'b"', "0.3333333"], ["2", "loss", "2.5"], ["2", "test/en/bleu", "30"], ["3", "loss", "nan"],
    ]  # fmt: skip
    again = MetricsCsv(run, resumed_step=2)
    again.log_metrics({"loss": 7}, 3)
    assert [each[:3] for each in run.metrics()] == [
        (1, "a,b", 0.3333333), (2, "loss", 2.5), (3, "loss", 7.0),
    ]  # fmt: skip
    with run.metrics_file.open("a") as file:
        file.write("4,loss,2")  # a power cut came before the .5
    assert [each.step for each in run.metrics()] == [1, 2, 3]
    MetricsCsv(run)
    assert run.metrics() == [] and RunDirectory(Path("/nowhere")).metrics() == []
