"""The section `data`: which text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seq2seq.config.checks import at_least

# Any: OmegaConf has no union of string and mapping; seq2seq/corpus/sources.py checks the forms.
Source = Any


@dataclass(kw_only=True)
class DataConfig:
    """Which parallel text, in which direction.

    A source is a prefix (`corpus/train` means `corpus/train.fr` and `corpus/train.en`, compressed or not), a
    `.tsv` or `.jsonl` file, or `{src: FILE, tgt: FILE}`; `{source: SOURCE, tag: NAME}` is one of these with a tag that
    says what kind of text it is. `train` and `valid` are a source or a list of sources, `test` is a source, a list of
    them, or a mapping from names to sources: each is a test set with its own scores. Files `test.en.1`, `test.en.2`,
    ... beside the targets `test.en` (or `valid.en`) are further references.
    """

    name: str = "sample"  # in logs and titles
    dir: str = ""  # relative sources start here; empty: the working directory; `bundled:NAME`: data/NAME
    src_lang: str = "fr"  # also the ending of its files
    tgt_lang: str = "en"  # also the ending of its files, and whose tokens bleu_legacy_tok counts
    train: Source = "train"  # a source or a list of sources
    valid: Source = "valid"  # a source or a list of sources
    test: Source = "test"  # one source, several, or {NAME: SOURCE}
    tsv_columns: list[str] = field(default_factory=lambda: ["fr", "en"])  # languages of a TSV's columns
    max_sentence_tokens: int = 256  # training pairs with a longer side, in subword tokens, are left out and counted
    max_length_ratio: float = 0.0  # longer side over shorter side, in tokens; 0: no limit
    drop_duplicates: bool = False  # leave out repeated (source, target) pairs of the training text
    temperature: float = 1.0  # of several training sources: shares in proportion to pairs ** (1 / temperature)
    tag_dropout: float = 0.1  # share of tagged training pairs that are read without their tag, others in each epoch
    cache_dir: str = ""  # prepared corpora and tokenizers; empty: $SEQ2SEQ_CACHE or ~/.cache/seq2seq

    @property
    def tests(self) -> dict[str, Source]:
        """The test sets by name; one without a name is called as its file is."""
        if isinstance(self.test, dict) and not set(self.test) & {"src", "tgt"} and set(self.test) != {"source", "tag"}:
            return self.test
        return {_stem(source): source for source in self._unnamed_tests}

    @property
    def tags(self) -> list[str]:
        """Those of the training text, each once, in alphabetical order."""
        return sorted(_tags(self.train))

    @property
    def _unnamed_tests(self) -> list[Source]:
        sources = self.test if isinstance(self.test, list) else [self.test]
        return [source for source in sources if source]  # data.test=null: no test set

    def problems(self) -> Iterator[str]:
        yield from at_least("data", self, max_sentence_tokens=1, max_length_ratio=0.0, temperature=1.0)
        if self.src_lang == self.tgt_lang:
            yield f"data.src_lang and data.tgt_lang are both {self.src_lang!r}; name two languages"
        if self.max_length_ratio and self.max_length_ratio < 1:
            yield f"data.max_length_ratio={self.max_length_ratio} is below 1 and would drop every pair; use 0 or > 1"
        if len(self.tests) < len(self._unnamed_tests):
            yield f"data.test={self.test} names two test sets alike; write {{NAME: SOURCE, OTHER: SOURCE}}"
        if not 0 <= self.tag_dropout < 1:
            yield f"data.tag_dropout={self.tag_dropout} is not a probability below 1"
        yield from self._tag_problems()

    def _tag_problems(self) -> Iterator[str]:
        for name in self.tags:
            if not re.fullmatch(r"[a-z0-9_-]+", name):
                yield f"data.train: the tag {name!r} is not made of a-z, 0-9, _ and - alone; rename it"
        for split, value in (("valid", self.valid), ("test", list(self.tests.values()))):
            if unknown := sorted(_tags(value) - set(self.tags)):
                yield (
                    f"data.{split} has the tag {unknown[0]!r}, and data.train has {', '.join(self.tags) or 'no tags'}; "
                    "a model knows the tags of its training text only"
                )


def _stem(source: Source) -> str:
    """What to call a test set after its file: `corpus/news.fr.gz` is `news`."""
    if isinstance(source, dict) and "tag" in source:
        return _stem(source["source"])
    path = source.get("src", "test") if isinstance(source, dict) else source
    return Path(str(path)).name.split(".")[0]


def _tags(sources: Source) -> set[str]:
    """The tags of a source, or of all sources of a list."""
    if isinstance(sources, list):
        return {tag for source in sources for tag in _tags(source)}
    return {str(sources["tag"])} if isinstance(sources, dict) and "tag" in sources else set()
