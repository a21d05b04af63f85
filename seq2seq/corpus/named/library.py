"""Where fetched text is kept, for one process or many.

    CACHE/corpora/
        downloads/HOST/KEY/             KEY is made of the address
            NAME                        the bytes as they are published
            download.json               {corpus, url, from, size, sha256, time}
        made/NAME/KEY/                  KEY is made of the recipe and of what it was made from
            train.fr, ...               files of a corpus, made of downloads
            made.json                   {corpus, licence, files: {NAME: [size, SHA-256]}, time}
        partial/KEY/                    a download that is not whole yet (download.py)
        locks/KEY.lock

An address is noted without its secrets. Folders of downloads/ and made/ appear under their names only when they are
whole; each may be deleted. A shared cache has the same form, and is only read from. Processes that want the same file
at once share one download.
"""

import errno
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import msgspec
from filelock import FileLock, Timeout

from seq2seq.config import CORPUS, DataConfig
from seq2seq.corpus.hashes import file_md5, file_sha256
from seq2seq.corpus.named.catalogue import Corpus, Download, nearest, read_catalogue
from seq2seq.corpus.named.download import OtherBytes, Patience, download
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.files import atomic_directory, cache_directory, expanded, readable_size, write_json
from seq2seq.masking import MASK, masked

logger = logging.getLogger(__name__)

_OFFLINE, _SHARED, _OWN = "SEQ2SEQ_OFFLINE", "SEQ2SEQ_SHARED_CACHE", "SEQ2SEQ_CATALOGUE"
_DOWNLOAD, _MADE = "download.json", "made.json"
_LONGEST_REPLY = 50_000_000  # bytes, of a service


class Note(msgspec.Struct, frozen=True):
    """What is noted of a folder: of a download (url, size, sha256), or of what was made (licence, files)."""

    corpus: str
    url: str = ""
    size: int = 0
    sha256: str = ""
    licence: str = ""
    files: dict[str, tuple[int, str]] = {}

    @property
    def contents(self) -> Mapping[str, tuple[int, str]]:
        """The size and the SHA-256 of each file."""
        return self.files or {Download(self.url).file_name: (self.size, self.sha256)}


