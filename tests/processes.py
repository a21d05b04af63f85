"""Scripts that run as processes of their own, from nothing or with the slow imports done.

To import torch and Lightning takes seconds of CPU time, longer than most commands in tests take for the rest. So a
server imports them once, and forks itself for each command. Each command is a process with its own arguments,
environment, streams, session, limits and exit status. Only a fresh process can show what a command imports.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
CAN_FORK = sys.platform == "linux"  # elsewhere a fork is not safe after these imports, or there is none
LIMIT_S = 60  # seconds that anything may take; other tests may keep the cores busy
_IMPORTED_BEFORE = (
    "hydra",
    "sacrebleu",
    "sacremoses",
    "seq2seq.commands.train",
    "seq2seq.training.run",
    "seq2seq.training.launch",
    "seq2seq.translation.engines.pytorch",
)


def run_fresh(
    words: Sequence[str], *, env: Mapping[str, str], timeout: float, limits: Mapping[str, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in the repository, with nothing on stdin.

    Args:
        words: the script and its arguments.
        env: all of its environment.
        timeout: in seconds; after that the process and its children are killed.
        limits: for `resource.setrlimit`, such as {"RLIMIT_FSIZE": 1000}.
    Raises:
        AssertionError: it took too long.
    """
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=dict(env),
        preexec_fn=partial(_set_limits, limits) if limits else None,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"no end after {timeout} s:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_warm(
    words: Sequence[str], *, env: Mapping[str, str], timeout: float, limits: Mapping[str, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Do as `run_fresh` does, in a process that has imported what it needs."""
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder) / name for name in ("stdout", "stderr")]
        with names[0].open("wb") as stdout, names[1].open("wb") as stderr:
            process = Warm(words, env=env, stdout=stdout, stderr=stderr, limits=limits)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        out, err = (name.read_text(encoding="utf-8") for name in names)
    if status is None:
        raise AssertionError(f"no end after {timeout} s:\n{out}\n{err}")
    return subprocess.CompletedProcess(process.args, status, out, err)


class Warm:
    """A script that has been started in a process that has imported what it needs, in a session of its own.

    It has what tests use of `subprocess.Popen`, with text from pipes.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path = ROOT,
        stdin: IO[bytes] | int | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
        limits: Mapping[str, int] | None = None,
        frees_memory: bool = False,
    ) -> None:
        """
        Args:
            words: of the command after `python`: a script or `-m` and a module, and its arguments.
            stdin: where it reads; without it, from nowhere.
            stdout: where it writes; without it, `communicate` has what the process writes. So it is with `stderr`.
            limits: for `resource.setrlimit`, such as {"RLIMIT_FSIZE": 1000}.
            frees_memory: whether Python ends as it always does, which takes some tenths of a second more.
        """
        self.args = list(words)
        self.returncode: int | None = None
        self._pipes: dict[int, bytearray] = {}  # what each of them has brought
        self._open: set[int] = set()
        request: dict[str, Any] = {"words": self.args, "env": dict(env), "cwd": str(cwd), "limits": dict(limits or {})}
        request["frees_memory"] = frees_memory
        report, told = os.pipe()
        ours = [os.open(os.devnull, os.O_RDONLY)] if stdin is None else []
        streams = [stdin or ours[0]]
        for stream in (stdout, stderr):
            if stream is None:
                ours.append(self._pipe())
            streams.append(stream or ours[-1])
        socket.send_fds(_server(), [json.dumps(request).encode()], [*map(_descriptor, streams), told])
        for descriptor in (*ours, told):
            os.close(descriptor)
        self._report = os.fdopen(report, "rb", buffering=0)
        self.pid = int(self._report.readline())

    def _pipe(self) -> int:
        here, there = os.pipe()
        self._pipes[here] = bytearray()
        self._open.add(here)
        return there

    def poll(self) -> int | None:
        """Its exit status, negative after a signal; None as long as it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """
        Raises:
            TimeoutExpired: it has not ended.
        """
        if self.returncode is None:
            if not select.select([self._report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._report.readline())
            self._report.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it and its children have written, when nobody can write any more and it has ended.

        Raises:
            TimeoutExpired: this takes longer.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._open:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not (ready := select.select(list(self._open), [], [], left)[0]):
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            for pipe in ready:
                if not (text := os.read(pipe, 1 << 16)):
                    self._open.remove(pipe)
                    os.close(pipe)
                self._pipes[pipe] += text
        self.wait(None if end is None else max(0.0, end - time.monotonic()))
        out, err = (TextIOWrapper(BytesIO(text), encoding="utf-8").read() for text in self._pipes.values())
        return out, err

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def until(condition: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Wait until it holds."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"not within {limit_s} s"
        time.sleep(0.005)


def descendants(process: int) -> set[int]:
    """All processes that this one and its children have forked, and that have not ended."""
    found: set[int] = set()
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, children.read_text().split()))
    return {child for child in found if lives(child)}.union(*map(descendants, found))


def lives(process: int) -> bool:
    """Whether it exists, and is more than a status that its parent has not asked for.

    It is more than that as long as a thread is left, which keeps its files open even if the first thread is gone.
    """
    try:
        state, *numbers = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return state not in "ZX" or int(numbers[16]) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


@cache
def _server() -> socket.socket:
    """Where requests go. Each has the descriptors of stdout, stderr and a pipe for the process id and the status."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for the tests; the server ends with them
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    theirs.close()

    def close() -> None:
        server.kill()
        server.wait()

    atexit.register(close)
    return ours


