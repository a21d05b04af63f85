"""`https://HOST/FILE#sha256=DIGEST`: files of the network, without an entry in a catalogue.

A file with both languages has the ending of its form: .tsv, .csv, .tmx, ..., or one of them compressed. Other addresses
are prefixes: `https://HOST/train` is `https://HOST/train.fr` and `https://HOST/train.en`, or compressed. A query, such
as `?token=...`, stays behind the ending.
"""

import re
from pathlib import Path

from seq2seq.config import SourceFiles, SourcePath, SourceSpec
from seq2seq.corpus.named.catalogue import Download
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.sources import COMPRESSIONS, form_of
from seq2seq.errors import ConfigError
from seq2seq.masking import masked

_DIGESTS = re.compile(r"sha256=([0-9a-f]{64})(?:,([0-9a-f]{64}))?")


def fetch(library: Library, address: str, languages: tuple[str, str]) -> SourceSpec:
    """The file at an address, or the two files of a prefix.

    Raises:
        ConfigError: what follows `#` is no digest, or there are not as many as files.
        CorpusError: it cannot be fetched.
    """
    url, digests = _parsed(address)
    prefix, question_mark, query = url.partition("?")
    if form_of(Path(prefix)) is not None:
        return SourcePath(fetch_file(library, address))
    if len(digests) == 1:
        raise ConfigError(
            f"{address}: has one digest for the two files of a prefix; write #sha256={languages[0].upper()},"
            f"{languages[1].upper()} with that of {languages[0]} first, or {{src: URL, tgt: URL}}"
        )
    files = []
    for language, digest in zip(languages, digests or ("", ""), strict=True):
        plain, *others = (f"{prefix}.{language}{suffix}{question_mark}{query}" for suffix in ("", *COMPRESSIONS))
        files.append(str(library.download(Download(plain, sha256=digest, mirrors=tuple(others)), masked(url))))
    src, tgt = files
    return SourceFiles(src, tgt)


def fetch_file(library: Library, address: str) -> str:
    """The path of one file at an address, whatever its ending.

    Raises:
        ConfigError, CorpusError: see `fetch`.
    """
    url, digests = _parsed(address)
    if len(digests) > 1:
        raise ConfigError(f"{address}: has two digests, and it is one file; leave one out")
    return str(library.download(Download(url, sha256=digests[0] if digests else ""), masked(url)))


def _parsed(address: str) -> tuple[str, list[str]]:
    url, hash_mark, fragment = address.partition("#")
    if not hash_mark:
        return url, []
    if not (found := _DIGESTS.fullmatch(fragment)):
        raise ConfigError(f"{address}: what follows # is not of the form sha256= and 64 digits of 0-9 and a-f")
    return url, [digest for digest in found.groups() if digest]
