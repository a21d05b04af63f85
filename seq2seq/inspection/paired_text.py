"""The text that heads are looked at on: two files, or a test set of the run.

What the configuration of a model names is read where it is kept, and never fetched: it may be a stranger's model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import mean

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.characters import split_words
from seq2seq.config import DataConfig
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_aligned, read_pairs, read_references, spread_pairs
from seq2seq.corpus.test_sets import all_test_sets
from seq2seq.errors import CorpusError, RunError
from seq2seq.training.validation import spread

# For a reference aligner: more text makes it better, and needs more memory. Of so many pairs of words, 1 GB.
_MOST_CELLS = 8_000_000


@dataclass(frozen=True)
class PairedText:
    """Sources with all references of each.

    Attributes:
        name: of the test set, or of the files.
        tag: the kind of text of all its sources; empty for none.
    """

    name: str
    sources: list[str]
    references: list[list[str]]
    tag: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each source with its first reference."""
        return [(src, references[0]) for src, references in zip(self.sources, self.references, strict=True)]

    def places(self, n: int) -> list[int]:
        """`n` sentences at equal distances; 0: all."""
        return spread(len(self.sources), n)

    def at(self, places: Sequence[int]) -> "PairedText":
        """The sentences at these places, in their order."""
        return replace(self, sources=[self.sources[i] for i in places], references=[self.references[i] for i in places])


def of_files(src: Path, tgt: Path) -> PairedText:
    """Line n of one file with line n of the other.

    Raises:
        CorpusError: they cannot be read, differ in length, or are empty.
    """
    rows = list(read_aligned((src, tgt)))
    if not rows:
        raise CorpusError(f"{src} and {tgt} are empty; give files with a sentence a line")
    return PairedText(f"{src.name}, {tgt.name}", [src for src, _ in rows], [[tgt] for _, tgt in rows])


def of_test_set(model: TrainedModel, run: RunDirectory, test: str) -> PairedText:
    """A test set of the run: what the run kept of it, else from the corpus.

    Args:
        test: its name; empty for the first one.
    Raises:
        RunError: the run has no such test set.
        CorpusError: the run did not keep its sources, and the corpus is not there.
    """
    sets = all_test_sets(model.config.data)
    test = test or next(iter(sets), "")
    if test not in sets:
        raise RunError(
            f"{run.path} has no test set {test!r}; choose from {', '.join(sets) or '(none)'}, or give --src and --tgt"
        )
    tags = {source.tag or "" for source in sets[test].sources}
    tag = tags.pop() if len(tags) == 1 else ""
    if (run.path / "config.yaml").is_file() and test in run.tests() and (kept := run.sources(test)):
        return PairedText(test, kept, [list(references) for references in run.references(test)], tag)
    try:
        files = fetch_sources(model.config.data, sets[test].sources, with_references=True, is_offline=True)
    except CorpusError as error:
        raise CorpusError(
            f"{error}\nThe run kept no sources of {test}, so give two files: --src FILE --tgt FILE"
        ) from error
    pairs = list(chain.from_iterable(map(read_pairs, files)))
    further = chain.from_iterable(map(read_references, files))
    return PairedText(
        test, [src for src, _ in pairs], [[tgt, *more] for (_, tgt), more in zip(pairs, further, strict=True)], tag
    )


def training_pairs(config: DataConfig) -> list[tuple[str, str]]:
    """Pairs from all of the training text, about as many as a reference aligner has room for.

    Raises:
        CorpusError: the corpus is not there.
    """
    found: list[tuple[str, str]] = []
    sources = fetch_sources(config, config.train_sources, is_offline=True)
    for source in sources:
        of_a_pair = mean(map(n_word_pairs, spread_pairs(source, 1_000)))
        found += spread_pairs(source, max(1, int(_MOST_CELLS / len(sources) / of_a_pair)))
    return found


def n_word_pairs(pair: tuple[str, str]) -> int:
    """What a pair costs an aligner."""
    return (len(split_words(pair[0])) + 1) * (len(split_words(pair[1])) + 1)
