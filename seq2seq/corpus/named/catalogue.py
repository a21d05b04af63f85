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
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from omegaconf import OmegaConf

from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from seq2seq.masking import masked

_NAME = re.compile(r"[a-z0-9][\w.-]*")

# What is shown and kept as it is has no control characters, which a terminal would obey.
_Line = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
_Url = Annotated[str, msgspec.Meta(pattern="^https?://")]
_Sha256 = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
_Member = Annotated[str, msgspec.Meta(min_length=1)]
_Members = Annotated[tuple[_Member, ...], msgspec.Meta(min_length=1)]
_Kind = TypeVar("_Kind")


class Download(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it is published. `size` 0 and an empty digest: not known."""

    url: _Url
    size: Annotated[int, msgspec.Meta(ge=0)] = 0
    sha256: _Sha256 = ""
    md5: str = ""
    mirrors: tuple[_Url, ...] = ()

    @property
    def shown(self) -> str:
        """The address without its secrets: what is kept of it."""
        return masked(self.url)

    @property
    def file_name(self) -> str:
        name = self.shown.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]
        return re.sub(r"[^\w.+-]", "_", name)[-120:].lstrip(".") or "file"


class Table(Download, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file with both languages, cut into parts as `python -m seq2seq corpus split` cuts."""

    columns: tuple[str, ...]
    member: str = ""  # of an archive; empty: the download itself
    split: dict[Literal["valid", "test", "max_group", "seed"], Annotated[int, msgspec.Meta(ge=1)]] = {}

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(column for column in self.columns if column != "-")

    @property
    def part_names(self) -> tuple[str, ...]:
        there, back = (f"{a}-{b}" for a, b in (self.languages, self.languages[::-1]))
        return ("train", *(f"{split}.{pair}" for split in ("valid", "test") for pair in (there, back)))


@dataclass(frozen=True)
class Text:
    """One side of a part: a download, or files of an archive, joined."""

    download: Download
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """One name, and what is behind it.

    Attributes:
        parts: each as its texts by language, as the name of a test set of sacreBLEU, or as the table of all parts.
    """

    name: str
    parts: Mapping[str, "Mapping[str, Text] | str | Table"]
    about: str = ""
    licence: str = ""
    home: str = ""

    def languages(self, part: str) -> tuple[str, ...]:
        """Of one part; none for a test set of sacreBLEU, which knows its own."""
        how = self.parts[part]
        return how.languages if isinstance(how, Table) else () if isinstance(how, str) else tuple(how)

    def parts_in(self, languages: tuple[str, str]) -> list[str]:
        """The names of the parts that have these languages."""
        return [part for part in self.parts if set(languages) <= set(self.languages(part) or languages)]

    @property
    def downloads(self) -> list[Download]:
        found: list[Download] = []
        for part in self.parts.values():
            if isinstance(part, Table):
                found.append(part)
            elif not isinstance(part, str):
                found += [text.download for text in part.values()]
        return list({download.url: download for download in found}.values())


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """What stands under the name of a corpus."""

    about: _Line = ""
    licence: _Line = ""
    home: _Line = ""
    parts: dict[_Line, dict[_Line, Any]] | None = None
    table: dict[str, Any] | None = None
    split: dict[str, Any] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    corpora: dict[str, Any] = {}


def nearest(name: str, names: Iterable[str]) -> str:
    """`; do you mean this or that?`, if any of the names is like `name`."""
    found = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"; do you mean {' or '.join(found)}?" if found else ""


def read_catalogue(own: Path | None = None) -> dict[str, Corpus]:
    """The corpora of the project, and those of a file of the user's own, which replace others of the same name.

    Raises:
        ConfigError: a file that cannot be read, or that does not have the form above.
    """
    files = (conf_dir() / "corpora.yaml", *([own] if own is not None else []))
    return {name: _corpus(f"{file}: {name}", name, entry) for file in files for name, entry in _entries(file).items()}


def _entries(file: Path) -> dict[str, Any]:
    try:
        content = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror or error}); correct data.catalogue") from error
    except Exception as error:  # YAML that is not fails in many ways
        raise ConfigError(f"{file}: is not YAML ({' '.join(str(error).split())}); correct it") from error
    return _typed(str(file), content, _File).corpora


def _corpus(where: str, name: str, content: Any) -> Corpus:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: a name has letters, digits, _, - and . only, and begins with a small letter or digit"
        )
    entry = _typed(where, content, _Entry)
    if (entry.parts is None) == (entry.table is None):
        raise ConfigError(f"{where}: has neither or both of `parts` and `table`; give one of them")
    if entry.table is None:
        parts = {part: _part(f"{where}.parts.{part}", how) for part, how in (entry.parts or {}).items()}
        return Corpus(name, parts, entry.about, entry.licence, entry.home)
    table = _typed(f"{where}.table", {**entry.table, "split": entry.split}, Table)
    if len(table.languages) != 2 or len(set(table.languages)) != 2:
        raise ConfigError(f"{where}.table.columns={list(table.columns)} does not name two languages, such as [en, fr]")
    return Corpus(name, dict.fromkeys(table.part_names, table), entry.about, entry.licence, entry.home)


def _part(where: str, how: dict[str, Any]) -> Mapping[str, Text] | str:
    if set(how) == {"sacrebleu"}:
        return _typed(f"{where}.sacrebleu", how["sacrebleu"], str)
    archive = how.pop("archive", None)
    if len(how) < 2:
        raise ConfigError(f"{where}: has {', '.join(how) or 'no languages'}; give a file for two or more")
    if archive is None:
        return {language: Text(_download(f"{where}.{language}", each)) for language, each in how.items()}
    archive = _download(f"{where}.archive", archive)
    listed = {language: [names] if isinstance(names, str) else names for language, names in how.items()}
    return {
        language: Text(archive, _typed(f"{where}.{language}", names, _Members)) for language, names in listed.items()
    }


def _download(where: str, how: Any) -> Download:
    return _typed(where, {"url": how} if isinstance(how, str) else how, Download)


def _typed(where: str, content: Any, kind: type[_Kind]) -> _Kind:
    """Content of a YAML file as what it should be; `where` it stands there."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        unknown = re.search("unknown field `(.*)`", what)
        known = getattr(kind, "__struct_fields__", ())
        meant = f"{nearest(unknown[1], known)}; known are {', '.join(known)}" if unknown else ""
        what = what[0].lower() + what[1:].replace("`object`", "keys with values").replace("`array`", "a list")
        raise ConfigError(f"{where}{path.rstrip('`')}: {what}{meant}; docs/corpora.md has the form") from error
