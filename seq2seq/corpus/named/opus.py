"""`opus:CORPUS/VERSION`: the Moses files of OPUS (opus.nlpl.eu), such as opus:Tatoeba/v2023-04-12."""

import re

import msgspec

from seq2seq.config import SourceSpec
from seq2seq.corpus.named.catalogue import Corpus, Download, Text
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.parts import fetch_part
from seq2seq.errors import ConfigError, CorpusError

FILES = "https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{pair}.txt.zip"
API = "https://opus.nlpl.eu/opusapi/?source={src}&target={tgt}&preprocessing=moses"
_NAME = re.compile(r"([\w.-]+)/([\w.-]+)")


class OpusCorpus(msgspec.Struct):
    """What OPUS says of a corpus in two languages."""

    corpus: str
    version: str
    alignment_pairs: int | None = None
    size: int | None = None  # of the download, in units of 1000 bytes


class _Reply(msgspec.Struct):
    corpora: list[OpusCorpus]


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
    archive = Download(FILES.format(corpus=corpus, version=version, pair=pair))
    part = {language: Text(archive, (f"{corpus}.{pair}.{language}",)) for language in languages}
    return fetch_part(library, Corpus(f"opus:{name}", {pair: part}, licence=licence(name)), pair, languages)


def licence(name: str) -> str:
    return f"see https://opus.nlpl.eu/{name.partition('/')[0]}"


def corpora_for(library: Library, languages: tuple[str, str]) -> list[OpusCorpus]:
    """What OPUS has for two languages, as it says now.

    Raises:
        CorpusError: it does not answer, or in another form.
    """
    src, tgt = sorted(languages)
    url = API.format(src=src, tgt=tgt)
    try:
        return msgspec.json.decode(library.reply(url), type=_Reply, strict=False).corpora
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{url}: OPUS answers in another form than expected ({error})") from error
