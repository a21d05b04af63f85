"""Serve translations over HTTP, in batches of what comes at the same time:

    python examples/serve.py MODEL
    curl --data '{"text": "Un chat dort."}' http://127.0.0.1:8000/translate

POST /translate takes a text or a list of texts, and answers {"translation": ...} in the same form. GET /health and
GET /metrics are for those who watch over it. After SIGTERM it finishes what it has accepted. See docs/serving.md.
"""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import seq2seq
from seq2seq.translation.translator import Translator

REQUESTS = Counter("translate_requests", "Requests for translations", ["status"])
SECONDS = Histogram("translate_seconds", "From the headers of a request to its answer")
BATCH_LINES = Histogram("translate_batch_lines", "Lines that were searched together", buckets=[2**k for k in range(12)])
QUEUE_LINES = Gauge("translate_queue_lines", "Lines that wait to be translated")


@dataclass(frozen=True)
class Limits:
    """What is accepted, and what waits for what."""

    max_bytes: int  # of the body of a request
    max_lines: int  # of the texts of a request
    max_characters: int  # of a line
    max_queue: int  # lines that wait
    max_batch: int  # lines; a batch is closed by the request that reaches it
    wait_s: float  # how long a batch waits for more
    body_s: float  # how long the body of a request may take


@dataclass(frozen=True)
class Waiting:
    """A request in the queue."""

    request: Request
    lines: list[str]
    translations: "asyncio.Future[list[str]]"


class Batches:
    """One thread gives the translator what waits, oldest first; the translator itself searches on all cores."""

    def __init__(self, translator: Translator, limits: Limits) -> None:
        self.translator = translator
        self.limits = limits
        self.queue: asyncio.Queue[Waiting] = asyncio.Queue()
        self.n_lines = 0  # in the queue
        self.is_full = asyncio.Event()  # there are enough for a batch
        self.thread = ThreadPoolExecutor(1)

    async def translate(self, request: Request, lines: list[str]) -> list[str]:
        """One translation for each line.

        Raises:
            HTTPException: too much waits already, or the translation fails.
        """
        # A request that is larger than the queue is taken when nothing waits, or its client would try for ever.
        if self.n_lines and self.n_lines + len(lines) > self.limits.max_queue:
            raise HTTPException(503, f"{self.n_lines} lines wait already; try again later", {"Retry-After": "1"})
        waiting = Waiting(request, lines, asyncio.get_running_loop().create_future())
        self.count(len(lines))
        self.queue.put_nowait(waiting)
        return await waiting.translations

    async def run(self) -> None:
        """Translate batch after batch, until this task is cancelled."""
        while True:
            batch = [await self.queue.get()]
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.is_full.wait(), self.limits.wait_s)
            n_lines = len(batch[0].lines)
            while n_lines < self.limits.max_batch and not self.queue.empty():
                batch.append(self.queue.get_nowait())
                n_lines += len(batch[-1].lines)
            self.count(-n_lines)
            there = []
            for waiting in batch:
                if await waiting.request.is_disconnected():
                    waiting.translations.set_exception(HTTPException(499, "the client is gone"))
                else:
                    there.append(waiting)
            if there:
                await self.answer(there)

    async def answer(self, batch: list[Waiting]) -> None:
        """Translate what the requests of a batch wait for, or tell them that it failed."""
        lines = [line for waiting in batch for line in waiting.lines]
        BATCH_LINES.observe(len(lines))
        try:
            found = await asyncio.get_running_loop().run_in_executor(self.thread, self.translator.translate, lines)
        except Exception:
            if len(batch) > 1:  # those who are not at fault get their translations
                for waiting in batch:
                    await self.answer([waiting])
                return
            logging.getLogger("uvicorn.error").exception("a request could not be translated")
            batch[0].translations.set_exception(HTTPException(500, "the translation failed; the server's log says why"))
            return
        texts = iter(each.text for each in found)
        for waiting in batch:
            waiting.translations.set_result(list(islice(texts, len(waiting.lines))))

    def count(self, n_lines: int) -> None:
        """So many lines more wait."""
        self.n_lines += n_lines
        QUEUE_LINES.set(self.n_lines)
        if self.n_lines >= self.limits.max_batch:
            self.is_full.set()
        else:
            self.is_full.clear()


def texts_of(body: bytes) -> str | list[str]:
    """The text, or the list of texts, of a request.

    Raises:
        HTTPException: the body is something else.
    """
    try:
        content = json.loads(body)
        text = content["text"]
        "".join(text).encode()  # JSON can write half a surrogate pair, which is no text
    except (ValueError, TypeError, KeyError, RecursionError):
        text = None
    is_text = isinstance(text, str) or (isinstance(text, list) and all(isinstance(each, str) for each in text))
    if not is_text or len(content) > 1:
        raise HTTPException(400, 'the body is not {"text": ...} with a string, or a list of strings, in JSON')
    return text


