"""Several processes of one run: who knows what, who says what, how they end. Real ones, however they are started."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from tests.training.launching import end_of, run, started
from tests.training.tiny_runs import TINY, checkpoint
from tests.training.two_ranks import at_a_free_port, launcher

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

# Each process notes its rank in a file where it verifies a store or computes intervals.
WHO_DOES_WHAT = """
from pathlib import Path
from seq2seq.dataset.store import PairStore
from seq2seq.training import selection

def noting(name, function):
    def noted(*arguments, **options):
        with open(Path(os.environ["NOTES"]) / name, "a") as file:
            file.write(os.environ["RANK"] + "\\n")
        return function(*arguments, **options)
    return noted

PairStore.verify = noting("verified", PairStore.verify)
selection.report = noting("scored", selection.report)
"""

BUG = """
from seq2seq.training.module import TranslationModule
if rank == 1:
    del TranslationModule.training_step
"""

IMPATIENT = """
from seq2seq.cli import front_door
from seq2seq.training import data

data.NETWORK_DELAY_S = 0.1
front_door("train")
"""


def words(corpus: Path, **changes: object) -> list[str]:
    """Of a training without `run_dir`."""
    keys = TINY | {"data.dir": corpus, "data.cache_dir": corpus / "cache", "trainer.max_steps": 1}
    keys |= {"decoding.beam_size": 1}
    keys |= {name.replace("__", "."): value for name, value in changes.items()}
    return ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]


def test_what_one_process_can_do_for_all_is_done_once(corpus, tmp_path):
    script = launcher(tmp_path, before=WHO_DOES_WHAT)
    status, err = run(script, *words(corpus, trainer__devices=2), cwd=tmp_path, NOTES=tmp_path, **at_a_free_port())
    assert status == 0, err
    (run_dir,) = (tmp_path / "runs/default").iterdir()
    assert checkpoint(run_dir)["global_step"] == 1 and RunDirectory(run_dir).is_scored
    assert err.splitlines()[-1] == f"report:  file://{run_dir}/report.html"
    for name in ("verified", "scored"):
        assert set((tmp_path / name).read_text().split()) == {"0"}, name


def test_machines_that_do_not_see_the_same_run_directory_end_at_once(corpus, tmp_path):
    """Two processes that take themselves for two machines, with the variables of torchrun: each has its own folder."""
    folders = [tmp_path, tmp_path / "other"]
    folders[1].mkdir()
    meeting, keys = at_a_free_port(), words(corpus, trainer__n_nodes=2, trainer__strategy="ddp")
    script = tmp_path / "train.py"
    script.write_text(IMPATIENT)

    def machine(rank: int):
        place: dict[str, Any] = {"RANK": rank, "LOCAL_RANK": 0, "GROUP_RANK": rank, "WORLD_SIZE": 2}
        place |= {"LOCAL_WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "run"}
        return started(script, *keys, cwd=folders[rank], **place, **meeting)

    with machine(0) as first, machine(1) as second:
        (status, err), (status_of_second, err_of_second) = end_of(first), end_of(second)
    assert (status, status_of_second, err_of_second) == (2, 2, "")
    assert re.fullmatch(
        rf"error: machine 1 .* nothing there: {folders[1]}/runs/default/\S+; put run_dir where .*\n", err
    )
    assert not list((tmp_path / "runs").rglob("*.json"))


def test_a_bug_in_another_process_is_told_once(corpus, tmp_path):
    status, err = run(launcher(tmp_path, before=BUG), *words(corpus), cwd=tmp_path, **at_a_free_port())
    assert (status, err.count("Traceback")) == (2, 1)
    assert err.splitlines()[-1].startswith("error: process 1 of this run failed [")
