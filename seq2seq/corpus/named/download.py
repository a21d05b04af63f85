"""One address to one file. A cut download goes on where it was cut, and passing faults are tried again.

FOLDER/
    content         the bytes, as far as they have come
    state.json      {url, validator}: whose bytes they are; without it they are thrown away

A server is not trusted: it sends no more than was promised, and not too slowly to ever end.
"""

import errno
import json
import logging
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from seq2seq.errors import CorpusError, printable
from seq2seq.exit_status import progress
from seq2seq.files import readable_size, write_json
from seq2seq.masking import masked

logger = logging.getLogger(__name__)

# Why writing can fail: no space, a quota, a limit for the size of files.
_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses that may be others a moment later
_MOST_REDIRECTS = 20
_LONGEST_WAIT_S = 60.0
_BLOCK = 1 << 16
_TOLD_EVERY = 1 << 20  # bytes


class OtherBytes(CorpusError):
    """What comes is not the file that was promised."""


class _Cut(Exception):
    """What a further attempt may mend. The message is half a sentence."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(printable(message))
        self.wait_s = wait_s  # as the server asks


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        attempts: in a row that bring fewer than `least` bytes each.
        wait_s: before the second attempt; twice as long before each further one.
        silence_s: without an answer, without further bytes, or with fewer than `least` of them.
        least: bytes; 16 kB a minute is slower than any line on which a corpus can be fetched.
    """

    attempts: int = 5
    wait_s: float = 1.0
    silence_s: float = 60.0
    least: int = 16_000


