"""How a configuration names parallel text: the forms are known here, and `corpus/sources.py` finds the files.

corpus/train                      a prefix: the files corpus/train.fr and corpus/train.en
corpus/train.tsv                  one file with both languages; also .csv, .jsonl, .tmx, .xliff and .po
{src: FILE, tgt: FILE}            two files
corpus:multi30k/train             text that is fetched by its name (seq2seq/corpus/named/); also sacrebleu:wmt14,
                                  opus:Tatoeba/v2023-04-12, hf:wmt14/fr-en
https://HOST/FILE#sha256=DIGEST   a prefix or a file there; also {url: URL, sha256: DIGEST}, and in {src: ..., tgt: ...}
{source: SOURCE, tag: NAME}       one of these, with a tag that says what kind of text it is
{source: SOURCE, augmentation: NAMES}  a test set as people write it (seq2seq/corpus/augmentation/); also with a tag
{source: SOURCE, weight: 2}       training text that an epoch has twice; 0: not at all, 0.5: half of it, in turn
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seq2seq.errors import ConfigError
from seq2seq.masking import masked

CORPUS = "corpus:"  # begins the name of a corpus in conf/corpora.yaml, and a `data.dir` where sources are such names
SCHEMES = (CORPUS, "sacrebleu:", "opus:", "hf:", "https://", "http://")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# What there may be to say about a source.
_OF_SOURCES = {"tag", "augmentation", "weight"}
MOST_WEIGHT = 1000


@dataclass(frozen=True)
class SourcePath:
    """A prefix of two files, a file with both languages, or a name that begins with one of `SCHEMES`."""

    path: str
    tag: str | None = None
    augmentations: tuple[str, ...] = ()
    weight: float = 1.0  # how often an epoch has each pair, beside what `data.temperature` says

    @property
    def stem(self) -> str:
        """What to call a test set of this text: `news` for `corpus/news.tsv.gz`, and `news/typos` with augmentation.

        `wmt14-full` for `sacrebleu:wmt14/full`, and `Tatoeba` for `opus:Tatoeba/v2023-04-12`.
        """
        return _stem(self.path, self.augmentations)


@dataclass(frozen=True)
class SourceFiles:
    """Two aligned files."""

    src: str
    tgt: str
    tag: str | None = None
    augmentations: tuple[str, ...] = ()
    weight: float = 1.0  # how often an epoch has each pair, beside what `data.temperature` says

    @property
    def stem(self) -> str:
        return _stem(self.src, self.augmentations)


SourceSpec = SourcePath | SourceFiles


def parse_sources(key: str, value: object) -> list[SourceSpec]:
    """Read one source or a list of sources.

    Args:
        key: of the configuration, for messages.
    Raises:
        ConfigError: an entry that has none of the forms, an empty list, an augmentation where there is no test, or a
            weight where there is no training.
    """
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise ConfigError(f"{key}: an empty list of sources; name at least one")
    return [_parse(key, entry) for entry in entries]


def parse_tests(value: object) -> list[tuple[str, list[SourceSpec]]]:
    """Read the test sets as (name, sources). A test set without a name gets that of its file.

    Raises:
        ConfigError: an entry that has none of the forms.
    """
    if isinstance(value, Mapping) and not _is_one_source(value):
        return [(str(name), parse_sources(f"data.test.{name}", each)) for name, each in value.items()]
    entries = value if isinstance(value, list) else [value]
    specs = [_parse("data.test", entry) for entry in entries if entry]  # data.test=null: no test set
    return [(spec.stem, [spec]) for spec in specs]


def _parse(key: str, entry: object) -> SourceSpec:
    if not isinstance(entry, Mapping) or not _says_more(entry):
        return _parse_files(key, entry)
    spec = _parse_files(key, entry["source"])
    if "tag" in entry:
        spec = replace(spec, tag=str(entry["tag"]))
    if "augmentation" in entry:
        spec = replace(spec, augmentations=_augmentations(key, entry["augmentation"]))
    if "weight" in entry:
        spec = replace(spec, weight=_weight(key, entry["weight"]))
    return spec


def _weight(key: str, value: object) -> float:
    if key != "data.train":
        raise ConfigError(f"{key}: weight={value!r} is for data.train only; leave it out")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MOST_WEIGHT:
        raise ConfigError(f"{key}: weight={value!r} is not a number from 0 to {MOST_WEIGHT}")
    return float(value)


def _augmentations(key: str, value: object) -> tuple[str, ...]:
    """The names; `corpus/` knows which ones there are."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"{key}: augmentation={value!r} is neither a name nor a list of names, such as typos")
    if not key.startswith("data.test"):
        raise ConfigError(
            f"{key}: augmentation={value!r} is for test sets only; to train on such text there is data.augment"
        )
    return tuple(names)


