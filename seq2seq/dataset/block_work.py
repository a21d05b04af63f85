"""The blocks of a large split, which processes make together, on one machine or on several that share the cache.

    CACHE/stores/KEY.blocks/
        SOURCE-NUMBER.block     a block (seq2seq/dataset/encoding.py)
        SOURCE-NUMBER.lock      is locked while somebody makes that block

Nobody hands out work. Each process goes through the corpus from its beginning, and makes each block that is not there
and that nobody else is making. The system opens the lock of a process that is gone; another one makes its block. What
comes out does not depend on who made which block. Blocks stay until the store is there: after a kill, only what was not
done is done.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from seq2seq.corpus.blocks import BlockReader, Cut
from seq2seq.corpus.judge import Judge
from seq2seq.dataset.encoding import Block, Encoder, load_block
from seq2seq.dataset.store import id_type
from seq2seq.tokenizer import Tokenizer

# Pairs of a block: about a second of work for one core, and 60 MB while they are lists.
BLOCK = 25_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlockWork:
    """All that a process needs to know to make blocks.

    Attributes:
        directory: of the blocks.
        store: what becomes of them. When it is there, nobody needs blocks any more.
        cuts: the corpus sources, in blocks.
        tags: the tag of each source, or "".
        filters, keep_text: see `Encoder`.
    """

    directory: Path
    store: Path
    cuts: Sequence[Cut]
    tags: Sequence[str]
    tokenizer: Tokenizer
    filters: Judge | None
    keep_text: bool

    @property
    def n_blocks(self) -> int:
        return sum(cut.n_blocks for cut in self.cuts)

    @property
    def n_pairs(self) -> int:
        return sum(cut.n_pairs for cut in self.cuts)

    @property
    def n_done(self) -> int:
        """Blocks that are there; some of them may be damaged."""
        names = os.listdir(self.directory) if self.directory.is_dir() else []  # noqa: PTH208 (names are enough)
        return sum(name.endswith(".block") for name in names)

    def make_free_blocks(self, after_each: Callable[[], None] = lambda: None) -> None:
        """Make all blocks that are not there, except those that others are making.

        Raises:
            CorpusError: see `read_pairs`.
            TokenizerError: a tag that the tokenizer does not have.
            OSError: a block cannot be written.
        """
        for number, cut in enumerate(self.cuts):
            with BlockReader(cut) as reader:
                for k in range(cut.n_blocks):
                    if self.store.exists():
                        return
                    if self._file(number, k).exists():
                        continue
                    try:
                        with self._lock(number, k).acquire(timeout=0):
                            if not self._file(number, k).exists():
                                self._make(reader, number, k)
                    except Timeout:
                        continue
                    after_each()

    def blocks(self) -> list[Iterator[Block]]:
        """The blocks of each source, in order. What is missing or damaged is made, or another process makes it.

        Raises: see `make_free_blocks`.
        """
        return [self._blocks_of(number) for number in range(len(self.cuts))]

    def _blocks_of(self, number: int) -> Iterator[Block]:
        cut = self.cuts[number]
        with BlockReader(cut) as reader:
            for k in range(cut.n_blocks):
                yield self._whole(number, k) or self._made(reader, number, k)

    def _made(self, reader: BlockReader, number: int, k: int) -> Block:
        with self._lock(number, k):  # waits for whoever is making it
            if (block := self._whole(number, k)) is not None:
                return block
            if (file := self._file(number, k)).exists():
                logger.warning("%s is damaged and is made again", file)
            return self._make(reader, number, k)

    def _whole(self, number: int, k: int) -> Block | None:
        block = load_block(self._file(number, k))
        return block if block is not None and block.n_read == self.cuts[number].size_of(k) else None

    def _make(self, reader: BlockReader, number: int, k: int) -> Block:
        cut = self.cuts[number]
        first = k * cut.size + 1
        block = self._encoder.block(list(reader.read(k)), self.tokenizer.tag(self.tags[number]), first - 1)
        block.save(self._file(number, k))
        return block

    @property
    def _encoder(self) -> Encoder:
        encode = partial(self.tokenizer.encode, n_threads=1)
        return Encoder(encode, id_type(self.tokenizer), self.filters, self.keep_text)

    def _file(self, number: int, k: int) -> Path:
        return self.directory / f"{number}-{k:06}.block"

    def _lock(self, number: int, k: int) -> FileLock:
        return FileLock(self._file(number, k).with_suffix(".lock"))
