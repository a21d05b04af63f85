"""Processes of one job share a text, whoever dies or comes late. Each is a real process."""

import os
import signal
import sys
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from seq2seq.artifacts.lease import is_leased
from seq2seq.translation.output import locked
from seq2seq.translation.sharing import run
from seq2seq.translation.sharing.plan import Folder
from tests.nightly import IS_NIGHTLY
from tests.processes import Warm, until
from tests.translating import Cli
from tests.translation.sharing.shared_text import SMALL_BLOCKS, TEXT, by_one, ended, ranks, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="they are forked from one that has imported torch"),
]


@pytest.fixture(scope="module")
def cli(trained_run: Path) -> Cli:
    return Cli(trained_run)


@pytest.mark.parametrize(
    ("n", "text", "options"),
    [
        (2, TEXT, ("--json", "--quiet")),
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
    assert ended(ranks(cli, n, *given, "--output", out, log=log)) == [0] * n
    assert out.read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "log", "one", "out"]
    said = [line for line in log.read_text().splitlines() if not line.startswith("warning:")]
    if "--quiet" in options:
        assert said == []
    else:  # by the first one, about all
        (told,) = [line for line in said if line.startswith("translated")]
        n_lines = len(text.removesuffix("\n").split("\n")) if text else 0
        assert told.startswith(f"translated {n_lines} lines in ") and told.endswith(f"with {n} processes")


def test_what_a_killed_process_leaves_the_others_make(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--json")
    expected = by_one(cli, *given, output=tmp_path / "one")
    log, out, folder = tmp_path / "log", tmp_path / "out", tmp_path / "out.parts"
    (first,) = ranks(cli, 2, *given, "--output", out, log=log, of=[0])
    (second,) = ranks(cli, 2, *given, "--output", out, log=log, of=[1], wait_at=1)
    until((tmp_path / "waits-1").exists)
    second.kill()
    assert ended([first, second]) == [0, -signal.SIGKILL]
    assert out.read_bytes() == expected
    assert not folder.exists()


def test_the_first_process_waits_for_a_part_and_makes_it_when_nobody_else_does(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS)
    expected = by_one(cli, *given, output=tmp_path / "one")
    log, out = tmp_path / "log", tmp_path / "out"
    assert cli(*given, "--output", out, "--shard", "1/3")[0] == 0
    folder = Folder(out)
    plan = folder.read_plan()
    assert plan is not None
    with locked(folder.part(1)):
        first, second = ranks(cli, 2, *given, "--output", out, log=log)
        assert ended([second]) == [0]
        until(lambda: list(folder.faults(plan)) == [1])
        with pytest.raises(TimeoutExpired):
            first.wait(0.3)
        assert not out.exists()
    assert ended([first]) == [0]
    assert out.read_bytes() == expected


def test_after_all_were_stopped_the_same_command_goes_on(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--json")
    expected = by_one(cli, *given, output=tmp_path / "one")
    log, out, folder = tmp_path / "log", tmp_path / "out", tmp_path / "out.parts"
    stopped = ranks(cli, 2, *given, "--output", out, log=log, wait_at=8)
    until(lambda: all((tmp_path / f"waits-{rank}").exists() for rank in range(2)))
    assert len([*folder.glob("0????")]) >= 2  # some parts are whole, and others are not
    stopped[0].kill()
    stopped[1].terminate()  # as torchrun does when one has died
    (tmp_path / "go").touch()
    assert ended(stopped) == [-signal.SIGKILL, 143]
    kept = f"what is translated is kept in {folder}; the same command goes on"
    assert log.read_text().splitlines().count(kept) == 1
    assert not out.exists()
    again = ranks(cli, 3, *given, "--output", out, log=log)  # another number is as good
    assert ended(again) == [0, 0, 0]
    assert out.read_bytes() == expected
    assert "of an earlier run" in log.read_text()


def test_a_process_that_comes_late_after_a_killed_job_is_waited_for(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--output", tmp_path / "out")
    folder = Folder(tmp_path / "out")
    folder.path.mkdir()
    folder.process(1).touch()  # of the killed one
    first = ranks(cli, 2, *given, log=tmp_path / "log", of=[0])
    until((tmp_path / "out").exists)  # it has done all of the work
    second = ranks(cli, 2, *given, log=tmp_path / "log", of=[1])
    assert ended([*first, *second]) == [0, 0]


def test_two_jobs_do_not_share_an_output(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--output", tmp_path / "out")
    assert cli(*given, "--shard", "1/3")[0] == 0
    folder = Folder(tmp_path / "out")
    with locked(folder.part(1)):  # so that the job does not end
        job = ranks(cli, 2, *given, log=tmp_path / "log")
        until(lambda: is_leased(folder.process(0)))
        other = ranks(cli, 2, *given, log=tmp_path / "other", of=[0])
        assert ended(other) == [2]
    assert f"{tmp_path}/out is being written by another process; wait for it" in (tmp_path / "other").read_text()
    assert ended(job) == [0, 0]


def test_two_tasks_do_not_make_the_same_share(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--output", tmp_path / "out")
    assert cli(*given, "--shard", "1/3")[0] == 0
    held = tmp_path / "out.parts" / "shard-2-of-3"
    (tmp_path / "program.py").write_text(f"""
import time
from pathlib import Path
from seq2seq.artifacts.lease import leased
with leased(Path({str(held)!r})):
    time.sleep(600)
""")
    holder = Warm([str(tmp_path / "program.py")], env=os.environ)
    try:
        until(lambda: is_leased(held))
        err = cli.refusal(*given, "--shard", "2/3")
        assert f"shard 2 of 3 of {tmp_path}/out is being translated by process {holder.pid} on " in err
    finally:
        holder.kill()
    assert holder.wait(60) == -signal.SIGKILL
    assert cli(*given, "--shard", "2/3")[0] == 0


def test_a_process_that_sees_no_first_one_says_what_may_be_wrong(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PATIENCE_S", 0.1)
    for name, value in (("RANK", "1"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    given = ("--input", write(tmp_path / "in"), "--output", tmp_path / "out")
    err = cli.refusal(*given)
    assert f"no sign of the first process in {tmp_path}/out.parts after 0 s. All processes must see one folder" in err
    assert "--shard is for tasks that run by themselves" in cli.refusal(*given, "--shard", "1/2")
    assert "--input from stdin: several processes cannot share a stream" in cli.refusal(*given[2:])
    assert not (tmp_path / "out.parts").exists()


def test_the_first_process_alone_makes_all_and_scores_it_and_a_restart_knows(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "in")
    given = ("--input", source, *SMALL_BLOCKS)
    expected = by_one(cli, *given, output=tmp_path / "one")
    monkeypatch.setattr(run, "PATIENCE_S", 0.1)
    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    (tmp_path / "out").write_text("of another time")
    status, _, err = cli(*given, "--output", tmp_path / "out", "--reference", source)
    assert (status, "BLEU" in err.upper()) == (0, True), err
    assert (tmp_path / "out").read_bytes() == expected
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert "nothing to resume" in cli(*given, "--output", tmp_path / "out")[2]
    status, _, err = cli(*given, "--beam-size", 2, "--output", tmp_path / "out")
    assert "translated" in err and status == 0  # a restart of another translation
    assert "beam_size was 2" in cli.refusal(*given, "--output", tmp_path / "out", "--resume")


def test_text_that_is_wrong_leaves_no_folder(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    (tmp_path / "in").write_bytes(b"Ba.\n\xff\n")
    err = cli.refusal("--input", tmp_path / "in", "--output", tmp_path / "out")
    assert "in:2: byte 1 of the line (0xff) is not UTF-8" in err and "kept" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
