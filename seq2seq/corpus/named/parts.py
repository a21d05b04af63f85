"""`corpus:NAME/PART`: files made of downloads, by the recipe of the catalogue."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.config import CORPUS, SourceFiles, SourcePath, SourceSpec
from seq2seq.corpus.named import test_sets
from seq2seq.corpus.named.catalogue import Corpus, Download, Files, Members, SplitTable, TestSetName, nearest
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.unpack import unpack
from seq2seq.corpus.sources import without_compression
from seq2seq.corpus.split import split_corpus
from seq2seq.corpus.split_options import SplitOptions
from seq2seq.errors import ConfigError, CorpusError


def find_part(library: Library, name: str) -> tuple[Corpus, str]:
    """A corpus and one of its parts, from `NAME/PART`.

    Raises:
        ConfigError: there is no such corpus or part.
    """
    corpus_name, _, part = name.partition("/")
    corpus = library.catalogue.corpus(corpus_name)
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
    name = f"{CORPUS}{corpus.name}/{part}"
    how = corpus.parts[part]
    if isinstance(how, TestSetName):
        return test_sets.fetch(library, how.name, languages, corpus.name)
    if missing := [language for language in languages if language not in how.languages]:
        raise CorpusError(
            f"{name} has {', '.join(how.languages)} and not {' and '.join(missing)}; correct data.src_lang and "
            "data.tgt_lang"
        )
    match how:
        case Files():
            src, tgt = (library.download(how.downloads[language], corpus.name) for language in languages)
            return SourceFiles(str(src), str(tgt))
        case Members():
            return _from_archive(library, corpus, part, how, languages)
        case SplitTable():
            return SourcePath(str(_split(library, corpus, how) / part))


def _from_archive(library: Library, corpus: Corpus, part: str, how: Members, languages: tuple[str, str]) -> SourceFiles:
    members = [how.members[language] for language in languages]
    files = [_file_name(part, language, names) for language, names in zip(languages, members, strict=True)]
    pairs = sorted(zip(files, members, strict=True))  # the same folder for both directions

    def make(folder: Path) -> None:
        archive = library.download(how.archive, corpus.name)
        unpack(archive, [names for _, names in pairs], [folder / file for file, _ in pairs])

    recipe = {"archive": _identity(how.archive), "members": [[file, *names] for file, names in pairs]}
    folder = library.made(corpus.name, recipe, corpus.licence, make)
    src, tgt = (str(folder / file) for file in files)
    return SourceFiles(src, tgt)


def _file_name(part: str, language: str, members: Sequence[str]) -> str:
    """A flat name; a compressed member stays compressed."""
    suffix = Path(members[0]).suffix if without_compression(Path(members[0])) != Path(members[0]) else ""
    return f"{part.replace('/', '_')}.{language}{suffix}"


def _split(library: Library, corpus: Corpus, how: SplitTable) -> Path:
    """The folder of all parts of a table."""

    def make(folder: Path) -> None:
        table = library.download(how.table, corpus.name)
        if how.member:
            text = folder / "table"
            unpack(table, [[how.member]], [text])
        else:
            text = table
        named = folder / f"{corpus.name}.tsv"  # `split` knows the form by the ending
        named.symlink_to(text)
        numbers = {key if key in ("max_group", "seed") else f"n_{key}": number for key, number in how.numbers.items()}
        options = SplitOptions(files=(named,), languages=how.columns, output=folder / "split", **numbers)
        split_corpus(options)
        for file in (folder / "split").iterdir():
            file.rename(folder / file.name)
        (folder / "split").rmdir()
        report = folder / "split.txt"
        report.write_text(report.read_text(encoding="utf-8").replace(str(named), how.table.shown), encoding="utf-8")
        named.unlink()
        if how.member:
            text.unlink()

    recipe = {"table": _identity(how.table), "member": how.member, "columns": list(how.columns), "split": how.numbers}
    return library.made(corpus.name, recipe, corpus.licence, make)


def _identity(download: Download) -> dict[str, str]:
    """What decides the bytes of a download, as far as it is known."""
    return {"url": download.url, "sha256": download.sha256}
