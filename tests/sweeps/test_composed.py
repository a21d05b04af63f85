"""What a command must not ask of a sweep, and what is told then."""

from pathlib import Path

import pytest

from seq2seq import cli
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory
from seq2seq.commands.train import composed
from seq2seq.errors import ConfigError


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["-m", "seed=1", "resume=elsewhere"], "resume= goes on with one run, or with one sweep as it is; leave -m"),
        (["-m", "run_dir=a,b"], "run_dir is the directory of the whole sweep, which names those of its jobs"),
        (["-m", "seed=1", "resume=auto"], "resume=auto needs a directory that is the same at each start"),
        (["-m", "optim.lr=-1"], "optim.lr=-1.0 must be above 0"),
        (["-m", "seed=1", "+optim.ler=1"], "there is no configuration key 'optim.ler'; did you mean optim.lr"),
        (["resume=SWEEP", "seed=4"], "seed=4 cannot be used when a sweep goes on, since each job has its own"),
        (["resume=SWEEP", "data=multi30k"], "data=multi30k cannot be used when a sweep goes on, since each job"),
        (["resume=SEARCH"], "resume=SEARCH is a search; go on with: python -m seq2seq search SEARCH"),
        (["-m", "seed=1", "run_dir=SWEEP"], "run_dir=SWEEP holds a sweep already; continue it with resume=SWEEP"),
        (["-m", "seed=1", "run_dir=SWEEP", "resume=auto"], "run_dir=SWEEP holds a sweep of other jobs; name another"),
    ],
)  # fmt: skip
def test_what_no_sweep_can_do_is_told_before_it_does_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    SweepDirectory(Path("SWEEP")).write_jobs([Job("000_seed=1", ["seed=1"]), Job("001_seed=2", ["seed=2"])])
    SweepDirectory(Path("SEARCH")).write_search({})
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", asked)
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {told}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SEARCH", "SWEEP"]


def test_a_path_with_an_equals_sign_needs_no_quotes(tmp_path: Path, monkeypatch, capsys) -> None:
    """As in the name of each job; Hydra alone would refuse it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.front_door("train", ["resume=runs/000_seed=1"])
    assert capsys.readouterr().err.startswith("error: runs/000_seed=1: nothing to resume")


def test_what_a_value_looks_up_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "${oc.env:HOME}")
    with pytest.raises(ConfigError, match=r"name: '\$\{oc\.env:HOME\}' names a value"):
        composed(["name=${oc.env:OUTER}"])
    assert composed(["name=${hydra:job.name}", "seed=3"]).seed == 3
    with pytest.raises(ConfigError, match="nothing"):
        composed(["run_dir=${nothing}"])
