"""A disk that becomes full while a run trains: an error in a sentence, nothing half-written, and the run can go on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.run_directory import RunDirectory
from tests.devices import can_mount, small_disk
from tests.faults.runs import CHANGES, assert_same, faulty_train, steps_saved
from tests.nightly import IS_NIGHTLY
from tests.training.tiny_runs import arguments, command

REASONS = {"fill": "No space left on device", "limit": "File too large"}
# File and time, in the order in which a run writes them, so that each part of it comes further than the one before.
ALL = [
    ("run.json", 1),
    ("config.yaml", 1),
    ("last.ckpt", 1),  # of step 4, since its weights stay
    ("step-", 1),
    ("best-", 1),  # of the validation of step 5
    ("recent-", 1),
    ("last.ckpt", 1),
    ("last.ckpt", 3),  # of step 15
    ("step-", 2),  # 16
    ("metrics.csv", 4),  # of step 18; where a page of a disk ends in its rows, half of one is written
    ("model.ckpt", 1),
    ("test.en", 1),  # hypotheses
    ("test.en", 2),  # references
    ("test.fr", 1),  # sources
    ("scores.json", 1),
    ("selection.json", 1),
    ("summary.txt", 1),
]
SOME = [  # of these
    ("step-", 1),
    ("metrics.csv", 4),
    ("scores.json", 1),
]


@pytest.fixture(params=["fill", "limit"] if IS_NIGHTLY else ["fill" if can_mount() else "limit"])
def place(request: pytest.FixtureRequest, whole_run: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """What happens to a disk, and the disk, which has just the space that a run asks for."""
    if request.param == "limit":
        yield "limit", tmp_path
        return
    run = RunDirectory(whole_run)
    state, model = run.last.stat().st_size, run.best.stat().st_size
    n_models = 2 + 2 + 5 + 1 + 1  # best, to average, every fourth step, the winner; and one that is being written
    n_states, for_the_rest = 4, 400_000  # last, previous, one to go back to, and one on trial
    with small_disk(tmp_path / "disk", n_states * state + n_models * model + for_the_rest) as folder:
        yield "fill", folder


def test_a_run_that_meets_full_disks_ends_as_one_that_never_did(
    tiny_corpus: Path, whole_run: Path, place: tuple[str, Path]
) -> None:
    how, folder = place
    run_dir, filler = folder / "run", folder / "filler"
    words = [*arguments(tiny_corpus, run_dir, CHANGES), "resume=auto"]
    for name, number in ALL if IS_NIGHTLY else SOME:
        fails(how, folder, words, name, number)
    done = faulty_train(words, how, "test.json", 1, FILLER=str(filler))  # which costs only the analysis
    assert done.returncode == 0, done.stderr
    assert "there is no analysis of what the model gets wrong (OSError: [Errno " in done.stderr
    assert REASONS[how] in done.stderr and f"train.py resume={run_dir}" in done.stderr
    for name in ("scores.json", "selection.json", "sources/test.fr"):
        assert (run_dir / name).read_bytes() == (whole_run / name).read_bytes()
    assert (run_dir / "summary.txt").is_file()
    assert not list((run_dir / "analysis").iterdir())
    filler.unlink(missing_ok=True)
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "all checkpoints of this run" not in done.stderr
    assert_same(run_dir, whole_run)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({name for name, _ in ALL}))
def test_each_file_at_each_time(tiny_corpus: Path, whole_run: Path, place: tuple[str, Path], name: str) -> None:
    how, folder = place
    for number in range(1, 40):
        words = [*arguments(tiny_corpus, folder / "run", CHANGES), "resume=auto"]
        if not fails(how, folder, words, name, number, may_succeed=True):
            break  # it is not opened as often
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert_same(folder / "run", whole_run)
        shutil.rmtree(folder / "run")
    assert number > 1


def fails(how: str, folder: Path, words: list[str], name: str, number: int, *, may_succeed: bool = False) -> bool:
    """Start or continue a run that meets a full disk at a file. Then make room."""
    filler = folder / "filler"
    run = RunDirectory(Path(next(word for word in words if word.startswith("run_dir=")).removeprefix("run_dir=")))
    before = steps_saved(run.path)
    done = faulty_train(words, how, name, number, FILLER=str(filler))
    if may_succeed and done.returncode == 0:
        return False
    assert done.returncode == 2, (name, number, done.stderr)
    remedy = (
        f"then continue with: python train.py resume={run.path}" if run.has_checkpoints else "or name another run_dir"
    )
    error = f"error: run_dir={run.path} cannot be written to ({REASONS[how]}); make room, {remedy}\n"
    assert done.stderr.endswith(error), (name, number, done.stderr)
    assert "Traceback" not in done.stderr
    filler.unlink(missing_ok=True)
    assert not list(folder.rglob("*.tmp"))
    for file in run.checkpoints.glob("*.ckpt"):
        read_checkpoint(file)
    if (table := run.metrics_file).is_file():
        assert table.read_text().endswith("\n")
        assert {line.count(",") for line in table.read_text().splitlines()} == {3}
    for file in run.path.glob("*.json"):
        json.loads(file.read_text())
    assert steps_saved(run.path) >= before
    return True