def lines_of(texts: list[str], limits: Limits) -> list[list[str]]:
    """The lines of each text.

    Raises:
        HTTPException: there are too many, or one is too long.
    """
    lines = [text.split("\n") for text in texts]
    if (n := sum(map(len, lines))) > limits.max_lines:
        raise HTTPException(413, f"the request has {n} lines; send at most {limits.max_lines} at a time")
    if (n := max((len(line) for some in lines for line in some), default=0)) > limits.max_characters:
        raise HTTPException(413, f"a line has {n} characters; send lines of at most {limits.max_characters}")
    return lines


async def body_of(request: Request, limits: Limits) -> bytes:
    """The body of a request, of which no more is kept than is accepted.

    Raises:
        HTTPException: it is too long, or too slow.
    """

    async def read() -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.max_bytes:
                raise HTTPException(413, f"the body has more than {limits.max_bytes} bytes; send fewer texts at a time")
        return bytes(body)

    try:
        return await asyncio.wait_for(read(), limits.body_s)
    except asyncio.TimeoutError:
        raise HTTPException(408, f"the body took more than {limits.body_s:g} s; send it at once") from None
    except ClientDisconnect:
        raise HTTPException(499, "the client is gone") from None


def error(_: Request, problem: Exception) -> Response:
    """An error in the form of an answer."""
    assert isinstance(problem, HTTPException)
    return JSONResponse({"error": problem.detail}, problem.status_code, problem.headers)


def application(translator: Translator, limits: Limits) -> Starlette:
    """The server, without its socket."""
    batches = Batches(translator, limits)

    async def translation(request: Request) -> Response:
        texts = texts_of(await body_of(request, limits))
        lines = lines_of([texts] if isinstance(texts, str) else texts, limits)
        translations = iter(await batches.translate(request, [line for some in lines for line in some]))
        translated = ["\n".join(islice(translations, len(some))) for some in lines]
        return JSONResponse({"translation": translated[0] if isinstance(texts, str) else translated})

    async def translate(request: Request) -> Response:
        with SECONDS.time():
            try:
                response = await translation(request)
            except HTTPException as problem:
                response = error(request, problem)
        REQUESTS.labels(response.status_code).inc()
        return response

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "lines_waiting": batches.n_lines})

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        """When this ends, all requests are answered: uvicorn waits for them after SIGTERM."""
        task = asyncio.create_task(batches.run())
        yield
        task.cancel()

    return Starlette(
        routes=[
            Route("/translate", translate, methods=["POST"]),
            Route("/health", health),
            Route("/metrics", metrics),
        ],
        exception_handlers={HTTPException: error},
        lifespan=lifespan,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve translations over HTTP.")
    add: Any = parser.add_argument
    add("model", type=Path, help="a model directory, or a run directory")
    add("--host", default="127.0.0.1", help="0.0.0.0 lets other machines in; default: %(default)s")
    add("--port", type=int, default=8000, help="0: one that is free; default: %(default)s")
    add("--threads", type=int, default=0, metavar="N", help="CPU threads; default: one for each core")
    add("--max-bytes", type=int, default=1 << 20, metavar="N", help="of a request; default: %(default)s")
    add("--max-lines", type=int, default=256, metavar="N", help="of a request; default: %(default)s")
    add("--max-characters", type=int, default=10_000, metavar="N", help="of a line; default: %(default)s")
    add("--max-queue", type=int, default=1024, metavar="N", help="lines that wait; default: %(default)s")
    add("--max-batch", type=int, default=64, metavar="N", help="lines searched together; default: %(default)s")
    add("--wait-ms", type=float, default=5, metavar="MS", help="that a batch waits for more; default: %(default)g")
    add("--body-s", type=float, default=10, metavar="S", help="for a request to arrive; default: %(default)g")
    args = parser.parse_args()
    if not 0 <= args.port < 2**16:
        parser.error(f"--port {args.port} is not between 0 and 65535")
    limits = Limits(
        max_bytes=args.max_bytes,
        max_lines=args.max_lines,
        max_characters=args.max_characters,
        max_queue=args.max_queue,
        max_batch=args.max_batch,
        wait_s=args.wait_ms / 1000,
        body_s=args.body_s,
    )
    try:
        translator = seq2seq.load(args.model, threads=args.threads)
    except (seq2seq.UserError, OSError) as problem:  # the latter of a model that this user may not read
        print(f"error: {problem}", file=sys.stderr)
        return 2
    with translator:
        uvicorn.run(application(translator, limits), host=args.host, port=args.port, access_log=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
