"""One address to one file. A cut download goes on where it was cut, and passing faults are tried again.

FOLDER/
    content         the bytes, as far as they have come
    state.json      {url, validator}: whose bytes they are; without it they are thrown away
"""

import errno
import json
import logging
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import requests
import urllib3

from seq2seq.errors import CorpusError
from seq2seq.exit_status import progress
from seq2seq.files import readable_size, write_json
from seq2seq.masking import masked

logger = logging.getLogger(__name__)

# Why writing can fail: no space, a quota, a limit for the size of files.
_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses that may be others a moment later
_LONGEST_WAIT_S = 60.0
_TOLD_EVERY_S = 30.0  # where there is no terminal
_SHOWN_EVERY_S = 0.2  # on a terminal
_BLOCK = 1 << 16


class NotThere(CorpusError):
    """The server says that it has no such file."""


class _Cut(Exception):
    """What a further attempt may mend. The message is half a sentence."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s  # as the server asks


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        attempts: in a row without a single new byte.
        wait_s: before the second attempt; twice as long before each further one.
        silence_s: without an answer, or without further bytes.
    """

    attempts: int = 5
    wait_s: float = 1.0
    silence_s: float = 60.0


def download(url: str, folder: Path, *, title: str, size: int | None = None, patience: Patience = Patience()) -> Path:
    """Fetch what an address has into FOLDER/content, or the rest of it.

    Args:
        title: of the file, for people.
        size: in bytes, if it is known.
    Raises:
        NotThere: the server has no such file.
        CorpusError: nothing answers, it never comes to an end, or there is no room. What has come stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = folder / "content"
    n_failed, wait_s = 0, patience.wait_s
    while True:
        before = _length(content)
        try:
            _attempt(url, folder, title, size, patience)
            return content
        except OSError as error:
            if error.errno in _DISK_IS_FULL:
                raise CorpusError(no_room(folder, size)) from error
            raise
        except _Cut as cut:
            if _length(content) > before:
                n_failed, wait_s = 0, patience.wait_s
            n_failed += 1
            if n_failed >= patience.attempts:
                raise CorpusError(f"{url}: {cut}, {n_failed} times in a row") from cut
            pause = min(max(wait_s, cut.wait_s), _LONGEST_WAIT_S)
            logger.warning("%s: %s; trying again in %.0f s", title, cut, pause)
            time.sleep(pause)
            wait_s *= 2


def _attempt(url: str, folder: Path, title: str, size: int | None, patience: Patience) -> None:
    content = folder / "content"
    n_have, validator = _kept(url, folder)
    # Without a validator nobody can say whether the rest is that of the same file.
    headers = {"Accept-Encoding": "identity"}
    if n_have:
        headers |= {"Range": f"bytes={n_have}-", "If-Range": validator}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=(10, patience.silence_s)) as answer:
            if answer.status_code == 416:  # nothing after what is there; or what is there is of another file
                content.unlink(missing_ok=True)
                raise _Cut("the server does not have the rest of what was kept")
            _check_status(answer, url)
            goes_on = answer.status_code == 206
            if goes_on and not answer.headers.get("Content-Range", "").startswith(f"bytes {n_have}-"):
                content.unlink(missing_ok=True)
                raise _Cut("the server sent another part than asked for")
            n_have = n_have if goes_on else 0
            length = answer.headers.get("Content-Length")
            n_all = n_have + int(length) if length and length.isdigit() else size
            _check_room(folder, n_all, n_have)
            if not goes_on:
                write_json(folder / "state.json", {"url": masked(url), "validator": _validator(answer)})
            with content.open("ab" if goes_on else "wb") as file:
                _copy(answer, file, title, n_have, n_all)
    except requests.exceptions.ProxyError as error:
        raise CorpusError(
            f"{url}: the proxy does not let this through ({_reason(error)}); correct or unset $HTTPS_PROXY, "
            "$HTTP_PROXY or $ALL_PROXY, or name this host in $NO_PROXY"
        ) from error
    except requests.exceptions.SSLError as error:
        raise CorpusError(
            f"{url}: its certificate is not trusted ({_reason(error)}); if your network has its own, name that "
            "file in $REQUESTS_CA_BUNDLE"
        ) from error
    except requests.exceptions.Timeout as error:
        raise _Cut(f"no answer for {patience.silence_s:g} s") from error
    except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
        raise _Cut(f"no connection ({_reason(error)})") from error
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
        raise CorpusError(  # without the reason, which would quote a part of a password with a / in it
            f"{url} is not an address; correct it, and write %2F, %3F and %23 for / ? and # in a password"
        ) from error
    except requests.exceptions.TooManyRedirects as error:
        raise CorpusError(f"{url}: leads in a circle of redirects; correct the address") from error
    except requests.exceptions.RequestException as error:
        raise _Cut(f"the connection failed ({_reason(error)})") from error


def _copy(answer: requests.Response, file: BinaryIO, title: str, n_have: int, n_all: int | None) -> None:
    """Write what comes, and tell how far it is."""
    host = urlsplit(answer.url).hostname
    whole = f" of {readable_size(n_all)}" if n_all is not None else ""
    logger.info("downloading %s%s from %s", title, whole.replace(" of", ",", 1), host)
    began = told = shown_at = time.monotonic()
    n_before = n_have
    with progress() as tell:
        try:
            for block in answer.raw.stream(_BLOCK, decode_content=False):
                file.write(block)
                n_have += len(block)
                now = time.monotonic()
                if now - shown_at > _SHOWN_EVERY_S:
                    speed = (n_have - n_before) / (now - began)
                    tell(f"{title}: {readable_size(n_have)}{whole}, {readable_size(int(speed))}/s")
                    shown_at = now
                if now - told > _TOLD_EVERY_S:
                    logger.info("%s: %s%s", title, readable_size(n_have), whole)
                    told = now
        except urllib3.exceptions.ReadTimeoutError as error:
            raise _Cut("no further bytes for too long") from error
        except urllib3.exceptions.HTTPError as error:
            raise _Cut(f"the connection was cut after {readable_size(n_have)}") from error
    if n_all is not None and n_have < n_all and "Content-Length" in answer.headers:  # urllib3 1 says nothing
        raise _Cut(f"the connection was cut after {readable_size(n_have)}")


def _check_status(answer: requests.Response, url: str) -> None:
    status = answer.status_code
    if status in (200, 206):
        return
    what = f"{status} {answer.reason or ''}".strip()
    if status in _PASSING:
        asked = answer.headers.get("Retry-After", "")
        raise _Cut(f"the server answers {what}", float(asked) if asked.isdigit() else 0.0)
    raise NotThere(f"{url}: the server answers {what}")


def _kept(url: str, folder: Path) -> tuple[int, str]:
    """How many bytes of this file are there, and what proves that they are of it."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
        validator = str(state["validator"])
        if state["url"] == masked(url) and validator:
            return _length(folder / "content"), validator
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, ""


def _validator(answer: requests.Response) -> str:
    """What is different if the file is: a strong ETag, or the time of the last change; empty if neither is told."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def _check_room(folder: Path, n_all: int | None, n_have: int) -> None:
    if n_all is not None and n_all - n_have > shutil.disk_usage(folder).free:
        raise CorpusError(no_room(folder, n_all))


def no_room(folder: Path, size: int | None) -> str:
    """What to tell where a disk is full."""
    needs = f"{readable_size(size)} do not fit" if size is not None else "no room is left"
    free = readable_size(shutil.disk_usage(folder).free)
    return f"{needs} on the disk of {folder}, which has {free} free; make room, or set data.cache_dir to another disk"


def _length(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _reason(error: BaseException) -> str:
    """The innermost cause in a few words, without the addresses of objects."""
    text = str(error.args[0] if error.args else error)
    inner = re.findall(r"(?:Failed to resolve|\[Errno -?\d+\] |Caused by |[Tt]unnel )[^()<>]*[^()<>\s:,]", text)
    return masked(inner[-1] if inner else re.sub(r"<[^>]*>", "", text))[:160].strip("\"' ,")