def is_named(path: str) -> bool:
    """Whether this is the name or the address of text that has to be fetched, and not a path."""
    return path.startswith(SCHEMES)


def _parse_files(key: str, entry: object) -> SourceSpec:
    if isinstance(entry, Mapping):
        if "url" in entry:
            return SourcePath(_address(key, entry))
        files = [_address(key, name) if isinstance(name, Mapping) else name for name in entry.values()]
        if set(entry) != {"src", "tgt"} or not all(isinstance(name, str) and name for name in files):
            raise ConfigError(
                f"{key}: the data source {dict(entry)} is not of the form {{src: FILE, tgt: FILE}}, "
                "{url: URL, sha256: DIGEST} or {source: SOURCE, tag: NAME, augmentation: NAME}"
            )
        named = dict(zip(map(str, entry), files, strict=True))
        return SourceFiles(named["src"], named["tgt"])
    if not isinstance(entry, str) or not entry:
        raise ConfigError(
            f"{key}: the data source {entry!r} is not a prefix, a file such as a.tsv, {{src: FILE, tgt: FILE}}, or "
            "one of these as {source: ..., tag: NAME, augmentation: NAME}"
        )
    return SourcePath(entry)


def _address(key: str, entry: Mapping[object, object]) -> str:
    """`{url: URL, sha256: DIGEST}` on one line."""
    url, digest = entry.get("url"), entry.get("sha256", "")
    is_url = isinstance(url, str) and url.startswith(("https://", "http://"))
    if not is_url or set(entry) - {"url", "sha256"} or not isinstance(digest, str):
        raise ConfigError(
            f"{key}: the data source {dict(entry)} is not of the form {{url: https://..., sha256: DIGEST}}"
        )
    if digest and not _SHA256.fullmatch(digest):
        raise ConfigError(f"{key}: sha256={digest!r} of {url} is not a SHA-256; give its 64 digits of 0-9 and a-f")
    return f"{url}#sha256={digest}" if digest else str(url)


def _is_one_source(value: Mapping[Any, object]) -> bool:
    """False for a mapping from names of test sets to sources."""
    return bool({"src", "tgt", "url"}.intersection(value)) or _says_more(value)


def _says_more(entry: Mapping[Any, object]) -> bool:
    """Whether this is a source and more about its text."""
    return "source" in entry and len(entry) > 1 and set(entry) <= {"source", *_OF_SOURCES}


def _stem(path: str, augmentations: Sequence[str]) -> str:
    name = Path(re.split("[?#]", masked(path))[0] if is_named(path) else path.partition("#")[0]).name
    scheme, colon, rest = path.partition(":")
    if is_named(path) and not rest.startswith("//"):
        parts = rest.partition("@")[0].split("/")
        name = {CORPUS: parts[-1], "sacrebleu:": "-".join(parts)}.get(scheme + colon, parts[0])
    return "/".join([name.split(".")[0], *(["+".join(augmentations)] if augmentations else [])])
