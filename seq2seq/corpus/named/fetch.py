"""From the sources that a configuration names to files that exist: paths are found, names are fetched."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from seq2seq.config import CORPUS, DataConfig, SourceFiles, SourcePath, SourceSpec, is_named
from seq2seq.corpus.named import addresses, hugging_face, opus, test_sets
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.parts import fetch_part, find_part
from seq2seq.corpus.sources import Origin, Source, find_source
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.files import expanded
from seq2seq.masking import masked

logger = logging.getLogger(__name__)

_LOCAL = "data"  # text in data/NAME here comes before a download


@dataclass(frozen=True)
class Fetched:
    """A source with paths of files, and where its text is from."""

    spec: SourceSpec
    origin: Origin


def fetch_sources(
    config: DataConfig, specs: Sequence[SourceSpec], *, with_references: bool = False, is_offline: bool = False
) -> list[Source]:
    """Find the files of each source that a configuration names. What has a name instead of a path is fetched.

    Args:
        with_references: see `find_source`.
        is_offline: fetch nothing.
    Raises:
        CorpusError: files that do not exist, or text that cannot be fetched. One message names all of them.
        ConfigError: a name that cannot be, a catalogue that cannot be read, or what `find_source` raises.
    """
    library: Library | None = None
    sources: list[Source] = []
    problems: list[str] = []
    for spec in specs:
        names = _names(config, spec)
        try:
            if not names:
                sources.append(find_source(config, spec, with_references=with_references))
                continue
            library = library or Library.of(config, is_offline=is_offline)
            fetched = _fetched(config, library, spec, names)
            source = find_source(config, fetched.spec, with_references=with_references)
            sources.append(replace(source, origin=fetched.origin))
        except CorpusError as error:
            problems.append(str(error))
    if problems:
        raise CorpusError("\n".join(problems))
    return sources


def fetch(library: Library, name: str, languages: tuple[str, str]) -> Fetched:
    """The files of one name.

    Raises:
        ConfigError, CorpusError: see `fetch_sources`.
    """
    scheme, _, rest = name.partition(":")
    match scheme:
        case "corpus":
            corpus, part = find_part(library, rest)
            return Fetched(fetch_part(library, corpus, part, languages), Origin(name, corpus.licence))
        case "sacrebleu":
            return Fetched(test_sets.fetch(library, rest, languages), Origin(name, test_sets.LICENCE))
        case "opus":
            return Fetched(opus.fetch(library, rest, languages), Origin(name, opus.licence(rest)))
        case "hf":
            return Fetched(hugging_face.fetch(library, rest, languages), Origin(name, hugging_face.licence(rest)))
    return Fetched(addresses.fetch(library, name, languages), Origin(masked(name), ""))


def fetch_all(library: Library, names: Sequence[str], languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Fetch each of some names; that of a whole corpus means all its parts that have these languages.

    Yields:
        The name of each text, and its files.
    Raises:
        ConfigError: a wrong name, before anything is fetched, or a wrong language.
        CorpusError: what could not be fetched, after all else has been.
    """
    problems: list[str] = []
    for each in [each for name in names for each in _texts(library, name, languages)]:
        try:
            spec = fetch(library, each, languages).spec
        except CorpusError as error:
            problems.append(str(error))
        else:
            yield masked(each), f"{spec.src} {spec.tgt}" if isinstance(spec, SourceFiles) else spec.path
    if problems:
        raise CorpusError("\n".join(problems))


def _texts(library: Library, name: str, languages: tuple[str, str]) -> list[str]:
    """The name itself, or those of all parts of a corpus."""
    name = name if is_named(name) else CORPUS + name
    rest = name.removeprefix(CORPUS)
    if not name.startswith(CORPUS):
        return [name]
    if "/" in rest:
        find_part(library, rest)
        return [name]
    found = [f"{name}/{part}" for part in library.corpus(rest).parts_in(languages)]
    if not found:
        raise ConfigError(f"{name} has no text in {' and '.join(languages)}; `corpus find` lists what has")
    return found


def _names(config: DataConfig, spec: SourceSpec) -> list[str]:
    """The names and addresses of a source; none if it has paths only. Below `corpus:` a relative path is a name."""
    written = [spec.src, spec.tgt] if isinstance(spec, SourceFiles) else [spec.path]
    is_path = not any(is_named(name) or expanded(name).is_absolute() for name in written)
    if config.dir.startswith(CORPUS) and is_path:
        if isinstance(spec, SourceFiles):
            raise ConfigError(
                f"data.dir={config.dir}: {{src: {spec.src}, tgt: {spec.tgt}}} is no part of it; name a part"
            )
        return [f"{config.dir.rstrip('/')}/{spec.path}".replace(f"{CORPUS}/", CORPUS)]
    return written if any(map(is_named, written)) else []


def _fetched(config: DataConfig, library: Library, spec: SourceSpec, names: list[str]) -> Fetched:
    languages = (config.src_lang, config.tgt_lang)
    if isinstance(spec, SourceFiles):
        return _two_files(library, spec)
    (name,) = names
    fetched = _local(config, library, name) or fetch(library, name, languages)
    said = {each.name: getattr(spec, each.name) for each in fields(spec) if each.name != "path"}  # such as its tag
    return replace(fetched, spec=replace(fetched.spec, **said))


def _two_files(library: Library, spec: SourceFiles) -> Fetched:
    """Two files, of which one or both have an address."""
    for name in (spec.src, spec.tgt):
        if is_named(name) and not name.startswith(("https://", "http://")):
            raise ConfigError(f"{name} is both sides of a text; write it alone, and not as src or tgt")
    src, tgt = (addresses.fetch_file(library, name) if is_named(name) else name for name in (spec.src, spec.tgt))
    return Fetched(replace(spec, src=src, tgt=tgt), Origin(f"{masked(spec.src)} and {masked(spec.tgt)}", ""))


def _local(config: DataConfig, library: Library, name: str) -> Fetched | None:
    """Files of the same names that somebody has put under data/NAME, as data/NAME/README.md says."""
    if not name.startswith(CORPUS):
        return None
    path = (Path(_LOCAL) / name.removeprefix(CORPUS)).absolute()
    try:
        find_source(replace(config, dir=""), SourcePath(str(path)))
    except CorpusError:
        return None
    logger.info("%s: read from %s", name, path)
    corpus = library.corpora.get(name.removeprefix(CORPUS).partition("/")[0])
    return Fetched(SourcePath(str(path)), Origin(name, corpus.licence if corpus is not None else ""))
