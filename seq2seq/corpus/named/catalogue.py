"""Which corpora have a name: conf/corpora.yaml, and a file of the user's own that adds to it.

corpora:
  multi30k:
    about: image captions              one line, for `corpus find`
    licence: ...                       its terms, in words
    home: https://...                  who publishes it
    parts:
      train:                           corpus:multi30k/train
        en: {url: https://..., size: 568929, sha256: d79c..., mirrors: [https://...]}     all but the URL may be missing
        fr: {url: https://...}
      valid:                           files from an archive; a list is joined in its order
        archive: {url: https://...}
        en: [dev/newstest2009.en, dev/newstest2010.en]
        fr: [dev/newstest2009.fr, dev/newstest2010.fr]
      test: {sacrebleu: wmt14/full}    a test set that sacreBLEU knows, in the direction of the run
  tatoeba:
    table: {url: https://..., member: fra.txt, columns: [en, fr, "-"]}    both languages in a file; `-` skips a column
    split: {valid: 1000, test: 2000, max_group: 8, seed: 1}               parts as `corpus split` makes them
rewrite:
  https://www.statmt.org/: https://mirror.example.org/statmt/             other addresses, for all that begin so
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.config import CORPUS
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from seq2seq.masking import masked

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][\w.-]*")
_SPLIT_NUMBERS = ("valid", "test", "max_group", "seed")


@dataclass(frozen=True)
class Download:
    """A file as it is published. `size` 0 and an empty digest: not known."""

    url: str
    size: int = 0
    sha256: str = ""
    md5: str = ""
    mirrors: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The address without its secrets: what is kept of it."""
        return masked(self.url)

    @property
    def file_name(self) -> str:
        name = self.shown.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]
        return re.sub(r"[^\w.+-]", "_", name)[-120:].lstrip(".") or "file"


@dataclass(frozen=True)
class Files:
    """A part of one download for each language."""

    downloads: Mapping[str, Download]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.downloads)


@dataclass(frozen=True)
class Members:
    """A part from an archive: for each language the files whose text is joined."""

    archive: Download
    members: Mapping[str, tuple[str, ...]]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.members)


@dataclass(frozen=True)
class TestSetName:
    """A part that sacreBLEU knows."""

    name: str


@dataclass(frozen=True)
class SplitTable:
    """All parts of a corpus: one file with both languages, cut as `python -m seq2seq corpus split` cuts."""

    table: Download
    member: str  # of an archive; empty: the download itself
    columns: tuple[str, ...]
    numbers: Mapping[str, int]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(column for column in self.columns if column != "-")

    @property
    def part_names(self) -> tuple[str, ...]:
        there, back = (f"{a}-{b}" for a, b in (self.languages, self.languages[::-1]))
        return ("train", *(f"{split}.{pair}" for split in ("valid", "test") for pair in (there, back)))


Part = Files | Members | TestSetName | SplitTable


@dataclass(frozen=True)
class Corpus:
    """One name, and what is behind it."""

    name: str
    parts: Mapping[str, Part]
    about: str = ""
    licence: str = ""
    home: str = ""

    @property
    def languages(self) -> list[str]:
        """Those of its parts; those of sacreBLEU's test sets are not counted."""
        parts = [part for part in self.parts.values() if not isinstance(part, TestSetName)]
        return sorted({language for part in parts for language in part.languages})

    @property
    def downloads(self) -> list[Download]:
        found: dict[str, Download] = {}
        for part in self.parts.values():
            match part:
                case Files():
                    found |= {each.url: each for each in part.downloads.values()}
                case Members():
                    found[part.archive.url] = part.archive
                case SplitTable():
                    found[part.table.url] = part.table
        return list(found.values())


@dataclass(frozen=True)
class Catalogue:
    """All names, and where to look instead of the addresses that stand there."""

    corpora: Mapping[str, Corpus]
    rewrite: Mapping[str, str] = field(default_factory=dict)

    def corpus(self, name: str) -> Corpus:
        """
        Raises:
            ConfigError: there is none of that name.
        """
        if name not in self.corpora:
            raise ConfigError(
                f"{CORPUS}{name}: there is no such corpus{nearest(name, self.corpora)}; "
                "`python -m seq2seq corpus find` lists all, and a file of your own (data.catalogue) adds others"
            )
        return self.corpora[name]

    def addresses(self, download: Download) -> list[str]:
        """Where to look for a file, one after another."""
        return [self.address(url) for url in (download.url, *download.mirrors)]

    def address(self, url: str) -> str:
        """Where to look for what is published at `url`. Of several prefixes, the longest one counts."""
        prefix = max((prefix for prefix in self.rewrite if url.startswith(prefix)), key=len, default="")
        return self.rewrite[prefix] + url.removeprefix(prefix) if prefix else url


def nearest(name: str, names: Iterable[str]) -> str:
    """`; do you mean this or that?`, if any of the names is like `name`."""
    found = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"; do you mean {' or '.join(found)}?" if found else ""


