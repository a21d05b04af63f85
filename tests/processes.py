"""Scripts that run as processes of their own, from nothing or with the slow imports done.

To import torch and Lightning takes seconds of CPU time, longer than most commands in tests take for the rest. So a
server imports them once, and forks itself for each command. Each command is a process with its own arguments,
environment, session, limits and exit status. Only a fresh process can show what a command imports.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
CAN_FORK = sys.platform == "linux"  # elsewhere a fork is not safe after these imports, or there is none
_IMPORTED_BEFORE = ("hydra", "sacrebleu", "pytorch_lightning", "seq2seq.training.run")


def run_fresh(
    words: Sequence[str], *, env: Mapping[str, str], timeout: float, max_file_size: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in the repository, with nothing on stdin.

    Args:
        words: the script and its arguments.
        env: all of its environment.
        timeout: in seconds; after that the process and its children are killed.
        max_file_size: in bytes, of each file that it writes.
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
        preexec_fn=None if max_file_size is None else partial(_limit_files, max_file_size),
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"no end after {timeout} s:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_warm(
    words: Sequence[str], *, env: Mapping[str, str], timeout: float, max_file_size: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Do as `run_fresh` does, in a process that has imported what training needs."""
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        streams = [str(Path(folder) / name) for name in ("stdout", "stderr")]
        request = {
            "words": words,
            "env": dict(env),
            "streams": streams,
            "timeout": timeout,
            "max_file_size": max_file_size,
        }
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        status = json.loads(server.stdout.readline())
        out, err = (Path(name).read_text(encoding="utf-8") for name in streams)
    if status is None:
        raise AssertionError(f"no end after {timeout} s:\n{out}\n{err}")
    return subprocess.CompletedProcess(list(words), status, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the tests; the server ends with them
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )

    def close() -> None:
        server.kill()
        server.communicate()

    atexit.register(close)
    return server


def _serve() -> None:
    """Answer each line of stdin with an exit status, or with null after a timeout. Each child returns from here."""
    for name in _IMPORTED_BEFORE:
        import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies only one of several threads"
    gc.collect()
    gc.freeze()  # a child that collects garbage would copy the memory of all that is imported
    while line := sys.stdin.readline():
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(request)
            return
        print(json.dumps(_status_of(pid, request["timeout"])), flush=True)
    sys.exit()


def _status_of(pid: int, timeout: float) -> int | None:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _become(request: dict[str, Any]) -> None:
    """Make of this process one that has just been started for the request."""
    os.setsid()
    streams = [(os.devnull, os.O_RDONLY), *((path, os.O_WRONLY | os.O_CREAT) for path in request["streams"])]
    for descriptor, (path, flags) in enumerate(streams):
        file = os.open(path, flags)
        os.dup2(file, descriptor)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = request["words"]
    sys.orig_argv = [sys.executable, *sys.argv]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    if request["max_file_size"] is not None:
        _limit_files(request["max_file_size"])


def _limit_files(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _run_script() -> NoReturn:
    """Run it and end as the interpreter does, but leave memory to the system: to free it takes a second here."""
    status: object = None
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
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
    _serve()
    _run_script()
