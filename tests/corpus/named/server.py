"""A web server on this machine that publishes files, and does what servers do on bad days."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Fault = Callable[["Answering", bytes], None]


class Server:
    """What is published, what goes wrong, and what was asked.

    Attributes:
        files: content by path, such as /task1/train.en.gz.
        faults: for a path, what happens at the next requests instead of an answer, one after another.
        asked: how often a path was asked for.
        unread: paths whose `endless` answers nobody has read to their end.
        ranges: the `Range` of each request for a path; empty: all of it.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.asked: Counter[str] = Counter()
        self.ranges: dict[str, list[str]] = defaultdict(list)
        self.unread: set[str] = set()
        self.has_validators = True


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    published: Server

    def do_GET(self) -> None:
        server, path = self.published, self.path
        server.asked[path] += 1
        server.ranges[path].append(self.headers.get("Range", ""))
        content = server.files.get(path)
        if server.faults[path]:
            server.faults[path].pop(0)(self, content or b"")
        elif content is None:
            self.end(404)
        else:
            self.give(content)

    def give(self, content: bytes, n_sent: int | None = None) -> None:
        """Answer as asked, with a part if only that is wanted.

        Args:
            n_sent: after so many bytes the connection is cut.
        """
        tag = f'"{hash(content) & 0xFFFFFFFF:x}"'
        first = 0
        wanted = self.headers.get("Range", "").removeprefix("bytes=").removesuffix("-")
        if wanted and self.headers.get("If-Range") == tag:
            first = int(wanted)
        if first >= len(content) and first:
            self.end(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        if self.published.has_validators:
            self.send_header("ETag", tag)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(content[first:][:n_sent])
        if n_sent is not None:
            self.close_connection = True

    def end(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def cut_after(n: int) -> Fault:
    return lambda answering, content: answering.give(content, n_sent=n)


def status(code: int, **headers: str) -> Fault:
    return lambda answering, _: answering.end(code, **headers)


def silent(answering: Answering, content: bytes) -> None:
    """Say nothing until the other side hangs up."""
    answering.rfile.read(1)
    answering.close_connection = True


def dripping(answering: Answering, content: bytes) -> None:
    """Send a byte now and then, for longer than a test waits."""
    answering.send_response(200)
    answering.send_header("Content-Length", str(10**9))
    answering.end_headers()
    for _ in range(500):
        answering.wfile.write(b"x")
        time.sleep(0.01)
    answering.close_connection = True


def endless(code: int, **headers: str) -> Fault:
    """A body of 64 MB that says no length; `unread` no longer has the path once all of it has been read."""

    def send(answering: Answering, content: bytes) -> None:
        answering.send_response(code)
        for name, value in headers.items():
            answering.send_header(name, value)
        answering.end_headers()
        answering.published.unread.add(answering.path)
        for _ in range(64):
            answering.wfile.write(bytes(1 << 20))
        answering.published.unread.remove(answering.path)
        answering.close_connection = True

    return send


def slow(seconds: float) -> Fault:
    def wait(answering: Answering, content: bytes) -> None:
        time.sleep(seconds)
        answering.give(content)

    return wait


@contextmanager
def serving() -> Iterator[Server]:
    handler = type("Handler", (Answering,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        http.handle_error = lambda *_: None  # type: ignore[method-assign]  # of those who hang up
        server = handler.published = Server(f"http://127.0.0.1:{http.server_address[1]}")  # type: ignore[attr-defined]
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
