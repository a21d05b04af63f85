"""A server of examples/serve.py, and what a client asks it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.places import ROOT
from tests.processes import LIMIT_S


class Server:
    """A server at a free port. It is killed after minutes, so that nothing waits for it for ever."""

    def __init__(self, *words: object, python: Path | str = sys.executable, **env: str) -> None:
        """
        Args:
            words: the script and its arguments.
            python: that of another environment.
            env: variables.
        """
        self.process = subprocess.Popen(
            [str(python), *map(str, words), "--port", "0"],
            cwd=ROOT,
            env=os.environ | env,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._alarm = threading.Timer(5 * LIMIT_S, self.process.kill)
        self._alarm.start()
        assert self.process.stderr
        self.stderr = self.process.stderr
        self.told = ""
        while not (address := re.search(r"running on http://127.0.0.1:(\d+)", self.told)):
            line = self.stderr.readline()
            assert line, self.told
            self.told += line
        self.port = int(address[1])

    def end(self, signum: int = signal.SIGTERM) -> int:
        """The status after a signal, unless it has ended before."""
        if self.process.poll() is None:
            self.process.send_signal(signum)
        with self.stderr:
            self.told += self.stderr.read()
        self._alarm.cancel()
        return self.process.wait()

    def ask(self, path: str, body: str | None = None) -> tuple[int, Any]:
        """The status and the content of an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.request("GET" if body is None else "POST", path, body and body.encode())
        response = connection.getresponse()
        content = response.read().decode()
        connection.close()
        return response.status, json.loads(content) if path != "/metrics" else content

    def translate(self, text: object) -> tuple[int, Any]:
        status, content = self.ask("/translate", json.dumps({"text": text}))
        return status, content.get("translation", content.get("error"))

    def metric(self, name: str) -> float:
        (value,) = re.findall(rf"^{re.escape(name)} (\S+)$", self.ask("/metrics")[1], re.MULTILINE) or ["0"]
        return float(value)

    def is_listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return False
        return True

    def wait_for_lines(self, n: int) -> None:
        """Wait until so many lines are in the queue."""
        while self.ask("/health")[1] != {"status": "ok", "lines_waiting": n}:
            assert self.process.poll() is None
