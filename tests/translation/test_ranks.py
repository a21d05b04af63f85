"""Processes of one job share a text, whoever dies or comes late. Each is a real process."""

import os
import signal
import sys
from pathlib import Path

import pytest

from seq2seq.cores import n_cores
from seq2seq.errors import ConfigError
from seq2seq.translation import request as ranks_of
from seq2seq.translation.request import Process, launched
from tests.nightly import IS_NIGHTLY
from tests.processes import until
from tests.translating import Cli
from tests.translation.shared_text import SMALL_BLOCKS, TEXT, by_one, ended, ranks, write

linux = pytest.mark.skipif(sys.platform != "linux", reason="they are forked from one that has imported torch")


@pytest.fixture(scope="module")
def cli(trained_run: Path) -> Cli:
    return Cli(trained_run)


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "text", "options"),
    [
        (3, "Ba.\n", ()),  # fewer lines than processes
        *[(n, text, ("--n-best", 2)) for n in (2, 3) for text in ("", "\n", TEXT[:-1], TEXT * 9) if IS_NIGHTLY],
    ],
)
def test_processes_write_what_one_writes(
    cli: Cli, tmp_path: Path, n: int, text: str, options: tuple[object, ...]
) -> None:
    given = ("--input", write(tmp_path / "in", text), *SMALL_BLOCKS, *options)
    expected = by_one(cli, *given, output=tmp_path / "one")
    log, out = tmp_path / "log", tmp_path / "out"
    assert ended(ranks(cli, n, *given, "--output", out, log=log)) == [0] * n, log.read_text()
    assert out.read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "log", "one", "out"]
    said = log.read_text().splitlines()  # by who joins, and another one may come when all is done
    assert len([line for line in said if line.startswith("translated")]) == 1


@linux
@pytest.mark.slow
def test_what_a_killed_process_leaves_the_others_make(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--json")
    expected = by_one(cli, *given, output=tmp_path / "one")
    log, out = tmp_path / "log", tmp_path / "out"
    (second,) = ranks(cli, 2, *given, "--output", out, log=log, of=[1], wait_at=1)
    until((tmp_path / "waits-1").exists)
    (first,) = ranks(cli, 2, *given, "--output", out, log=log, of=[0])
    until(lambda: len(list((tmp_path / "out.parts").glob("[0-9]*-*"))) > 2)
    second.kill()
    assert ended([first, second]) == [0, -signal.SIGKILL]
    assert out.read_bytes() == expected
    assert not (tmp_path / "out.parts").exists()


def test_one_of_several_does_all_and_scores_it_and_a_restart_knows(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "in")
    given = ("--input", source, *SMALL_BLOCKS)
    expected = by_one(cli, *given, output=tmp_path / "one")
    for name, value in (("RANK", "1"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    (tmp_path / "out").write_text("of another time")
    status, _, err = cli(*given, "--output", tmp_path / "out", "--reference", source)
    assert (status, "BLEU" in err.upper()) == (0, True), err
    assert (tmp_path / "out").read_bytes() == expected
    assert "is this translation already" in cli(*given, "--output", tmp_path / "out")[2]
    status, _, err = cli(*given, "--beam-size", 2, "--output", tmp_path / "out")
    assert "translated" in err and status == 0  # another translation
    assert "--shard is for tasks that run by themselves" in cli.refusal(
        *given, "--output", tmp_path / "out", "--shard", "1/2"
    )
    assert "--input /dev/stdin: several processes cannot share a stream" in cli.refusal("--output", tmp_path / "out")


# --- who shares this machine ---

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
SRUN = {
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_STEP_TASKS_PER_NODE": "2(x3),1",
    "SLURM_NODEID": "1",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_CPUS_ON_NODE": "12",
}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("SLURM", "TORCHELASTIC", "RANK", "WORLD", "LOCAL_")):
            monkeypatch.delenv(name)


def started_with(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Process | None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return launched()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        (TORCHRUN | {"WORLD_SIZE": "1"}, None),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, None),  # sbatch, before anybody calls srun
        ({"SLURM_STEP_NUM_TASKS": "1"}, None),  # srun --pty bash
        (SRUN, Process(1, 2, 12)),
        (SRUN | {"SLURM_NODEID": "3"}, Process(1, 1, 12)),
        (SRUN | TORCHRUN, Process(1, 2, n_cores())),
        ({"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "1"}, Process(1, 6, n_cores())),
    ],
)
def test_torchrun_and_srun_say_who_this_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: Process | None
) -> None:
    assert started_with(monkeypatch, variables) == expected


def test_cores_are_shared_out_unless_srun_has_done_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_of, "n_cores", lambda: 12)
    assert Process(0, 4, 12).n_cores == 3
    assert Process(0, 32, 12).n_cores == 1
    monkeypatch.setattr(ranks_of, "n_cores", lambda: 2)  # bound by --cpus-per-task=2
    assert Process(0, 4, 12).n_cores == 2


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORLD_SIZE": "x"}, "WORLD_SIZE='x' does not say which of several processes this is; .* or unset WORLD_SIZE"),
        ({"WORLD_SIZE": "2"}, "LOCAL_RANK=''"),
        ({"SLURM_STEP_NUM_TASKS": "2"}, "SLURM_NODEID='' .* or unset SLURM_STEP_NUM_TASKS"),
        (SRUN | {"SLURM_NODEID": "4"}, "SLURM_STEP_TASKS_PER_NODE does not say how many tasks this node has"),
    ],
)
def test_variables_that_say_too_little_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        started_with(monkeypatch, variables)