def download(url: str, folder: Path, *, title: str, most: int | None = None, patience: Patience = Patience()) -> Path:
    """Fetch what an address has into FOLDER/content, or the rest of it.

    Args:
        title: of the file, for people.
        most: bytes, such as the size that the catalogue has; None: as many as the server says.
    Raises:
        OtherBytes: there are more than `most`.
        CorpusError: nothing answers, it has no such file, it never comes to an end, or the disk is full. What has
            come stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = folder / "content"
    farthest, n_failed = _length(content), 0
    while True:
        try:
            _attempt(url, folder, title, most, patience)
            return content
        except OSError as error:
            if error.errno in _DISK_IS_FULL:
                raise CorpusError(_no_space(folder, most)) from error
            raise
        except _Cut as cut:
            n_failed = 1 if _length(content) - farthest >= patience.least else n_failed + 1
            farthest = max(farthest, _length(content))
            if n_failed >= patience.attempts:
                raise CorpusError(f"{url}: {cut}, {n_failed} times in a row") from cut
            pause = min(max(patience.wait_s * 2 ** (n_failed - 1), cut.wait_s), _LONGEST_WAIT_S)
            logger.warning("%s: %s; trying again in %.0f s", title, cut, pause)
            time.sleep(pause)


def _attempt(url: str, folder: Path, title: str, most: int | None, patience: Patience) -> None:
    content = folder / "content"
    n_have, validator = _kept(url, folder)
    # Without a validator nobody can say whether the rest is that of the same file.
    headers = {"Accept-Encoding": "identity"}
    if n_have:
        headers |= {"Range": f"bytes={n_have}-", "If-Range": validator}
    try:
        with requests.Session() as session, _answer(session, url, headers, patience) as answer:
            status, part = answer.status_code, answer.headers.get("Content-Range", "")
            if status == 416 or (status == 206 and not part.startswith(f"bytes {n_have}-")):
                content.unlink(missing_ok=True)  # perhaps it was of another file
                raise _Cut("the server does not have the rest of what was kept")
            _check_status(answer, url)
            if status == 200:
                n_have = 0
            if not n_have:
                content.unlink(missing_ok=True)  # what is kept and what is noted of it must be of one file
                write_json(folder / "state.json", {"url": masked(url), "validator": _validator(answer)})
            length = answer.headers.get("Content-Length", "")
            n_all = n_have + int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None
            if n_all is not None and n_all - n_have > shutil.disk_usage(folder).free:
                raise CorpusError(_no_space(folder, n_all))
            whole = f" of {readable_size(n_all)}" if n_all is not None else ""
            logger.info("downloading %s%s from %s", title, whole, printable(urlsplit(answer.url).hostname or ""))
            with content.open("ab" if n_have else "wb") as file, progress() as tell:
                for block in _blocks(answer, sys.maxsize if n_all is None else n_all - n_have, patience):
                    n_have += len(block)
                    if most is not None and n_have > most:
                        raise OtherBytes(f"{url} has more than the {most:,} bytes that were promised")
                    file.write(block)
                    if n_have % _TOLD_EVERY < len(block):
                        tell(f"{title}: {readable_size(n_have)}{whole}")
            if n_all is not None and n_have < n_all:
                raise urllib3.exceptions.IncompleteRead(n_have, n_all - n_have)
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _explained(url, error, content, patience) from error


def _answer(session: requests.Session, url: str, headers: dict[str, str], patience: Patience) -> requests.Response:
    """The answer at the end of all redirects. That of a redirect is not read, as `session.get` does: it may not end."""
    at = url
    for _ in range(_MOST_REDIRECTS):
        request = session.prepare_request(requests.Request("GET", at, headers=headers))
        settings = session.merge_environment_settings(at, {}, True, None, None)  # proxies and certificates
        answer = session.get_adapter(at).send(request, timeout=(10, patience.silence_s), **settings)
        if (target := session.get_redirect_target(answer)) is None:
            return answer
        answer.close()
        at = urljoin(at, target)
    raise CorpusError(f"{url}: leads in a circle of redirects; correct the address")


def _blocks(answer: requests.Response, n_left: int, patience: Patience) -> Iterator[bytes]:
    """What comes, up to so many bytes."""
    counted, n_counted = time.monotonic(), 0
    # One read at a time: to wait for a whole block is to wait for ever, where a byte comes now and then.
    while block := answer.raw.read1(min(_BLOCK, n_left), decode_content=False):
        yield block
        n_left -= len(block)
        n_counted += len(block)
        if time.monotonic() - counted > patience.silence_s:
            if n_counted < patience.least:
                raise _Cut(f"only {n_counted:,} bytes in {patience.silence_s:g} s")
            counted, n_counted = time.monotonic(), 0


def _check_status(answer: requests.Response, url: str) -> None:
    status = answer.status_code
    if status in (200, 206):
        return
    what = f"the server answers {status} {answer.reason or ''}".strip()
    if status in _PASSING:
        asked = answer.headers.get("Retry-After", "")
        raise _Cut(what, float(asked) if asked.isdecimal() else 0.0)
    raise CorpusError(f"{url}: {what}, so the publisher may have moved the file")


def _explained(url: str, error: Exception, content: Path, patience: Patience) -> Exception:
    """What a failed request means for people."""
    match error:
        case requests.exceptions.InvalidSchema() if "SOCKS" in str(error):
            return CorpusError(f"{url}: the proxy is of SOCKS; pip install 'requests[socks]', or unset $ALL_PROXY")
        case requests.exceptions.ProxyError() | requests.exceptions.InvalidProxyURL():
            return CorpusError(
                f"{url}: the proxy does not let this through ({_reason(error)}); correct or unset $HTTPS_PROXY, "
                "$HTTP_PROXY or $ALL_PROXY, or name this host in $NO_PROXY"
            )
        case requests.exceptions.SSLError():
            return CorpusError(
                f"{url}: its certificate is not trusted ({_reason(error)}); if your network has its own, name that "
                "file in $REQUESTS_CA_BUNDLE"
            )
        case ValueError():
            return CorpusError(  # without the reason, which would quote a part of a password with a / in it
                f"{url} is not an address, or leads to none; correct it, and write %2F, %3F and %23 for / ? and # in a "
                "password"
            )
        case requests.exceptions.Timeout() | urllib3.exceptions.ReadTimeoutError():
            return _Cut(f"no answer for {patience.silence_s:g} s")
        case requests.exceptions.RequestException():
            return _Cut(f"no connection ({_reason(error)})")
    return _Cut(f"the connection was cut after {readable_size(_length(content))}")


def _kept(url: str, folder: Path) -> tuple[int, str]:
    """How many bytes of this file are there, and what proves that they are of it."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        state = json.loads((folder / "state.json").read_bytes())
        if state["url"] == masked(url) and state["validator"]:
            return _length(folder / "content"), str(state["validator"])
    return 0, ""


def _validator(answer: requests.Response) -> str:
    """What is different if the file is: a strong ETag, or the time of the last change; empty if neither is told."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def _no_space(folder: Path, size: int | None) -> str:
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
