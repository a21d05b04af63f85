"""The section `data`: which text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from seq2seq.config.augment import AugmentConfig
from seq2seq.config.checks import at_least, names_a_file, names_a_language, not_too_many, one_of
from seq2seq.config.clean import CleanConfig
from seq2seq.config.on_resume import runtime, start
from seq2seq.config.sources import SourceSpec, parse_sources, parse_tests
from seq2seq.errors import ConfigError

BUNDLED = "bundled:"  # begins a `data.dir` that names a corpus of the project
# As the user wrote them, which is what is stored with a model. Any: OmegaConf has no union of string and mapping.
WrittenSources = Any


@dataclass(kw_only=True)
class DataConfig:
    """Which parallel text, in which direction.

    `config/sources.py` has the forms of a source. Each test set has its own scores. Files `test.en.1`, `test.en.2`, ...
    beside the targets `test.en` are further references of the same lines; so are those beside the targets of valid.
    """

    name: str = runtime("sample")  # in logs and titles
    dir: str = runtime("", is_local=True)  # where sources start; or `bundled:NAME`, `corpus:NAME`; empty: here
    src_lang: str = "fr"  # language to translate from; also the ending of its files
    tgt_lang: str = "en"  # language to translate into; also the ending of its files
    train: WrittenSources = "train"  # training text: a source or a list of sources
    valid: WrittenSources = "valid"  # validation text: a source or a list of sources
    test: WrittenSources = start("test")  # test sets: a source, a list of sources, or {NAME: SOURCE}
    robustness: bool = runtime(False)  # also test with every augmentation of docs/robustness.md, by BLEU and chrF
    tsv_columns: list[str] = field(default_factory=lambda: ["fr", "en"])  # languages; `-` skips a column
    max_sentence_tokens: int = 256  # leave out training pairs with a longer side; in subword tokens
    max_length_ratio: float = 0.0  # leave out training pairs if long side > ratio x short side, in tokens; 0: off
    drop_duplicates: bool = False  # leave out repeated pairs of the training text
    drop_overlap: str = "off"  # leave out training pairs that valid or test have: off, exact, or near
    clean: CleanConfig = field(default_factory=CleanConfig)  # rules that leave bad training pairs out
    temperature: float = 1.0  # mixes training sources: each has a share in proportion to pairs ** (1 / temperature)
    tag_dropout: float = 0.1  # share of tagged training pairs that are read without their tag; others in each epoch
    augment: AugmentConfig = field(default_factory=AugmentConfig)  # training text with augmentation
    n_workers: int = runtime(0)  # processes that make large text token ids; 0: one for each core
    executor: str = runtime("", is_local=True)  # who does so instead: dask://HOST:PORT, the workers of a Dask cluster
    cache_dir: str = runtime("", is_local=True)  # fetched and prepared text; empty: $SEQ2SEQ_CACHE or ~/.cache/seq2seq
    shared_cache: str = runtime("", is_local=True)  # another, for fetched text, only read; empty: $SEQ2SEQ_SHARED_CACHE
    catalogue: str = runtime("", is_local=True)  # YAML with corpora and mirrors of your own; empty: $SEQ2SEQ_CATALOGUE
    offline: bool = runtime(False)  # fetch nothing: what is not there is an error; also by SEQ2SEQ_OFFLINE=1

    def __post_init__(self) -> None:
        if self.drop_overlap == "False":  # what YAML reads from `off`
            self.drop_overlap = "off"

    @property
    def train_sources(self) -> list[SourceSpec]:
        return parse_sources("data.train", self.train)

    @property
    def weights(self) -> list[float]:
        """Of each training source."""
        return [source.weight for source in self.train_sources]

    @property
    def valid_sources(self) -> list[SourceSpec]:
        return parse_sources("data.valid", self.valid)

    @property
    def tests(self) -> dict[str, list[SourceSpec]]:
        """The sources of each test set, by its name."""
        return dict(parse_tests(self.test))

    @property
    def tags(self) -> list[str]:
        """The tags of the training text, each once, in alphabetical order."""
        return sorted(_tags(self.train_sources))

    def problems(self) -> Iterator[str]:
        yield from at_least("data", self, max_sentence_tokens=1, max_length_ratio=0.0, temperature=1.0, n_workers=0)
        yield from not_too_many("data", self, "n_workers")
        if self.src_lang == self.tgt_lang:
            yield f"data.src_lang and data.tgt_lang are both {self.src_lang!r}; name two languages"
        for key in ("src_lang", "tgt_lang"):
            yield from names_a_language(f"data.{key}", getattr(self, key))
        if self.executor and not re.fullmatch(r"dask://\S+:\d+", self.executor):
            yield f"data.executor={self.executor} is not dask://HOST:PORT; leave it empty for processes of this machine"
        if self.max_length_ratio and self.max_length_ratio < 1:
            yield f"data.max_length_ratio={self.max_length_ratio} is below 1 and would drop every pair; use 0 or > 1"
        if not 0 <= self.tag_dropout < 1:
            yield f"data.tag_dropout={self.tag_dropout} is not a probability below 1"
        yield from one_of("data", self, drop_overlap=("off", "exact", "near"))
        yield from self.clean.problems()
        yield from self.augment.problems()
        malformed = list(self._malformed_sources())
        yield from malformed or self._source_problems()

    def _malformed_sources(self) -> Iterator[str]:
        for split in ("train_sources", "valid_sources", "tests"):
            try:
                getattr(self, split)
            except ConfigError as error:
                yield str(error)

    def _source_problems(self) -> Iterator[str]:
        if not any(self.weights):
            yield "data.train: every source has weight 0, so an epoch has no pairs; give one a weight > 0"
        if len(self.tests) < len(parse_tests(self.test)):
            yield f"data.test={self.test} names two test sets alike; write {{NAME: SOURCE, OTHER: SOURCE}}"
        for name in self.tests:
            yield from names_a_file("data.test", name)
            yield from self._clashes(name)
        for name in self.tags:
            if not re.fullmatch(r"[a-z0-9_-]+", name):
                yield f"data.train: the tag {name!r} is not made of a-z, 0-9, _ and - alone; rename it"

    def problems_of_training(self) -> Iterator[str]:
        """What is wrong unless the run takes its tags from another model."""
        test_sources = [source for sources in self.tests.values() for source in sources]
        for split, sources in (("valid", self.valid_sources), ("test", test_sources)):
            if unknown := sorted(_tags(sources) - set(self.tags)):
                yield (
                    f"data.{split} has the tag {unknown[0]!r}, and data.train has {', '.join(self.tags) or 'no tags'}; "
                    "a model knows the tags of its training text only"
                )

    def _clashes(self, name: str) -> Iterator[str]:
        """Report the test sets whose files would have the names of those of this one."""
        files = f"{name}.{self.tgt_lang}".casefold()  # translations; references end in .1, .2 and so on, too
        for other in self.tests:
            # On the disks of macOS and Windows, News and news are one file.
            is_same = other < name and other.casefold() == name.casefold()
            if is_same or other.casefold().startswith((f"{files}/", f"{files}.")):
                yield f"data.test: the files of {other!r} and of {name!r} would have the same names; rename one of them"


def _tags(sources: Iterable[SourceSpec]) -> set[str]:
    return {source.tag for source in sources if source.tag is not None}
