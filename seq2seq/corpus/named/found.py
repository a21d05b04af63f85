"""What there is: corpora to fetch, and those in the cache."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seq2seq.config import CORPUS
from seq2seq.corpus.named import mtdata, opus, test_sets
from seq2seq.corpus.named.catalogue import Members, SplitTable, nearest
from seq2seq.corpus.named.library import Kept, Library
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.files import readable_size
from seq2seq.masking import masked


@dataclass(frozen=True)
class Found:
    """A corpus that can be fetched. `size` in words; empty: not known."""

    name: str
    size: str
    about: str

    def __str__(self) -> str:
        return f"{self.name}  {self.size}  {self.about}"


def find_corpora(library: Library, languages: tuple[str, str]) -> tuple[list[Found], list[str]]:
    """All corpora of two languages, and what could not be asked."""
    problems: list[str] = []
    found = [*_of_catalogue(library, languages)]
    found += [Found(f"sacrebleu:{name}", "", about) for name, about in test_sets.names_for(languages).items()]
    try:
        for each in opus.corpora_for(library, languages):
            found.append(Found(f"opus:{each.name}", readable_size(each.size), f"{each.n_pairs:,} pairs"))
    except CorpusError as error:
        problems.append(f"OPUS is not listed: {error}")
    ids = mtdata.ids_for(languages)
    found += [Found(f"mtdata:{name}", "", url) for name, url in ids]
    if not ids:
        problems.append(f"mtdata is not listed: it has nothing, or is not installed ({mtdata.INSTALL})")
    return found, problems


def _of_catalogue(library: Library, languages: tuple[str, str]) -> Iterator[Found]:
    for corpus in library.catalogue.corpora.values():
        if not corpus.languages or set(languages) <= set(corpus.languages):
            size = sum(download.size for download in corpus.downloads)
            licence = f"; licence: {corpus.licence}" if corpus.licence else ""
            yield Found(CORPUS + corpus.name, readable_size(size) if size else "", corpus.about + licence)


def table(found: Sequence[Found]) -> list[str]:
    """One line each, in columns."""
    widths = [max((len(getattr(each, key)) for each in found), default=0) for key in ("name", "size")]
    return [f"{each.name:{widths[0]}}  {each.size:>{widths[1]}}  {each.about}".rstrip() for each in found]


def cached(library: Library) -> list[str]:
    """A line for each corpus in the cache: what it takes, and its licence; then the sum."""
    kept = library.kept()
    lines = []
    for name in sorted({each.corpus for each in kept}):
        own = [each for each in kept if each.corpus == name]
        downloads = sum(each.size for each in own if not each.is_made)
        made = sum(each.size for each in own if each.is_made)
        parts = f"downloads {readable_size(downloads)}, unpacked {readable_size(made)}"
        terms = licence(library, name, own) or "not known"
        lines.append(f"{name}  {readable_size(downloads + made):>9}  {parts}; licence: {terms}")
    for each in library.cut():
        lines.append(f"{each.corpus}  {readable_size(each.size):>9}  of a download that was cut; `corpus get` goes on")
    lines.append(f"{readable_size(sum(each.size for each in kept))} in {library.root}")
    return lines


def licence(library: Library, name: str, kept: Sequence[Kept] = ()) -> str:
    """The terms of a corpus: as the catalogue has them now, else as they were noted."""
    if (corpus := library.catalogue.corpora.get(name)) is not None:
        return corpus.licence
    return next((str(each.facts["licence"]) for each in kept if each.facts.get("licence")), "")


def remove(library: Library, name: str, *, only_archives: bool) -> str:
    """Remove a corpus from the cache, and say how much that was.

    Args:
        only_archives: leave what was made of them, and downloads that are used as they are.
    Raises:
        ConfigError: it is not there.
    """
    name = masked(name.removeprefix(CORPUS))
    kept = [*library.kept(), *library.cut()]
    doomed = [each for each in kept if each.corpus == name]
    if not doomed:
        there = {each.corpus for each in kept}
        raise ConfigError(
            f"{name}: not in {library.root}{nearest(name, there)}; there are {', '.join(sorted(there)) or 'no corpora'}"
        )
    if only_archives:
        has_made = any(each.is_made for each in doomed)
        archives = _archives(library, name)
        doomed = [each for each in doomed if has_made and not each.is_made and each.facts.get("url") in archives]
    for each in doomed:
        library.remove(each)
    return f"{name}: removed {readable_size(sum(each.size for each in doomed))}"


def _archives(library: Library, name: str) -> set[str]:
    corpus = library.catalogue.corpora.get(name)
    parts = corpus.parts.values() if corpus is not None else ()
    urls = {part.archive.shown for part in parts if isinstance(part, Members)}
    return urls | {part.table.shown for part in parts if isinstance(part, SplitTable)}
