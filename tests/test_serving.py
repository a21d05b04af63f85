"""examples/serve.py, as a process that answers on loopback."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.processes import LIMIT_S
from tests.serving import Server
from tests.translating import run_cli

pytest.importorskip("starlette", reason="pip install -e '.[serve]'")

WORDS = ["ba", "bi", "bo", "da", "fo", "fu"]
FOREVER = ["--wait-ms", "600000"]  # a batch waits until it is full


@pytest.fixture(scope="module")
def server(exported_model: Path) -> Iterator[Server]:
    """One whose limits are small."""
    limits = ["--max-bytes", 400, "--max-lines", 6, "--max-characters", 30, "--body-s", 0.2]
    server = Server("examples/serve.py", exported_model, *limits, PYTHONPATH=str(ROOT))
    yield server
    server.end()


@pytest.fixture
def started(exported_model: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers of their own, which end with the test."""
    servers: list[Server] = []

    def start(*words: object, script: object = "examples/serve.py") -> Server:
        servers.append(Server(script, exported_model, *words, PYTHONPATH=str(ROOT)))
        return servers[-1]

    yield start
    for server in servers:
        if not server.stderr.closed:
            server.end(signal.SIGKILL)


def posted(server: Server, body: str, n_sent: int) -> socket.socket:
    """A connection on which so many bytes of the body of a request were sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall((head + body[:n_sent]).encode())
    return connection


def test_a_text_or_a_list_is_translated_as_translate_py_does(server: Server, exported_model: Path) -> None:
    lines = ["Ba bi.", "BA BI BO DA FO FU DA BI.", "", "Ba bi. Fo fu da.", "  da fo "]
    status, expected, _ = run_cli("--model", exported_model, "--device", "cpu", stdin="\n".join(lines) + "\n")
    assert status == 0
    assert server.translate(lines) == (200, expected.splitlines())
    assert server.translate("\n".join(lines)) == (200, expected.removesuffix("\n"))
    assert server.translate("") == (200, "")
    assert server.translate([]) == (200, [])


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ("[", 400, "the body is not"),
        ('{"text": 3}', 400, "the body is not"),
        ('{"text": ["ba", 3]}', 400, "the body is not"),
        ('{"text": {"ba": 3}}', 400, "the body is not"),
        ('{"text": "ba", "beam": 5}', 400, "the body is not"),
        ('{"texts": "ba"}', 400, "the body is not"),
        ('{"text": "\\ud800"}', 400, "the body is not"),
        ("[" * 399, 400, "the body is not"),
        (json.dumps({"text": "ba " * 200}), 413, "the body has more than 400 bytes"),
        (json.dumps({"text": ["ba\nbi"] * 3 + ["ba"]}), 413, "the request has 7 lines; send at most 6"),
        (json.dumps({"text": ["ba", "ba " * 10 + "b"]}), 413, "a line has 31 characters; send lines of at most 30"),
    ],
)
def test_what_cannot_be_translated_is_refused_in_a_sentence(server: Server, body: str, status: int, told: str) -> None:
    counted = f'translate_requests_total{{status="{status}"}}'
    before = server.metric(counted)
    found, content = server.ask("/translate", body)
    assert found == status and content["error"].startswith(told)
    assert server.metric(counted) == before + 1


def test_a_body_that_does_not_arrive_is_not_waited_for(server: Server) -> None:
    with posted(server, '{"text": "ba"}', 5) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_other_addresses_and_methods_are_errors_of_the_same_form(server: Server) -> None:
    assert server.ask("/") == (404, {"error": "Not Found"})
    assert server.ask("/translate") == (405, {"error": "Method Not Allowed"})


def test_requests_of_the_same_time_are_one_batch_and_each_gets_its_own(started: Callable[..., Server]) -> None:
    server = started("--max-batch", len(WORDS), *FOREVER)
    with ThreadPoolExecutor(len(WORDS)) as clients:
        together = list(clients.map(server.translate, WORDS))
    assert server.metric("translate_batch_lines_count") == 1
    assert server.metric("translate_batch_lines_sum") == len(WORDS)
    assert server.translate(WORDS) == (200, [translation for _, translation in together])
    assert {status for status, _ in together} == {200} and len({text for _, text in together}) > 1
    assert server.metric("translate_seconds_count") == len(WORDS) + 1


def test_no_more_waits_than_may(started: Callable[..., Server]) -> None:
    server = started("--max-queue", 2, "--max-batch", 3, *FOREVER)
    with posted(server, '{"text": ["ba", "bi"]}', 100):
        server.wait_for_lines(2)
        assert server.metric("translate_queue_lines") == 2
        assert server.translate("bo") == (503, "2 lines wait already; try again later")


def test_a_request_that_is_larger_than_the_queue_is_taken_when_nothing_waits(started: Callable[..., Server]) -> None:
    server = started("--max-queue", 2)
    assert server.translate(["ba", "bi", "bo"])[0] == 200


def test_nobody_translates_for_a_client_that_is_gone(started: Callable[..., Server]) -> None:
    server = started("--max-batch", 3, *FOREVER)
    with posted(server, '{"text": ["ba", "bi"]}', 100):
        server.wait_for_lines(2)
    assert server.translate("bo")[0] == 200
    assert server.metric("translate_batch_lines_sum") == 1
    assert server.metric('translate_requests_total{status="499"}') == 1


def test_sigterm_lets_the_server_finish_what_it_has_accepted(started: Callable[..., Server]) -> None:
    """One request waits for another one, of which half has arrived."""
    server = started("--max-batch", 2, *FOREVER)
    bodies = ['{"text": "ba"}', '{"text": "bi"}']
    with posted(server, bodies[0], 100) as whole, posted(server, bodies[1], 7) as half:
        server.wait_for_lines(1)
        server.process.terminate()
        while server.is_listening():
            pass
        half.sendall(bodies[1][7:].encode())
        for connection in (whole, half):
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert server.end() == -signal.SIGTERM
    assert "Traceback" not in server.told


def test_a_request_that_fails_takes_no_other_with_it(started: Callable[..., Server], tmp_path: Path) -> None:
    script = tmp_path / "faulty.py"
    script.write_text("""
import runpy
from seq2seq.translation.translator import Translator

def translate(self, lines, translate=Translator.translate):
    return translate(self, lines) if "fault" not in lines else 1 / 0

Translator.translate = translate
runpy.run_path("examples/serve.py", run_name="__main__")
""")
    server = started("--max-batch", 2, *FOREVER, script=script)
    with ThreadPoolExecutor(2) as clients:
        good, bad = clients.map(server.translate, ["ba", "fault"])
    assert good[0] == 200
    assert bad == (500, "the translation failed; the server's log says why")
    server.end()
    assert "ZeroDivisionError" in server.told


def refusal(*words: str) -> str:
    """What is said of a server that does not begin."""
    done = subprocess.run(
        [sys.executable, "examples/serve.py", *words], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 2
    return done.stderr


def test_a_model_that_is_not_there_is_one_sentence() -> None:
    told = refusal("nowhere")
    assert told.startswith("error: nowhere: ") and len(told.splitlines()) == 1


def test_a_port_that_no_machine_has_is_refused() -> None:
    assert refusal("nowhere", "--port", "80000").endswith("error: --port 80000 is not between 0 and 65535\n")
