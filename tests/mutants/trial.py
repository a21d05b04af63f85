"""Tests in copies of the tree: as it is, and with a mutant."""

import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple, NoReturn

from tests.mutants.mutant import Mutant

LIMIT_S = 150.0  # for the tests of a mutant: above the limits of their own that tests have for processes they start
CAUGHT, SURVIVED, STALE, BROKEN = "caught", "SURVIVED", "STALE", "BROKEN"
_NOT_COPIED = (".*", "__pycache__", "runs", "outputs", "multirun", "build", "dist", "*.egg-info")
_OUTPUT = ".output"  # in a copy: of pytest
_PASSED, _FAILED, _OTHER_CODE = 0, 1, 99  # exit statuses; the others of pytest say that it ran no test
_IMPORTED_BEFORE = ["hydra", "hypothesis", "pytest", "pytorch_lightning", "sacrebleu", "torch"]


class Verdict(NamedTuple):
    """What became of a mutant: caught, survived, stale (the code was changed) or broken (no test could run)."""

    mutant: Mutant
    outcome: str
    why: str  # the test that failed, or what is wrong
    seconds: float = 0.0


class UnfitTreeError(Exception):
    """Tests fail without any fault, or meet other code than that of the copy that they run in."""


def warm_up() -> None:
    """Let processes be forked from one that has the slow imports done: a third of the time, from a few mutants on."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    multiprocessing.get_context("forkserver").set_forkserver_preload(_IMPORTED_BEFORE)


@contextmanager
def copies(root: Path, n: int) -> Iterator[list[Path]]:
    """Copies of the tree at `root`, which are removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        found = [Path(folder).resolve() / str(number) for number in range(n)]
        for copy in found:
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        yield found


def check_unmutated(copies: Sequence[Path], tests: Iterable[str]) -> None:
    """Run tests without any fault: if they failed, they would seem to catch everything.

    Raises:
        UnfitTreeError: one of them fails, or they meet other code.
    """
    of_file = defaultdict(list)
    for test in dict.fromkeys(tests):
        of_file[test.partition("::")[0]].append(test)
    shares = [list(of_file.values())[number :: len(copies)] for number in range(len(copies))]
    with ExitStack() as stack:
        started = [
            (copy, stack.enter_context(_started(copy, list(chain.from_iterable(share)))))
            for copy, share in zip(copies, shares, strict=True)
            if share
        ]
        for copy, process in started:
            process.join()
            if process.exitcode != _PASSED:
                raise UnfitTreeError(f"without any fault, these tests do not pass:\n{_output(copy)}")


def try_out(mutants: Sequence[Mutant], copies: Sequence[Path], limit_s: float = LIMIT_S) -> Iterator[Verdict]:
    """Let the tests of each mutant meet it, one mutant at a time in each copy. The verdicts come as they are found.

    Args:
        limit_s: how long its tests may take. A mutant that makes them take longer is caught.
    """
    waiting, free = deque(mutants), list(copies)
    running: list[_Trial] = []
    try:
        while waiting or running:
            while waiting and free:
                mutant = waiting.popleft()
                if problem := mutant.problem(free[-1]):
                    yield Verdict(mutant, STALE, problem)
                else:
                    running.append(_Trial(mutant, free.pop(), limit_s))
            time.sleep(0.05)
            for trial in [trial for trial in running if trial.is_over]:
                running.remove(trial)
                trial.end()
                free.append(trial.copy)
                yield trial.verdict()
    finally:
        for trial in running:
            trial.end()


class _Trial:
    """The tests of a mutant at work."""

    def __init__(self, mutant: Mutant, copy: Path, limit_s: float) -> None:
        self.mutant, self.copy, self._limit_s = mutant, copy, limit_s
        self._stack = ExitStack()
        self._stack.enter_context(mutant.applied(copy))
        self._process = self._stack.enter_context(_started(copy, ["-x", "--tb=no", "-rfE", *mutant.tests]))
        self._began = time.monotonic()
        self._is_late = False

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        if not self._process.is_alive():
            return True
        self._is_late = self._seconds > self._limit_s
        return self._is_late

    def end(self) -> None:
        """End the tests, if they still run, and take the fault out of the copy."""
        self._stack.close()

    def verdict(self) -> Verdict:
        """Once it has ended."""
        status, output, seconds = self._process.exitcode, _output(self.copy), self._seconds
        failed = re.search(r"^(?:FAILED|ERROR) (.+)$", output, re.M)
        if self._is_late:
            return Verdict(self.mutant, CAUGHT, f"by time: no end within {self._limit_s:g} s", seconds)
        if status == _PASSED:
            return Verdict(self.mutant, SURVIVED, "all of its tests pass", seconds)
        if status == _FAILED and failed:
            return Verdict(self.mutant, CAUGHT, failed[1], seconds)
        return Verdict(self.mutant, BROKEN, f"pytest ended with status {status}: {output[-500:]}", seconds)


@contextmanager
def _started(copy: Path, arguments: Sequence[str]) -> Iterator[BaseProcess]:
    """pytest in a copy. At the end of the block, it and the processes of its group are killed if they still run."""
    rewriting = "ignore::pytest.PytestAssertRewriteWarning"  # of hypothesis, which is imported before
    beside = copy.with_name(f"{copy.name}-tests")  # a test may look for a checkout above its folder
    options = ["-p", "no:cacheprovider", "-W", rewriting, f"--basetemp={beside}"]
    process = multiprocessing.get_context("forkserver").Process(target=_run_pytest, args=(copy, [*options, *arguments]))
    process.start()
    try:
        yield process
    finally:
        if process.is_alive():
            with suppress(ProcessLookupError):  # it has no group yet
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
        process.join()


def _run_pytest(copy: Path, arguments: Sequence[str]) -> NoReturn:
    """Make of this process one that was started in a copy of the tree, and run pytest in it."""
    os.setsid()
    # As from a terminal, also if this runs in the background or under nohup, which ignore these signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    output = os.open(copy / _OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    # Bytecode counts as that of a file if the file has the same size and the same second: not good enough here.
    os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    os.environ["COLUMNS"] = "200"  # room for the reason beside the name of a test
    sys.dont_write_bytecode = True
    os.chdir(copy)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("seq2seq", "tests")]:
        del sys.modules[name]
    sys.path.insert(0, str(copy))
    import seq2seq

    if Path(seq2seq.__file__ or "").parent != copy / "seq2seq":
        print(f"tests in {copy} would meet the code of {seq2seq.__file__}")
        sys.exit(_OTHER_CODE)
    import hypothesis
    import pytest

    # The same examples each time; and that one of them fails is enough, it need not be the smallest.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", phases=phases)
    hypothesis.settings.load_profile("mutants")
    sys.exit(int(pytest.main([*arguments])))


def _output(copy: Path) -> str:
    return (copy / _OUTPUT).read_text(encoding="utf-8", errors="replace")