def _serve(channel: socket.socket) -> tuple[dict[str, Any], list[int], int]:
    """Fork a process for each request, and report its status. It returns in such a process only.

    Returns:
        The request, the descriptors of its streams, and the one where it reports its id.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whoever needed it first may have held signals back
    for name in _IMPORTED_BEFORE:
        import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies only one of several threads"
    gc.collect()
    gc.freeze()  # a child that collects garbage would copy the memory of all that is imported
    requests = channel.fileno()
    running: dict[int, tuple[int, int]] = {}  # by the descriptor that tells of its end
    while True:
        ready = set(select.select([requests, *running], [], [])[0])
        for ended in ready - {requests}:
            pid, report = running.pop(ended)
            os.close(ended)
            with suppress(BrokenPipeError):  # nobody asks any more
                os.write(report, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os.close(report)
        if requests not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 4)
        if not message:
            sys.exit()
        *streams, report = descriptors
        pid = os.fork()
        if pid == 0:
            channel.close()
            for descriptor in (*running, *(other for _, other in running.values())):
                os.close(descriptor)
            return json.loads(message), streams, report
        for stream in streams:
            os.close(stream)
        running[os.pidfd_open(pid)] = pid, report


def _become(request: dict[str, Any], streams: list[int], report: int) -> None:
    """Make of this process one that has just been started for the request."""
    os.setsid()
    os.write(report, b"%d\n" % os.getpid())
    os.close(report)
    os.chdir(request["cwd"])
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    words = request["words"]
    _set_limits(request["limits"])
    sys.orig_argv = [sys.executable, *words]
    sys.argv = words[1:] if words[0] == "-m" else words
    sys.path[0] = request["cwd"] if words[0] == "-m" else str(Path(words[0]).parent)


def _set_limits(limits: Mapping[str, int]) -> None:
    import resource

    for name, limit in limits.items():
        resource.setrlimit(getattr(resource, name), (limit, limit))


def _descriptor(stream: IO[bytes] | int) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


def _run() -> None:
    if sys.orig_argv[1] == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def _run_and_leave_memory() -> NoReturn:
    """Run it and end as the interpreter does, but leave memory to the system: to free it takes a second here."""
    status: object = None
    try:
        _run()
    except SystemExit as stop:
        status = stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    request, streams, report = _serve(socket.socket(fileno=int(sys.argv[1])))
    _become(request, streams, report)
    if request["frees_memory"]:
        _run()
    else:
        _run_and_leave_memory()
