"""How a command ends when signals come: at once, in order, and with the status that scripts know."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seq2seq import exit_status as ending
from seq2seq.errors import UserError
from seq2seq.exit_status import ERASE_LINE, exit_status, progress, raise_if_stopped
from tests.places import ROOT
from tests.translating import Stream

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@pytest.fixture(autouse=True)
def _machine_may_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """For half a minute between two signals that come one after the other."""
    monkeypatch.setattr(ending, "GRACE_S", 30.0)


def send(*signums: int) -> Callable[[], None]:
    def work() -> None:
        for signum in signums:
            os.kill(os.getpid(), signum)
        time.sleep(5)

    return work


def status_of(work: Callable[[], int | None]) -> int:
    try:
        return exit_status(work)
    except SystemExit as stop:
        return int(stop.code or 0)


# --- one signal ---


@pytest.mark.parametrize("signum", SIGNALS)
def test_the_status_is_that_of_the_signal(own_signals: None, signum: int) -> None:
    went_on = []

    def work() -> None:
        send(signum)()
        went_on.append("after the signal")

    assert status_of(work) == 128 + signum
    assert not went_on


def test_one_that_something_else_took_is_the_first_one(own_signals: None) -> None:
    def work() -> None:
        ending.stopped_by(signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)  # soon after it, so it is the same wish
        sys.exit(128 + signal.SIGUSR1)

    assert status_of(work) == 128 + signal.SIGUSR1
    os.kill(os.getpid(), signal.SIGTERM)  # while Python ends


def test_handlers_are_given_back_if_no_signal_came() -> None:
    before = [signal.getsignal(signum) for signum in SIGNALS]
    inside: list[Any] = []
    assert exit_status(lambda: inside.extend(map(signal.getsignal, SIGNALS))) == 0
    assert [signal.getsignal(signum) for signum in SIGNALS] == before
    assert not set(inside) & set(before)


def test_what_was_ignored_stays_ignored(own_signals: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    assert exit_status(lambda: os.kill(os.getpid(), signal.SIGHUP)) == 0


class Swallowing:
    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):  # a handler runs between two steps of Python
            pass


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")  # nor does Python tell what it swallows
def test_an_interruption_that_python_swallows_is_not_lost(own_signals: None) -> None:
    reached = []

    def work() -> None:
        Swallowing()
        reached.append("the end of __del__")
        raise_if_stopped()
        reached.append("more work")

    assert status_of(work) == 143
    assert reached == ["the end of __del__"]
    assert status_of(lambda: bool(Swallowing())) == 143  # also if nothing asks
    raise_if_stopped()  # a notebook may go on after a command that was stopped
    assert status_of(lambda: 0) == 0  # the next command begins anew


def test_what_goes_wrong_after_a_signal_is_its_consequence(
    own_signals: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        try:
            send(signal.SIGINT)()
        finally:
            raise RuntimeError("half imported")

    assert status_of(work) == 130
    assert capsys.readouterr().err == "interrupted\n"
    with pytest.raises(RuntimeError, match="a bug"):
        exit_status(lambda: (_ for _ in ()).throw(RuntimeError("a bug")))


def test_an_error_while_things_are_saved_is_told(own_signals: None, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        try:
            send(signal.SIGINT)()
        finally:
            raise UserError("the disk is full")

    assert status_of(work) == 2
    assert capsys.readouterr().err == "error: the disk is full\n"


def test_a_command_within_a_command_says_once_that_it_was_interrupted(
    own_signals: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def outer() -> None:
        if status := exit_status(send(signal.SIGINT)):
            sys.exit(status)

    assert status_of(outer) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_command_ends_with_the_one_that_started_it() -> None:
    """That one is killed. The other takes it for SIGTERM."""
    child = """
import time
from seq2seq.exit_status import exit_status

def work():
    print("ready", flush=True)
    try:
        time.sleep(30)
    finally:
        print("saved", flush=True)

exit_status(work, is_program=True)
"""
    parent = (
        "import os, signal, subprocess, sys; from seq2seq.exit_status import for_children; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}], env=os.environ | for_children()); "
        "signal.pause()"
    )
    words = [sys.executable, "-c", parent]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        process.kill()
        assert process.stdout.read() == "saved\n"
        assert time.monotonic() - began < 20


# --- further signals ---


@pytest.mark.parametrize("second", SIGNALS)
def test_a_second_signal_soon_after_the_first_does_not_disturb_the_clean_up(own_signals: None, second: int) -> None:
    saved = []

    def work() -> None:
        try:
            send(signal.SIGTERM)()
        finally:
            for _ in range(5):
                os.kill(os.getpid(), second)
            saved.append("all")

    assert status_of(work) == 143
    assert saved == ["all"]


def test_a_later_signal_ends_at_once_what_does_not_end() -> None:
    program = """
import os, signal, time
from seq2seq import exit_status as ending
ending.GRACE_S = 0.1
def work():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)
ending.exit_status(work)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize(("references", "last_word"), [("a", "--language"), ("a\nb", "again")], ids=["done", "error"])
def test_ctrl_c_while_python_ends_is_no_traceback(tmp_path: Path, references: str, last_word: str) -> None:
    program = """
import atexit, os, signal
from seq2seq.cli import main
atexit.register(os.kill, os.getpid(), signal.SIGINT)
main()
"""
    (tmp_path / "hypotheses").write_text("a")
    (tmp_path / "references").write_text(references)
    words = [sys.executable, "-c", program, "score", "hypotheses", "--reference", "references"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.split()[-1]) == (-signal.SIGINT, last_word)


def test_a_process_that_the_command_forked_ends_as_if_it_had_no_handler(own_signals: None) -> None:
    def work() -> int:
        if (child := os.fork()) == 0:
            try:
                send(signal.SIGTERM)()
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert exit_status(work) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, f"{ERASE_LINE}half{ERASE_LINE}nearly{ERASE_LINE}"), (False, "")]
)
def test_progress_is_one_line_of_a_terminal_that_goes_at_the_end(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, shown: str
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr := Stream(is_terminal=is_terminal))
    with progress() as tell:
        tell("half")
        tell("nearly")
    assert stderr.written() == shown


def test_what_the_encoding_of_stdout_lacks_is_escaped() -> None:
    program = "from seq2seq.exit_status import exit_status; exit_status(lambda: print('50.2 ± 0.6 …'))"
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"50.2 \xb1 0.6 \\u2026\n", b"")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 always looks into the present folder first")
def test_a_command_that_we_start_is_ours_though_the_present_folder_has_a_package_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "seq2seq").mkdir()
    (tmp_path / "seq2seq/__init__.py").touch()
    (tmp_path / "mine.py").touch()
    program = (
        "import os, subprocess, sys; from seq2seq.exit_status import for_children; os.chdir(sys.argv[1]); "
        "env = os.environ | for_children(); "
        "assert subprocess.run([sys.executable, '-c', 'import mine'], env=env).returncode == 0; "
        "sys.exit(subprocess.run([sys.executable, '-m', 'seq2seq', '--help'], env=env).returncode)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