@dataclass(frozen=True, kw_only=True)
class Library:
    """All that is kept, and the way to get more.

    Attributes:
        root: CACHE/corpora, which may not exist yet.
        corpora: those of the catalogue, by name.
        shared: as `root`, of a shared cache.
        is_offline: nothing is fetched.
        languages: that are wanted.
    """

    root: Path
    corpora: Mapping[str, Corpus]
    shared: Path | None = None
    is_offline: bool = False
    patience: Patience = field(default_factory=Patience)
    languages: tuple[str, str] = ("fr", "en")

    @classmethod
    def of(cls, config: DataConfig, *, is_offline: bool = False) -> "Library":
        """The library that a configuration and the environment name.

        Raises:
            ConfigError: see `read_catalogue`.
        """
        own, shared = config.catalogue or os.environ.get(_OWN), config.shared_cache or os.environ.get(_SHARED)
        return cls(
            root=cache_directory(config.cache_dir) / "corpora",
            corpora=read_catalogue(expanded(own) if own else None),
            shared=expanded(shared).absolute() / "corpora" if shared else None,
            is_offline=is_offline or config.offline or os.environ.get(_OFFLINE, "0") not in ("", "0"),
            languages=(config.src_lang, config.tgt_lang),
        )

    @property
    def roots(self) -> list[Path]:
        return [root for root in (self.root, self.shared) if root is not None]

    def corpus(self, name: str) -> Corpus:
        """
        Raises:
            ConfigError: the catalogue has none of that name.
        """
        if name not in self.corpora:
            raise ConfigError(
                f"{CORPUS}{name}: there is no such corpus{nearest(name, self.corpora)}; "
                "`python -m seq2seq corpus find` lists all, and a file of your own (data.catalogue) adds others"
            )
        return self.corpora[name]

    # --- downloads ---

    def download(self, wanted: Download, corpus: str) -> Path:
        """A published file, from the cache or from where it is published.

        Args:
            corpus: the name that it is fetched for.
        Raises:
            CorpusError: it cannot be fetched, or it is not what it should be.
        """
        if MASK in wanted.url:
            return self._downloaded_before(wanted, corpus)
        place = Path("downloads", _host(wanted.shown), _key(wanted.url))
        if (found := self._find(place, wanted.sha256)) is None:
            self.check_online(corpus)
            found = self._new(place, wanted.sha256, partial(self._fetch, wanted, corpus))
        return found / wanted.file_name

    def _downloaded_before(self, wanted: Download, corpus: str) -> Path:
        """A file whose address was kept without its secret, as in the configuration of a run.

        Raises:
            CorpusError: no download has this address, or several that differ have it.
        """
        files = [file for root in self.roots for file in root.glob(f"downloads/{_host(wanted.url)}/*/{_DOWNLOAD}")]
        kept = [(note, file.parent) for file in files if (note := _whole(file.parent, wanted.sha256))]
        found = {note.sha256: folder for note, folder in kept if note.url == wanted.url}
        if len(found) != 1:
            raise CorpusError(
                f"{corpus}: {MASK} stands for a secret that was not kept, and {self.root} has {len(found) or 'no'} "
                "downloads of this address; give the key its whole address again"
            )
        return found.popitem()[1] / wanted.file_name

    def reply(self, url: str) -> bytes:
        """What a service answers now, which is not kept."""
        self.check_online(_host(url))
        patience = Patience(attempts=2, wait_s=self.patience.wait_s, silence_s=20.0)
        with TemporaryDirectory() as folder:
            return download(url, Path(folder), title=_host(url), most=_LONGEST_REPLY, patience=patience).read_bytes()

    def _fetch(self, wanted: Download, corpus: str, target: Path) -> None:
        problems: list[str] = []
        begun = self.root / "partial" / target.name
        for address in (wanted.url, *wanted.mirrors):
            for _ in range(1 + begun.exists()):  # perhaps only what is left of another attempt is wrong
                try:
                    return self._fetch_from(address, wanted, corpus, begun, target)
                except OtherBytes as error:
                    shutil.rmtree(begun)
                    problem = str(error)
                except CorpusError as error:
                    problem = str(error)
                    break
            problems.append(problem)
        raise CorpusError(
            f"{corpus}: cannot fetch {wanted.file_name}: {'; '.join(problems)}. Try again later, give another address "
            "in data.catalogue, or set data.dir to a directory that has the files"
        )

    def _fetch_from(self, address: str, wanted: Download, corpus: str, begun: Path, target: Path) -> None:
        title = f"{corpus} ({wanted.file_name})"
        content = download(address, begun, title=title, most=wanted.size or None, patience=self.patience)
        size, digest = content.stat().st_size, file_sha256(content)
        found = f"{address} has {readable_size(size)} with the SHA-256 {digest[:12]}…"
        if wanted.sha256 and digest != wanted.sha256:
            raise OtherBytes(f"{found}, and {wanted.sha256[:12]}… was promised")
        if wanted.size and size != wanted.size:
            raise OtherBytes(f"{found}, and {wanted.size:,} bytes were promised instead of {size:,}")
        if wanted.md5 and file_md5(content) != wanted.md5:
            raise OtherBytes(f"{found}, and not the MD5 {wanted.md5[:12]}… that was promised")
        facts = {"url": wanted.shown, "from": masked(address), "size": size, "sha256": digest, "time": _now()}
        write_json(begun / _DOWNLOAD, {"corpus": corpus, **facts})
        (begun / "state.json").unlink()
        with content.open("rb") as file:
            os.fsync(file.fileno())
        content.rename(begun / wanted.file_name)
        target.parent.mkdir(parents=True, exist_ok=True)
        begun.rename(target)

    def check_online(self, corpus: str) -> None:
        """
        Raises:
            CorpusError: nothing may be fetched.
        """
        if self.is_offline:
            (src, tgt), are_usual = self.languages, set(self.languages) == {"fr", "en"}
            raise CorpusError(
                f"{corpus}: not in {' or '.join(map(str, self.roots))}, and it is not fetched (data.offline, "
                f"${_OFFLINE}, or a command that never fetches); where there is a network, run: "
                f"python -m seq2seq corpus get {corpus}{'' if are_usual else f' --languages {src} {tgt}'}"
            )

    # --- what is made of downloads ---

    def made(self, corpus: str, recipe: Mapping[str, Any], licence: str, make: Callable[[Path], None]) -> Path:
        """A folder of files that `make` fills, once for each recipe.

        Args:
            recipe: all that decides the content, as JSON types.
        """

        def fill(target: Path) -> None:
            try:
                with atomic_directory(target) as folder:
                    make(folder)
                    files = {file.name: [file.stat().st_size, file_sha256(file)] for file in sorted(folder.iterdir())}
                    facts = {"corpus": corpus, "licence": licence, "files": files, "time": _now()}
                    write_json(folder / _MADE, facts)
            except OSError as error:
                raise CorpusError(
                    f"{corpus}: cannot be unpacked under {self.root} ({error.strerror}); make room there, or set "
                    "data.cache_dir to another directory"
                ) from error

        place = Path("made", _folder_name(corpus), _key(json.dumps(recipe, sort_keys=True)))
        return self._find(place) or self._new(place, "", fill)

    # --- what is there ---

    def kept(self) -> list[Note]:
        """All downloads and made folders of the cache, without those of a shared one."""
        folders = [*self.root.glob("downloads/*/*"), *self.root.glob("made/*/*")]
        return [note for folder in sorted(folders) if (note := _whole(folder))]

    def _find(self, place: Path, sha256: str = "") -> Path | None:
        """A whole folder, in this cache or in the shared one."""
        return next((root / place for root in self.roots if _whole(root / place, sha256)), None)

    def _new(self, place: Path, sha256: str, fill: Callable[[Path], None]) -> Path:
        """A folder as `fill` makes it, or as another process has made it meanwhile."""
        with self._locked(place.name):
            if (found := self._find(place, sha256)) is not None:
                return found
            shutil.rmtree(self.root / place, ignore_errors=True)  # damaged, or the catalogue names other bytes now
            try:
                fill(self.root / place)
            except OSError as error:  # NFS may hide for a minute what another machine has made
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or self._find(place, sha256) is None:
                    raise
        return self.root / place

    def _locked(self, name: str) -> AbstractContextManager[object]:
        folder = self.root / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return locked(folder / f"{name}.lock")
        except OSError as error:
            raise CorpusError(
                f"cannot keep fetched text under {self.root}: {error.strerror or error}; set data.cache_dir to another "
                "directory, or data.shared_cache to this one if it is only to be read"
            ) from error


