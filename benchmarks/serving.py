"""How many requests does a server answer?  python benchmarks/serving.py MODEL --lines FILE [--clients 1 4 16 64]

It starts examples/serve.py on this machine. Each client sends one line at a time over one connection, and the next line
when it has the answer. The clients take part of the processor, too, so a server on a machine of its own is faster.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path

from rounds import as_table

from seq2seq.corpus.reader import read_lines

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("model", type=Path)
    add("--lines", type=Path, required=True, metavar="FILE", help="what is translated, from its begin again and again")
    add("--clients", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N", help="at the same time")
    add("--requests", type=int, default=1000, metavar="N", help="of all clients together")
    add("--options", nargs=argparse.REMAINDER, default=[], help="of serve.py; the last option here")
    args = parser.parse_args()
    bodies = [json.dumps({"text": line}) for line in read_lines(args.lines)]
    command = [sys.executable, ROOT / "examples/serve.py", args.model, "--port", "0", *args.options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        try:
            told = ""
            while not (running := re.search(r"running on \S+:(\d+)", told)):
                line = server.stderr.readline()
                if not line:
                    sys.exit(told)
                told += line
            port = int(running[1])
            measured(port, bodies, 8, 100)  # to warm up
            rows = [measured(port, bodies, n_clients, args.requests) for n_clients in args.clients]
        finally:
            server.terminate()
    print(as_table(["clients", "requests/s", "p50, ms", "p99, ms", "lines a batch"], rows))


def measured(port: int, bodies: list[str], n_clients: int, n_requests: int) -> list[str]:
    """A row of the table."""
    before = batches(port)
    shares = [list(islice(cycle(bodies), i, n_requests, n_clients)) for i in range(n_clients)]
    began_s = time.perf_counter()
    with ThreadPoolExecutor(n_clients) as clients:
        times_s = sorted(each for some in clients.map(lambda share: times(port, share), shares) for each in some)
    elapsed_s = time.perf_counter() - began_s
    n_lines, n_batches = (after - first for after, first in zip(batches(port), before, strict=True))
    p50_s, p99_s = statistics.median(times_s), times_s[len(times_s) * 99 // 100]
    figures = [n_requests / elapsed_s, p50_s * 1000, p99_s * 1000, n_lines / n_batches]
    return [str(n_clients), *(f"{figure:.1f}" for figure in figures)]


def times(port: int, bodies: list[str]) -> list[float]:
    """Seconds that each request of a client took."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    found = []
    for body in bodies:
        began_s = time.perf_counter()
        connection.request("POST", "/translate", body)
        response = connection.getresponse()
        content = response.read()
        found.append(time.perf_counter() - began_s)
        assert response.status == 200, content
    connection.close()
    return found


def batches(port: int) -> tuple[float, float]:
    """Lines in batches, and batches, since the server started."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    n_lines, n_batches = (
        float(text.partition(f"\ntranslate_batch_lines_{name} ")[2].split()[0]) for name in ("sum", "count")
    )
    return n_lines, n_batches


if __name__ == "__main__":
    main()
