"""`opus:CORPUS/VERSION`: the Moses files of OPUS (opus.nlpl.eu), such as opus:Tatoeba/v2023-04-12."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config import SourceFiles, SourceSpec
from seq2seq.corpus.named.catalogue import Corpus, Download, Members
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.parts import fetch_part
from seq2seq.errors import ConfigError, CorpusError

_FILES = "https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{pair}.txt.zip"
_API = "https://opus.nlpl.eu/opusapi/?source={src}&target={tgt}&preprocessing=moses"
_NAME = re.compile(r"([\w.-]+)/([\w.-]+)")


@dataclass(frozen=True)
class OpusCorpus:
    """What OPUS says of a corpus in two languages."""

    name: str  # CORPUS/VERSION
    n_pairs: int
    size: int  # bytes of the download


def fetch(library: Library, name: str, languages: tuple[str, str]) -> SourceSpec:
    """The files of a corpus.

    Raises:
        ConfigError: a name without a version: the latest one would be another text some day.
        CorpusError: it cannot be fetched.
    """
    if not (found := _NAME.fullmatch(name)):
        raise ConfigError(
            f"opus:{name} is not of the form opus:CORPUS/VERSION, such as opus:Tatoeba/v2023-04-12; "
            f"`python -m seq2seq corpus find --languages {' '.join(languages)}` lists the versions"
        )
    corpus, version = found.groups()
    pair = "-".join(sorted(languages))
    members = {language: (f"{corpus}.{pair}.{language}",) for language in sorted(languages)}
    archive = Download(_FILES.format(corpus=corpus, version=version, pair=pair))
    part = Members(archive, members)
    spec = fetch_part(library, Corpus(f"opus:{name}", {pair: part}, licence=licence(name)), pair, languages)
    assert isinstance(spec, SourceFiles)
    return spec


def licence(name: str) -> str:
    return f"see https://opus.nlpl.eu/{name.partition('/')[0]}"


def corpora_for(library: Library, languages: tuple[str, str]) -> Iterator[OpusCorpus]:
    """What OPUS has for two languages, as it says now.

    Raises:
        CorpusError: it does not answer, or in another form.
    """
    src, tgt = sorted(languages)
    url = _API.format(src=src, tgt=tgt)
    try:
        for each in json.loads(library.text(url))["corpora"]:
            n_pairs = int(each.get("alignment_pairs") or 0)
            yield OpusCorpus(f"{each['corpus']}/{each['version']}", n_pairs, int(each.get("size") or 0) * 1000)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{url}: OPUS answers in another form than expected ({error!r})") from error
