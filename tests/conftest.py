"""What all tests share: settings of torch's threads, and saved models, which no test may change."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.nightly import IS_NIGHTLY, SEED
from tests.places import made_once

# Before torch is imported, here and in what tests start. Processes that run tests keep all cores busy: more threads
# in each of them only wait for each other, and a thread that waits must not keep a core busy (40 s in one test).
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell starts what it puts in the background with Ctrl-C ignored, and `nohup` with SIGHUP; so would be all processes
# that tests start. A handler does not pass on to them, and this process survives the end of its terminal all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# The same examples each time, and none that another run has kept. What is drawn may be slow on a machine that is busy,
# and may share the folder of its test. Who tries mutants has chosen the phases before.
settings.register_profile(
    "tests",
    settings(),
    max_examples=500 if IS_NIGHTLY else 40,
    derandomize=not IS_NIGHTLY,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tests")


def pytest_report_header() -> str:
    return f"draws with NIGHTLY={SEED}: give the same again to repeat this" if IS_NIGHTLY else ""


def pytest_configure(config: pytest.Config) -> None:
    # Lightning 2.6 with torch 2.13: about Lightning's own code, or about validation that a test leaves out.
    for message in ("isinstance.treespec, LeafSpec.* is deprecated", "You defined a `validation_step` but have no"):
        config.addinivalue_line("filterwarnings", f"ignore:.*{message}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what takes minutes to `make nightly`, and what writes files to `make test`; skip what needs a GPU."""
    if not IS_NIGHTLY and (minutes := [item for item in items if item.get_closest_marker("nightly")]):
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=minutes)
    for item in items:
        if "tmp_path_factory" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("gpu"):
            import torch

            if not torch.cuda.is_available():
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


def pytest_collection_finish() -> None:
    """Spare later garbage collections all that was imported until now: 6 % of the time of the fast tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def ctrl_c_as_before() -> Iterator[None]:
    """What a test does to Ctrl-C in this process ends with it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if before is not None and signal.getsignal(signal.SIGINT) is not before:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Give this process its signal handlers back: a command that a signal stopped keeps its own to its end."""
    handlers = {signum: signal.getsignal(signum) for signum in signal.valid_signals()}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for signum, handler in handlers.items():
        if signal.getsignal(signum) != handler:
            signal.signal(signum, handler)


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a model with random weights."""
    from tests.translating import model_content, write_run

    return made_once(tmp_path_factory, "random_run", lambda folder: write_run(folder, model_content()))


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a model that has learned `tests.translating.LEXICON`."""
    from tests.translating import trained_content, write_run

    return made_once(tmp_path_factory, "trained_run", lambda folder: write_run(folder, trained_content()))


@pytest.fixture(scope="session")
def tagged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `trained_run`, with the tags t and z of kinds of text."""
    from tests.translating import trained_content, write_run

    return made_once(tmp_path_factory, "tagged_run", lambda folder: write_run(folder, trained_content("t", "z")))


@pytest.fixture(scope="session")
def exported_model(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory of `trained_run`, with weights for CTranslate2 only."""
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
    from seq2seq.export.export import export

    def make(folder: Path) -> None:
        lines = folder.with_suffix(".txt")
        lines.write_text("Ba bi.\nFo fu da.\n", encoding="utf-8")
        export(trained_run, formats=("ctranslate2",), output=folder, parity_input=lines)

    return made_once(tmp_path_factory, "exported_model", make)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, where this user may mount one."""
    from tests import devices

    with devices.small_disk(tmp_path / "disk", 1 << 16) as folder:
        yield folder
