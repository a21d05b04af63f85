"""Where fetched text is kept, for one process or many.

    CACHE/corpora/
        downloads/HOST/KEY/             KEY is made of the address
            NAME                        the bytes as they are published
            download.json               {corpus, url, from, size, sha256, time}
        made/NAME/KEY/                  KEY is made of the recipe and of what it was made from
            train.fr, ...               files of a corpus, made of downloads
            made.json                   {corpus, licence, files: {NAME: [size, SHA-256]}, time}
        partial/KEY/                    a download that is not whole yet (download.py), and its download.json {corpus}
        locks/KEY.lock
        checksums.json                  {URL: [size, SHA-256, time]} of the first download, where nobody publishes one

An address is noted without its secrets; in checksums.json, KEY then tells it from others. Folders of downloads/ and
made/ appear under their names only when they are whole. A shared cache has the same form, and is only read from.
Processes that want the same file at once share one download.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock

from seq2seq.config import DataConfig
from seq2seq.corpus.hashes import file_md5, file_sha256
from seq2seq.corpus.named.catalogue import Catalogue, Download, read_catalogue
from seq2seq.corpus.named.download import NotThere, Patience, download, no_room
from seq2seq.errors import CorpusError
from seq2seq.files import atomic_directory, cache_directory, is_sealed, readable_size, sealed, write_json
from seq2seq.masking import MASK, masked

_OFFLINE, _SHARED, _OWN = "SEQ2SEQ_OFFLINE", "SEQ2SEQ_SHARED_CACHE", "SEQ2SEQ_CATALOGUE"
_DOWNLOAD, _MADE = "download.json", "made.json"


@dataclass(frozen=True)
class Kept:
    """A download or a made folder that is there.

    Attributes:
        corpus: the name that it was fetched for.
        size: bytes of its files.
    """

    corpus: str
    folder: Path
    size: int
    facts: Mapping[str, Any]

    @property
    def is_made(self) -> bool:
        return "files" in self.facts


@dataclass(frozen=True, kw_only=True)
class Library:
    """All that is kept, and the way to get more.

    Attributes:
        root: CACHE/corpora, which may not exist yet.
        shared: the same of a shared cache.
        is_offline: nothing is fetched.
        is_accepting: other bytes than those of the first download are taken for the new right ones.
    """

    root: Path
    catalogue: Catalogue
    shared: Path | None = None
    is_offline: bool = False
    is_accepting: bool = False
    patience: Patience = field(default_factory=Patience)

    @classmethod
    def of(cls, config: DataConfig, *, is_offline: bool = False, is_accepting: bool = False) -> "Library":
        """The library that a configuration and the environment name.

        Raises:
            ConfigError: see `read_catalogue`.
        """
        own, shared = config.catalogue or os.environ.get(_OWN), config.shared_cache or os.environ.get(_SHARED)
        return cls(
            root=cache_directory(config.cache_dir) / "corpora",
            catalogue=read_catalogue(Path(own).expanduser() if own else None),
            shared=Path(shared).expanduser() / "corpora" if shared else None,
            is_offline=is_offline or config.offline or os.environ.get(_OFFLINE, "0") not in ("", "0"),
            is_accepting=is_accepting,
        )

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
        place = Path("downloads", _host(wanted.shown), key_of(wanted.url))
        if (found := self._find(place, partial(_has_download, wanted))) is not None:
            return found / wanted.file_name
        self.check_online(corpus)
        with self._locked(place.name):
            if (found := self._find(place, partial(_has_download, wanted))) is None:
                found = self.root / place
                shutil.rmtree(found, ignore_errors=True)  # damaged, or the catalogue names other bytes now
                self._fetch(wanted, corpus, found)
        return found / wanted.file_name

    def _downloaded_before(self, wanted: Download, corpus: str) -> Path:
        """A file whose address was kept without its secret, as in the configuration of a run.

        Raises:
            CorpusError: no download has this address, or several that differ have it.
        """
        roots = [root for root in (self.root, self.shared) if root is not None]
        notes = [note for root in roots for note in root.glob(f"downloads/{_host(wanted.url)}/*/{_DOWNLOAD}")]
        facts = {note.parent: json.loads(note.read_bytes()) for note in notes if _has_download(wanted, note.parent)}
        found = {each["sha256"]: folder for folder, each in facts.items() if each.get("url") == wanted.url}
        if len(found) != 1:
            raise CorpusError(
                f"{corpus}: {MASK} stands for a secret that was not kept, and {self.root} has {len(found) or 'no'} "
                "downloads of this address; give the key its whole address again"
            )
        return found.popitem()[1] / wanted.file_name

    def text(self, url: str) -> bytes:
        """What an address answers now, which is not kept: the reply of a service."""
        self.check_online(_host(url))
        with self._locked(key_of(url)):
            folder = self.root / "partial" / key_of(url)
            shutil.rmtree(folder, ignore_errors=True)
            patience = Patience(attempts=2, wait_s=self.patience.wait_s, silence_s=20.0)
            content = download(self.catalogue.address(url), folder, title=_host(url), patience=patience).read_bytes()
            shutil.rmtree(folder)
        return content

    def _fetch(self, wanted: Download, corpus: str, target: Path) -> None:
        problems: list[str] = []
        addresses = self.catalogue.addresses(wanted)
        for address in addresses:
            begun = self.root / "partial" / target.name
            was_begun = begun.exists()
            try:
                self._fetch_from(address, wanted, corpus, begun, target)
                return
            except _OtherBytes as error:
                shutil.rmtree(begun, ignore_errors=True)
                if was_begun:  # perhaps only what was left of another attempt was wrong
                    try:
                        self._fetch_from(address, wanted, corpus, begun, target)
                        return
                    except _OtherBytes:
                        shutil.rmtree(begun, ignore_errors=True)
                problems.append(str(error))
            except NotThere as error:
                problems.append(f"{error}, so the publisher may have moved the file")
            except CorpusError as error:
                problems.append(str(error))
        raise CorpusError(
            f"{corpus}: cannot fetch {wanted.file_name}: {'; '.join(problems)}. Try again later, give another address "
            "in data.catalogue, or set data.dir to a directory that has the files"
        )

    def _fetch_from(self, address: str, wanted: Download, corpus: str, begun: Path, target: Path) -> None:
        size = wanted.size or None
        title = f"{corpus} ({wanted.file_name})"
        begun.mkdir(parents=True, exist_ok=True)
        write_json(begun / _DOWNLOAD, {"corpus": corpus})
        content = download(address, begun, title=title, size=size, patience=self.patience)
        digest = file_sha256(content)
        self._check_bytes(address, wanted, content, digest)
        facts = {
            "corpus": corpus,
            "url": wanted.shown,
            "from": masked(address),
            "size": content.stat().st_size,
            "sha256": digest,
            "time": _now(),
        }
        write_json(begun / _DOWNLOAD, facts)
        (begun / "state.json").unlink(missing_ok=True)
        with content.open("rb") as file:
            os.fsync(file.fileno())
        content.rename(begun / wanted.file_name)
        target.parent.mkdir(parents=True, exist_ok=True)
        begun.rename(target)

    def _check_bytes(self, address: str, wanted: Download, content: Path, digest: str) -> None:
        """Compare with what the catalogue says, and else with the first download, which is remembered."""
        size = content.stat().st_size
        found = f"{address} has {readable_size(size)} with the SHA-256 {digest[:12]}…"
        if wanted.sha256 and digest != wanted.sha256:
            raise _OtherBytes(f"{found}, and the catalogue says {wanted.sha256[:12]}…")
        if wanted.size and size != wanted.size:
            raise _OtherBytes(f"{found}, and the catalogue says {wanted.size:,} bytes instead of {size:,}")
        if wanted.md5 and file_md5(content) != wanted.md5:
            raise _OtherBytes(f"{found}, and not the MD5 {wanted.md5[:12]}… that sacreBLEU knows")
        if wanted.sha256:
            return
        with self._locked("checksums"):
            known = _read_checksums(self.root / "checksums.json")
            name = wanted.url if wanted.url == wanted.shown else f"{wanted.shown} {key_of(wanted.url)}"
            first = known.get(name)
            if first is not None and first[1] != digest and not self.is_accepting:
                raise _OtherBytes(
                    f"{found}, and the first download on {first[2][:10]} had {first[1][:12]}…: the publisher has "
                    "changed the file, or something on the way did; `python -m seq2seq corpus get --accept` takes it"
                )
            if first is None or first[1] != digest:
                write_json(self.root / "checksums.json", sealed(known | {name: [size, digest, _now()]}))

    def check_online(self, corpus: str) -> None:
        """
        Raises:
            CorpusError: nothing may be fetched.
        """
        if self.is_offline:
            places = " or ".join(str(place) for place in (self.root, self.shared) if place is not None)
            raise CorpusError(
                f"{corpus}: not in {places}, and it is not fetched (data.offline, ${_OFFLINE}, or a command that never "
                f"fetches); where there is a network, run: python -m seq2seq corpus get {corpus}"
            )

    # --- what is made of downloads ---

    def made(self, corpus: str, recipe: Mapping[str, Any], licence: str, make: Callable[[Path], None]) -> Path:
        """A folder of files that `make` fills, once for each recipe.

        Args:
            recipe: all that decides the content, as JSON types.
        """
        place = Path("made", folder_name(corpus), key_of(json.dumps(recipe, sort_keys=True)))
        if (found := self._find(place, _has_made)) is not None:
            return found
        with self._locked(place.name):
            if (found := self._find(place, _has_made)) is not None:
                return found
            target = self.root / place
            shutil.rmtree(target, ignore_errors=True)  # damaged
            try:
                with atomic_directory(target) as folder:
                    make(folder)
                    files = {
                        str(file.relative_to(folder)): [file.stat().st_size, file_sha256(file)]
                        for file in sorted(folder.rglob("*"))
                        if file.is_file()
                    }
                    facts = {"corpus": corpus, "licence": licence, "files": files, "time": _now()}
                    write_json(folder / _MADE, facts)
            except OSError as error:
                raise CorpusError(
                    f"{corpus}: cannot be unpacked ({error.strerror}): {no_room(self.root, None)}"
                ) from error
            return target

    # --- what is there ---

    def kept(self) -> list[Kept]:
        """All downloads and made folders of the cache, without those of a shared one."""
        return [*self._folders(f"downloads/*/*/{_DOWNLOAD}"), *self._folders(f"made/*/*/{_MADE}")]

    def cut(self) -> list[Kept]:
        """What has come of downloads that are not whole."""
        return [*self._folders(f"partial/*/{_DOWNLOAD}")]

    def _folders(self, pattern: str) -> Iterator[Kept]:
        for file in sorted(self.root.glob(pattern)):
            with suppress(OSError, ValueError, KeyError):
                facts = json.loads(file.read_bytes())
                size = sum(each.stat().st_size for each in file.parent.rglob("*") if each != file)
                yield Kept(str(facts["corpus"]), file.parent, size, facts)

    def remove(self, kept: Kept) -> None:
        with self._locked(kept.folder.name):
            doomed = kept.folder.with_name(f".{kept.folder.name}.removed")
            shutil.rmtree(doomed, ignore_errors=True)
            kept.folder.rename(doomed)  # so that nobody finds half of it
            shutil.rmtree(doomed)
        with suppress(OSError):
            kept.folder.parent.rmdir()

    def _find(self, place: Path, is_whole: Callable[[Path], bool]) -> Path | None:
        """A whole folder, in this cache or in the shared one."""
        folders = [root / place for root in (self.root, self.shared) if root is not None]
        return next(filter(is_whole, folders), None)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        folder = self.root / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{name}.lock")
            lock.acquire()
        except OSError as error:
            raise CorpusError(
                f"cannot keep fetched text under {self.root}: {error.strerror or error}; set data.cache_dir to another "
                "directory, or data.shared_cache to this one if it is only to be read"
            ) from error
        try:
            yield
        finally:
            lock.release()


class _OtherBytes(CorpusError):
    """A download that is not what it should be."""


def noted_sha256(file: Path) -> str | None:
    """The SHA-256 that a file had when it was fetched or made; None if nothing beside it says so."""
    with suppress(OSError, ValueError, KeyError):
        if (file.parent / _MADE).exists():
            return str(json.loads((file.parent / _MADE).read_bytes())["files"][file.name][1])
        return str(json.loads((file.parent / _DOWNLOAD).read_bytes())["sha256"])
    return None


def key_of(text: str) -> str:
    """A short name for a long text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def folder_name(corpus: str) -> str:
    """The name of a corpus as that of a folder: `opus_Tatoeba_v2023-04-12`."""
    return re.sub(r"[^\w.-]+", "_", corpus).strip("._")[:100] or "corpus"


def _host(url: str) -> str:
    return folder_name(urlsplit(url).hostname or "unknown")


def _has_download(wanted: Download, folder: Path) -> bool:
    """Whether a download is there, in its length, with the digest that the catalogue names."""
    try:
        facts = json.loads((folder / _DOWNLOAD).read_bytes())
        size = (folder / wanted.file_name).stat().st_size
    except (OSError, ValueError):
        return False
    return size == facts.get("size") and wanted.sha256 in ("", facts.get("sha256"))


def _has_made(folder: Path) -> bool:
    """Whether all files are there, in their lengths."""
    try:
        files = json.loads((folder / _MADE).read_bytes())["files"]
        return all((folder / name).stat().st_size == size for name, (size, _) in files.items())
    except (OSError, ValueError, KeyError):
        return False


def _read_checksums(file: Path) -> dict[str, list[Any]]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"{file}: cannot be read ({error}); repair it, or remove it to trust what comes next"
        ) from error
    if not isinstance(content, dict) or not is_sealed(content):
        raise CorpusError(f"{file}: is damaged; repair it, or remove it to trust what comes next")
    return {url: entry for url, entry in content.items() if url != "sha256"}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
