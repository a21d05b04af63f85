"""What lies in the directory of a sweep, and how its jobs are called."""

import re
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.artifacts.identity import SweepPlace
from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory, job_name, job_names
from seq2seq.config.command import path_word
from seq2seq.errors import RunError


def test_a_job_is_called_by_its_number_and_by_what_differs() -> None:
    jobs = [["experiment=demo", f"optim.lr={lr}", f"seed={seed}"] for lr in ("0.001", "0.002") for seed in (1, 2)]
    assert job_names(jobs) == [
        "000_optim.lr=0.001_seed=1",
        "001_optim.lr=0.001_seed=2",
        "002_optim.lr=0.002_seed=1",
        "003_optim.lr=0.002_seed=2",
    ]
    assert job_names([["seed=1"]]) == ["000"]
    assert job_names([[f"seed={seed}"] for seed in range(1_001)])[::1_000] == ["0000_seed=0", "1000_seed=1000"]
    assert job_names([["data.train=[a/b,c]"], ["data.train='d e'"]]) == ["000_data.train=a-b-c", "001_data.train=d-e"]


@given(jobs=st.lists(st.lists(st.text(max_size=60), max_size=4), min_size=1, max_size=30))
def test_names_are_safe_different_and_in_the_order_of_the_jobs(jobs: list[list[str]]) -> None:
    names = job_names(jobs)
    assert sorted(names) == names and len({name.casefold() for name in names}) == len(jobs)
    assert all(re.fullmatch(r"\d{3,}(_[\w.=+-]*[A-Za-z0-9+])?", name, re.ASCII) and len(name) <= 90 for name in names)


@settings(max_examples=50)  # milliseconds each
@given(path=st.text(st.characters(exclude_characters="\x00\n\r", exclude_categories=["Cs"]), min_size=1))
def test_hydra_reads_any_path(path: str) -> None:
    parsed = OverridesParser.create().parse_override(path_word("run_dir", path))
    assert (parsed.get_key_element(), str(parsed.value())) == ("run_dir", path)


def test_a_run_knows_its_place_by_where_it_lies(tmp_path: Path) -> None:
    sweep = SweepDirectory(tmp_path / "mine")
    assert SweepDirectory.of_run(sweep.path / "007_seed=7") is None
    sweep.write_jobs([Job("007_seed=7", ["seed=7"])])
    assert SweepDirectory.of_run(sweep.path / "007_seed=7") == sweep
    assert sweep.place("007_seed=7") == SweepPlace("mine", 7)
    assert sweep.place("by_hand") == SweepPlace("mine", 0)
    assert SweepDirectory.of_run(sweep.path) is None


def test_a_job_begins_with_its_words_and_goes_on_from_what_it_saved(tmp_path: Path) -> None:
    sweep, job = SweepDirectory(tmp_path), Job("000", ["seed=7"])
    assert sweep.words(job) == ["seed=7", f"run_dir='{tmp_path}/000'"]
    sweep.run("000").checkpoints.mkdir(parents=True)
    sweep.run("000").last.touch()
    assert sweep.words(job) == [f"resume='{tmp_path}/000'"]


def test_the_jobs_are_read_back_and_their_directories_found(tmp_path: Path) -> None:
    sweep = SweepDirectory(tmp_path)
    jobs = [Job(name, [f"seed={number}"]) for number, name in enumerate(job_names([["seed=0"], ["seed=1"]]))]
    sweep.write_jobs(jobs)
    sweep.write_error(jobs[0].name, "it\nfailed")
    sweep.log_file(jobs[0].name)
    assert sweep.jobs() == jobs and sweep.is_sweep and not sweep.is_search and not sweep.is_run
    assert (sweep.error(jobs[0].name), sweep.error(jobs[1].name)) == ("it failed", "")
    sweep.forget_error(jobs[0].name)
    sweep.forget_error(jobs[1].name)
    assert sweep.error(jobs[0].name) == ""
    for job in jobs:
        sweep.run(job.name).path.mkdir()
        (sweep.run(job.name).path / "config.yaml").touch()
    assert runs_in(tmp_path) == [RunDirectory(tmp_path / job.name) for job in jobs]


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "is not JSON"), ("{}", "has no jobs"), ('{"jobs": [3]}', "has no jobs"), ('{"jobs": 3}', "has no jobs")],
)
def test_a_damaged_list_of_jobs_is_named(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(RunError, match=rf"sweep\.json: {told}, so it is damaged; restore it"):
        SweepDirectory(tmp_path).jobs()


def test_the_number_of_a_trial_has_three_digits() -> None:
    assert job_name(3, ["optim.lr=0.1"]) == "003_optim.lr=0.1"