def locked(path: Path) -> AbstractContextManager[object]:
    """Hold a lock. Whoever waits for another process says so."""
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        logger.info("another process is at work on the same text; waiting for it (%s)", path)
        return lock.acquire()
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
            raise
        logger.warning("%s cannot be locked (%s); others may do the same work beside", path, error.strerror)
        return nullcontext()


def noted_sha256(file: Path) -> str | None:
    """The SHA-256 that a file had when it was fetched or made; None if nothing beside it says so."""
    notes = (_note(file.parent / name) for name in (_MADE, _DOWNLOAD))
    return next((note.contents[file.name][1] for note in notes if note and file.name in note.contents), None)


def _note(file: Path) -> Note | None:
    """What a file notes; None if it is not there, or is no note."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=Note)
    return None


def _whole(folder: Path, sha256: str = "") -> Note | None:
    """The note of a folder if its files are there in their lengths, and the digest is this one, if any."""
    note = _note(folder / _DOWNLOAD) or _note(folder / _MADE)
    with suppress(OSError):
        if (
            note
            and sha256 in ("", note.sha256)
            and all((folder / name).stat().st_size == size for name, (size, _) in note.contents.items())
        ):
            return note
    return None


def _key(text: str) -> str:
    """A short name for a long text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _folder_name(corpus: str) -> str:
    """The name of a corpus as that of a folder: `opus_Tatoeba_v2023-04-12`."""
    return re.sub(r"[^\w.-]+", "_", corpus).strip("._")[:100] or "corpus"


def _host(url: str) -> str:
    return _folder_name(urlsplit(url).hostname or "unknown")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
