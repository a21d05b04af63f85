"""What lies in the directory of a sweep, and how its jobs are called."""

import re
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from seq2seq.artifacts.run_directory import RunDirectory, runs_in
from seq2seq.artifacts.sweep_directory import SweepDirectory, job_name, refuse_secrets
from seq2seq.config.command import path_word
from seq2seq.errors import ConfigError, RunError


def test_a_job_is_called_by_its_number_and_by_what_differs() -> None:
    assert job_name(1, ["optim.lr=0.001", "seed=2"]) == "001_optim.lr=0.001_seed=2"
    assert job_name(0, []) == "000"
    assert job_name(1_000, ["seed=1"]) == "1000_seed=1"
    assert job_name(2, ["data.train=[a/b,c]_data.valid='d e'"]) == "002_data.train=a-b-c_data.valid=d-e"


@given(jobs=st.lists(st.lists(st.text(max_size=60), max_size=4), min_size=1, max_size=30))
def test_names_are_safe_different_and_in_the_order_of_the_jobs(jobs: list[list[str]]) -> None:
    names = [job_name(number, words) for number, words in enumerate(jobs)]
    assert sorted(names) == names and len({name.casefold() for name in names}) == len(jobs)
    assert all(re.fullmatch(r"\d{3,}(_[\w.=+-]*[A-Za-z0-9+])?", name, re.ASCII) and len(name) <= 90 for name in names)


@settings(max_examples=50)  # milliseconds each
@given(path=st.text(st.characters(exclude_characters="\x00\n\r", exclude_categories=["Cs"]), min_size=1))
def test_hydra_reads_any_path(path: str) -> None:
    parsed = OverridesParser.create().parse_override(path_word("run_dir", path))
    assert (parsed.get_key_element(), str(parsed.value())) == ("run_dir", path)


PLACES = {"main": "/conf", "command-line": "/my presets"}


def begin(sweep: SweepDirectory, words: list[str]) -> None:
    """What Hydra leaves of a sweep."""
    sweep.path.mkdir(exist_ok=True)
    overrides = {"task": [*words, "run_dir=there"], "hydra": ["hydra.mode=MULTIRUN", "hydra.launcher.n_jobs=2"]}
    places = [{"path": str(path), "provider": provider} for provider, path in PLACES.items()]
    OmegaConf.save(
        {"hydra": {"overrides": overrides, "runtime": {"config_sources": places}}}, sweep.path / "multirun.yaml"
    )


def test_a_run_knows_its_sweep_by_where_it_lies(tmp_path: Path) -> None:
    sweep = SweepDirectory(tmp_path / "mine")
    assert SweepDirectory.of_run(sweep.path / "007_seed=7") is None
    begin(sweep, ["seed=6,7"])
    assert SweepDirectory.of_run(sweep.path / "007_seed=7") == sweep
    assert SweepDirectory.of_run(sweep.path) is None


def test_the_words_are_read_back_and_the_jobs_found(tmp_path: Path) -> None:
    sweep, (first, second) = SweepDirectory(tmp_path), ("000_seed=0", "001_seed=1")
    begin(sweep, ["seed=0,1"])
    assert sweep.overrides() == ["--config-dir=/my presets", "hydra.launcher.n_jobs=2", "seed=0,1"]
    begin(sweep, words := ["model.d_ff=${model.d_model}", "data.train=${oc.env:UNSET}", "name=${now:%H}"])
    assert sweep.overrides()[2:] == words  # which each job resolves
    sweep.write_error(first, "it\nfailed")
    assert sweep.is_sweep and not sweep.is_search and not sweep.is_run
    assert (sweep.error(first), sweep.error(second)) == ("it; failed", "")
    assert sweep.jobs() == [first]
    sweep.forget_error(first)
    sweep.forget_error(second)
    assert sweep.error(first) == "" and sweep.jobs() == []
    for name in (second, first, "by_hand"):
        sweep.run(name).path.mkdir()
        (sweep.run(name).path / "config.yaml").touch()
    assert sweep.jobs() == [first, second]
    assert runs_in(tmp_path) == [RunDirectory(tmp_path / name) for name in (first, second, "by_hand")]


@pytest.mark.parametrize(
    "content", ["{", "a: [", "hydra: 3", "hydra: {overrides: {}}", "hydra: {overrides: {task: 3}}"]
)
def test_damaged_words_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "multirun.yaml").write_text(content)
    with pytest.raises(RunError, match=r"multirun\.yaml: has no words of a sweep, so it is damaged; restore it"):
        SweepDirectory(tmp_path).overrides()


def test_no_secret_is_written_down(tmp_path: Path) -> None:
    """The jobs would need it, so it is refused; a variable is not."""
    sweep = SweepDirectory(tmp_path / "sweep")
    for refused in (
        lambda: refuse_secrets(["seed=1", "data.train=http://ann:S3cret@host/a"]),
        lambda: sweep.write_search({"words": [], "space": {"data.train": {"choices": ["http://host/a?token=S3cret"]}}}),
    ):
        with pytest.raises(
            ConfigError, match=r"http://\S*\*\*\*.* would be written down with its secret, .*data.catalogue"
        ):
            refused()
    assert not sweep.path.exists()
    refuse_secrets(["data.train=http://ann:${oc.env:PASSWORD}@host/a"])
    sweep.write_error("000", "ValueError: http://ann:S3cret@host")
    assert sweep.error("000") == "ValueError: http://***@host"
