"""What there is: corpora to fetch, and those in the cache."""

from collections.abc import Iterator, Sequence

from seq2seq.config import CORPUS
from seq2seq.corpus.named import opus, test_sets
from seq2seq.corpus.named.library import Library, Note
from seq2seq.errors import CorpusError, printable
from seq2seq.files import readable_size


def find_corpora(library: Library, languages: tuple[str, str], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """A line for each corpus of two languages whose line has all of these words; and what could not be asked."""
    problems: list[str] = []
    rows = [*_of_catalogue(library, languages)]
    rows += [(f"sacrebleu:{name}", "", about) for name, about in test_sets.names_for(languages).items()]
    try:
        rows += [
            (
                f"opus:{each.corpus}/{each.version}",
                readable_size(1000 * (each.size or 0)),
                f"{each.alignment_pairs or 0:,} pairs",
            )
            for each in opus.corpora_for(library, languages)
        ]
    except CorpusError as error:
        problems.append(f"OPUS is not listed: {error}")
    rows = [row for row in rows if all(word.lower() in "  ".join(row).lower() for word in words)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [f"{name:{widths[0]}}  {size:>{widths[1]}}  {about}".rstrip() for name, size, about in rows]
    return [printable(line) for line in lines], problems


def _of_catalogue(library: Library, languages: tuple[str, str]) -> Iterator[tuple[str, str, str]]:
    for corpus in library.corpora.values():
        if corpus.parts_in(languages):
            size = sum(download.size for download in corpus.downloads)
            licence = f"; licence: {corpus.licence}" if corpus.licence else ""
            yield CORPUS + corpus.name, readable_size(size) if size else "", corpus.about + licence


def cached(library: Library) -> list[str]:
    """A line for each corpus in the cache: what it takes, and its licence; then the sum."""
    kept = library.kept()
    lines = []
    for name in sorted({each.corpus for each in kept}):
        own = [each for each in kept if each.corpus == name]
        whole, made = _size(own), _size([each for each in own if each.files])
        parts = f"downloads {readable_size(whole - made)}, unpacked {readable_size(made)}"
        # As the catalogue has it now, else as it was noted.
        noted = [library.corpora[name].licence] if name in library.corpora else [each.licence for each in own]
        lines.append(f"{name}  {readable_size(whole):>9}  {parts}; licence: {next(filter(None, noted), 'not known')}")
    lines.append(f"{readable_size(_size(kept))} in {library.root}")
    return [printable(line) for line in lines]


def _size(kept: Sequence[Note]) -> int:
    return sum(size for each in kept for size, _ in each.contents.values())
