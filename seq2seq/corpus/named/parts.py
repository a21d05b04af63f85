"""`corpus:NAME/PART`: files made of downloads, by the recipe of the catalogue."""

import os
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from seq2seq.config import CORPUS, SourceFiles, SourcePath, SourceSpec
from seq2seq.corpus.named import test_sets
from seq2seq.corpus.named.catalogue import Corpus, Download, Table, Text, nearest
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.unpack import unpack
from seq2seq.corpus.sources import Source, compression_of
from seq2seq.corpus.split import split_corpus
from seq2seq.corpus.split_options import SplitOptions
from seq2seq.errors import ConfigError, CorpusError


def find_part(library: Library, name: str) -> tuple[Corpus, str]:
    """A corpus and one of its parts, from `NAME/PART`.

    Raises:
        ConfigError: there is no such corpus or part.
    """
    corpus_name, _, part = name.partition("/")
    corpus = library.corpus(corpus_name)
    if part not in corpus.parts:
        raise ConfigError(
            f"{CORPUS}{name}: {corpus_name} has no part {part!r}{nearest(part, corpus.parts)}; "
            f"its parts are {', '.join(corpus.parts)}"
        )
    return corpus, part


def fetch_part(library: Library, corpus: Corpus, part: str, languages: tuple[str, str]) -> SourceSpec:
    """The files of a part, by their absolute paths.

    Args:
        languages: of the source and of the target.
    Raises:
        CorpusError: it has no text in these languages, it cannot be fetched, or what was fetched is not usable.
    """
    how = corpus.parts[part]
    if isinstance(how, str):
        return test_sets.fetch(library, how, languages, corpus.name)
    known = corpus.languages(part)
    if missing := [language for language in languages if language not in known]:
        raise CorpusError(
            f"{CORPUS}{corpus.name}/{part} has {', '.join(known)} and not {' and '.join(missing)}; correct "
            "data.src_lang and data.tgt_lang"
        )
    if isinstance(how, Table):
        return SourcePath(str(_split(library, corpus, how) / part))
    texts = {language: how[language] for language in languages}
    if any(text.members for text in texts.values()):
        return _from_archive(library, corpus, part, texts)
    src, tgt = (str(library.download(text.download, corpus.name)) for text in texts.values())
    return SourceFiles(src, tgt)


def _from_archive(library: Library, corpus: Corpus, part: str, texts: Mapping[str, Text]) -> SourceFiles:
    files = {_file_name(part, language, text.members): text.members for language, text in texts.items()}
    (archive,) = {text.download for text in texts.values()}

    def make(folder: Path) -> None:
        raw = folder / "raw"
        unpack(library.download(archive, corpus.name), raw, set(chain.from_iterable(files.values())))
        for file, members in files.items():
            with (folder / file).open("wb") as joined:
                for member in members:
                    with (raw / member).open("rb") as text:
                        shutil.copyfileobj(text, joined)
                        if not compression_of(raw / member) and text.tell():
                            text.seek(-1, os.SEEK_END)
                            joined.write(b"" if text.read() == b"\n" else b"\n")  # or two lines would be one
        shutil.rmtree(raw)

    # Sorted: the same folder for both directions.
    recipe = {"archive": _identity(archive), "members": sorted([file, *members] for file, members in files.items())}
    folder = library.made(corpus.name, recipe, corpus.licence, make)
    src, tgt = (str(folder / file) for file in files)
    return SourceFiles(src, tgt)


def _file_name(part: str, language: str, members: Sequence[str]) -> str:
    """A flat name; a compressed member stays compressed."""
    return f"{part.replace('/', '_')}.{language}{compression_of(Path(members[0]))}"


def _split(library: Library, corpus: Corpus, table: Table) -> Path:
    """The folder of all parts of a table."""

    def make(folder: Path) -> None:
        text, raw = library.download(table, corpus.name), folder / "raw"
        if table.member:
            unpack(text, raw, [table.member])
            text = raw / table.member
        numbers = {key if key in ("max_group", "seed") else f"n_{key}": number for key, number in table.split.items()}
        src_lang, tgt_lang = table.languages
        source = Source("tsv", (text,), table.languages, table.columns)
        split_corpus([source], (src_lang, tgt_lang), SplitOptions(output=folder / "split", **numbers))
        for file in (folder / "split").iterdir():
            file.rename(folder / file.name)
        (folder / "split").rmdir()
        report = folder / "split.txt"
        report.write_text(report.read_text(encoding="utf-8").replace(str(text), table.shown), encoding="utf-8")
        shutil.rmtree(raw, ignore_errors=True)

    recipe = {"table": _identity(table), "member": table.member, "columns": list(table.columns), "split": table.split}
    return library.made(corpus.name, recipe, corpus.licence, make)


def _identity(download: Download) -> dict[str, str]:
    """What decides the bytes of a download, as far as it is known."""
    return {"url": download.url, "sha256": download.sha256}