def read_catalogue(own: Path | None = None) -> Catalogue:
    """The names of the project, and those of a file of the user's own, which replace others of the same name.

    Raises:
        ConfigError: a file that cannot be read, or that does not have the form above.
    """
    corpora: dict[str, Corpus] = {}
    rewrite: dict[str, str] = {}
    for file in (conf_dir() / "corpora.yaml", own):
        if file is not None:
            content = _content(file)
            corpora |= {
                str(name): _corpus(f"{file}: {name}", str(name), entry)
                for name, entry in _mapping(f"{file}: corpora", content.get("corpora", {})).items()
            }
            found = _mapping(f"{file}: rewrite", content.get("rewrite", {}))
            rewrite |= {str(prefix): _text(f"{file}: rewrite of {prefix}", url) for prefix, url in found.items()}
    return Catalogue(corpora, rewrite)


def _content(file: Path) -> Mapping[str, Any]:
    try:
        content = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror or error}); correct data.catalogue") from error
    except Exception as error:  # YAML that is not fails in many ways
        raise ConfigError(f"{file}: is not YAML ({' '.join(str(error).split())}); correct it") from error
    known = _mapping(str(file), content)
    _only(str(file), known, "corpora", "rewrite")
    return known


def _corpus(where: str, name: str, entry: Any) -> Corpus:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: a name has letters, digits, _, - and . only, and begins with a small letter or digit"
        )
    content = _mapping(where, entry)
    _only(where, content, "about", "licence", "home", "parts", "table", "split")
    words = {key: _text(f"{where}.{key}", content.get(key, "")) for key in ("about", "licence", "home")}
    if ("parts" in content) == ("table" in content):
        raise ConfigError(f"{where}: has neither or both of `parts` and `table`; give one of them")
    if "table" in content:
        table = _split_table(where, content)
        return Corpus(name, dict.fromkeys(table.part_names, table), **words)
    parts = _mapping(f"{where}.parts", content["parts"])
    return Corpus(name, {str(part): _part(f"{where}.parts.{part}", how) for part, how in parts.items()}, **words)


def _part(where: str, how: Any) -> Part:
    content = dict(_mapping(where, how))
    if set(content) == {"sacrebleu"}:
        return TestSetName(_text(where, content["sacrebleu"]))
    if "archive" in content:
        archive = _download(f"{where}.archive", content.pop("archive"))
        members = {str(language): _members(f"{where}.{language}", names) for language, names in content.items()}
        part: Files | Members = Members(archive, members)
    else:
        part = Files({str(language): _download(f"{where}.{language}", each) for language, each in content.items()})
    if len(part.languages) < 2:
        raise ConfigError(f"{where}: has {', '.join(part.languages) or 'no languages'}; give a file for two or more")
    return part


def _split_table(where: str, content: Mapping[str, Any]) -> SplitTable:
    table = dict(_mapping(f"{where}.table", content["table"]))
    member = _text(f"{where}.table.member", table.pop("member", ""))
    columns = table.pop("columns", None)
    named = [column for column in columns or () if column != "-"] if isinstance(columns, list) else []
    if len(named) != 2 or len(set(named)) != 2:
        raise ConfigError(f"{where}.table.columns={columns} does not name two languages, such as [en, fr]")
    numbers = _mapping(f"{where}.split", content.get("split", {}))
    _only(f"{where}.split", numbers, *_SPLIT_NUMBERS)
    for key, number in numbers.items():
        if type(number) is not int or number < 1:
            raise ConfigError(f"{where}.split.{key}={number} is not a whole number from 1 on")
    return SplitTable(_download(f"{where}.table", table), member, tuple(map(str, columns)), dict(numbers))


def _download(where: str, how: Any) -> Download:
    content = _mapping(where, {"url": how} if isinstance(how, str) else how)
    _only(where, content, "url", "size", "sha256", "mirrors")
    size, digest, mirrors = content.get("size", 0), content.get("sha256") or "", content.get("mirrors", [])
    if type(size) is not int or size < 0:
        raise ConfigError(f"{where}.size={size} is not a number of bytes")
    if digest and not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise ConfigError(
            f"{where}.sha256={digest} is not a SHA-256; give its 64 digits of 0-9 and a-f, or leave it out"
        )
    urls = [content.get("url"), *(mirrors if isinstance(mirrors, list) else [mirrors])]
    for url in urls:
        if not isinstance(url, str) or not url.startswith(("https://", "http://")):
            raise ConfigError(f"{where}: {url!r} is not an address that begins with https://")
    return Download(urls[0], size, digest, mirrors=tuple(urls[1:]))


def _members(where: str, names: Any) -> tuple[str, ...]:
    found = names if isinstance(names, list) else [names]
    if not found or not all(isinstance(name, str) and name for name in found):
        raise ConfigError(f"{where}={names!r} is neither a file in the archive nor a list of such")
    return tuple(found)


def _mapping(where: str, content: Any) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: expected keys with values, found {str(content)[:60]!r}; see conf/corpora.yaml")
    return content


def _text(where: str, content: Any) -> str:
    if not isinstance(content, str):
        raise ConfigError(f"{where}: expected a text, found {str(content)[:60]!r}")
    return content


def _only(where: str, content: Mapping[str, Any], *keys: str) -> None:
    for key in content:
        if key not in keys:
            raise ConfigError(f"{where}: unknown key {key!r}{nearest(str(key), keys)}; known are {', '.join(keys)}")
