"""Token ids of one split on disk, memory-mapped, with a manifest of what made them.

A store is a directory of little-endian arrays. It is written once and never changed:

    {src,tgt}.ids.bin        ids of all sentences in sequence, without bos and eos; a source follows its tag
    {src,tgt}.offsets.bin    int64, one more than sentences: sentence i is ids[offsets[i]:offsets[i + 1]]
    {src,tgt}.text.bin       UTF-8 of all lines as they were read; only if text is kept
    {src,tgt}.text_offsets.bin    their offsets
    references.text.bin      UTF-8 of the further references of each pair, joined by LF; only if there are any
    references.text_offsets.bin    their offsets
    {src,pair}.hashes.bin    uint64, ascending: hashes of the sources and of the pairs, for the data report
    manifest.json            counts, tokenizer, provenance, report; size and SHA-256 of every other file and of itself
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.hashes import Hashes, SeenHashes, file_sha256
from seq2seq.corpus.judge import DUPLICATE, Judge, nothing_left
from seq2seq.corpus.report import rewritten, split_report
from seq2seq.dataset.encoding import Block, Encoder, Text
from seq2seq.dataset.plan import blocks, narrow
from seq2seq.dataset.seen import LineSample, Looks
from seq2seq.errors import CorpusError
from seq2seq.files import atomic_directory, is_sealed, sealed
from seq2seq.tokenizer import Tokenizer

FORMAT_VERSION = 6
BLOCK = 10_000  # pairs to encode at a time: few enough for memory, and enough to keep all cores busy
_MANIFEST = "manifest.json"
_OFFSETS = {  # for each column, the file that says where each sequence of its values begins and ends
    "src.ids": "src.offsets.bin",
    "tgt.ids": "tgt.offsets.bin",
    "src.text": "src.text_offsets.bin",
    "tgt.text": "tgt.text_offsets.bin",
    "references.text": "references.text_offsets.bin",
}
_HASHED = ("src", "pair")
_PROGRESS_S = 10.0
_LEAST_MAPPED = 1 << 20  # bytes; smaller files are read, since each map keeps a file open

EncodeAll = Callable[[Encoder, Iterator[Text]], Generator[Block, None, None]]
logger = logging.getLogger(__name__)


class FileFacts(msgspec.Struct, frozen=True):
    """What a file of the store was when it was written."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, kw_only=True):
    """What a store holds, what made it, and what its files must be.

    Attributes:
        n_pairs_of_sources: pairs of each corpus source; the store has those of the first one, then of the second one.
        rejected_of_sources: for each source, how many of its pairs were left out for which reason.
        sentences_of_sources: how many of some of its source lines have 1, 2, ..., 9, and 10 or more sentences.
        looks_of_sources: how these lines are written.
        id_type: of the arrays of ids.
        tokenizer: its fingerprint.
        filters: settings of the judge; None if all pairs are kept.
        report: see `split_report`.
    """

    format_version: int
    n_pairs: int
    n_pairs_of_sources: list[int]
    rejected_of_sources: list[dict[str, int]]
    sentences_of_sources: list[list[int]]
    looks_of_sources: list[Looks]
    id_type: str
    vocab_size: int
    tokenizer: str
    has_text: bool
    filters: dict[str, Any] | None
    made_from: dict[str, Any]
    files: dict[str, FileFacts]
    report: dict[str, Any] = {}


class PairStore:
    """Sentence pairs as ids, and as text if that is kept. It opens in milliseconds, and its pages can leave memory.

    Its pickle is the path, so a worker process maps the files itself.

    Attributes:
        hashes: ascending, with repetitions: `src` of the sources, `pair` of the pairs.
    """

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        """Use `open`, which checks that the files are complete."""
        self.directory = directory
        self.manifest = manifest
        self._n_pairs = manifest.n_pairs
        self._columns = {
            name: (self._map(f"{name}.bin", manifest.id_type if "ids" in name else "u1"), self._map(file, "<i8"))
            for name, file in _OFFSETS.items()
            if file in manifest.files
        }
        self.hashes: dict[str, Hashes] = {name: self._map(f"{name}.hashes.bin", "<u8") for name in _HASHED}

    @classmethod
    def open(cls, directory: str | Path) -> "PairStore":
        """Map an existing store.

        What is opened stays as it is, also if the directory is removed or replaced.

        Raises:
            CorpusError: no store, one of another format version, or one whose manifest or sizes have changed.
        """
        directory = Path(directory).absolute()
        try:
            content = json.loads((directory / _MANIFEST).read_bytes())
            if content["format_version"] != FORMAT_VERSION:
                raise ValueError(f"it has format {content['format_version']}, this program reads {FORMAT_VERSION}")
            if not is_sealed(content):
                raise ValueError(f"{_MANIFEST} was changed")
            manifest = msgspec.convert(content, Manifest)
            for name, file in manifest.files.items():
                if (size := (directory / name).stat().st_size) != file.bytes:
                    raise ValueError(f"{name} has {size} bytes instead of {file.bytes}")
            return cls(directory, manifest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _not_whole(directory, error) from error

    def verify(self) -> None:
        """Read the whole store, and compare each file with its SHA-256.

        Raises:
            CorpusError: a file was changed after it was written, or is gone.
        """
        for name, file in self.manifest.files.items():
            try:
                if file_sha256(self.directory / name) != file.sha256:
                    raise ValueError(f"{name} was changed: its SHA-256 is another one")
            except (OSError, ValueError) as error:
                raise _not_whole(self.directory, error) from error

    def __len__(self) -> int:
        return self._n_pairs

    def src(self, index: int) -> NDArray[Any]:
        """Ids of source `index`, after its tag if it has one, without eos: a read-only view, uint16 or int32."""
        return self._of("src.ids", index)

    def tgt(self, index: int) -> NDArray[Any]:
        """Ids of target `index`, without bos and eos: a read-only view, uint16 or int32."""
        return self._of("tgt.ids", index)

    @cached_property
    def src_lengths(self) -> NDArray[Any]:
        """Tokens of each source, without eos, in as few bytes as the longest one needs."""
        return self._lengths("src.ids")

    @cached_property
    def tgt_lengths(self) -> NDArray[Any]:
        """Tokens of each target, without bos and eos, in as few bytes as the longest one needs."""
        return self._lengths("tgt.ids")

    @property
    def has_text(self) -> bool:
        return "src.text" in self._columns

    def src_text(self, index: int) -> str:
        """Source line `index` as it was read."""
        return self._line("src.text", index)

    def tgt_text(self, index: int) -> str:
        """Target line `index` as it was read."""
        return self._line("tgt.text", index)

    def references(self, index: int) -> list[str]:
        """All known translations of source `index`: target line `index`, then its further references."""
        further = self._line("references.text", index) if "references.text" in self._columns else ""
        return [self.tgt_text(index), *(further.split("\n") if further else ())]

    @property
    def n_references(self) -> int:
        """Targets and further references of all pairs."""
        text, offsets = self._columns.get("references.text", (np.zeros(0), np.zeros(1)))
        return self._n_pairs + int(np.count_nonzero(np.diff(offsets)) + np.count_nonzero(text == ord("\n")))

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return PairStore.open, (self.directory,)

    def _lengths(self, column: str) -> NDArray[Any]:
        _, offsets = self._columns[column]
        return np.concatenate([narrow(np.diff(offsets[block.start : block.stop + 1])) for block in blocks(len(self))])

    def _line(self, column: str, index: int) -> str:
        if column not in self._columns:
            raise CorpusError(f"{self.directory} was written without text; prepare it with keep_text=True")
        return self._of(column, index).tobytes().decode()

    def _of(self, column: str, index: int) -> NDArray[Any]:
        if not 0 <= index < self._n_pairs:  # it would read across the ends of the arrays
            raise IndexError(f"pair {index} of a store of {self._n_pairs}")
        values, offsets = self._columns[column]
        return values[offsets[index] : offsets[index + 1]]

    def _map(self, name: str, dtype: str) -> NDArray[Any]:
        path = self.directory / name
        if path.stat().st_size < _LEAST_MAPPED:
            values = np.fromfile(path, dtype=dtype)
            values.flags.writeable = False
            return values
        # Indexing an np.memmap is four times slower than indexing a plain array around the same pages.
        return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def _not_whole(directory: Path, problem: Exception) -> CorpusError:
    return CorpusError(f"{directory} is not a whole store ({problem}); delete it, and prepare the corpus again")


def in_this_process(encoder: Encoder, texts: Iterator[Text]) -> Generator[Block, None, None]:
    """The block of each text."""
    yield from map(encoder, texts)


def write_store(
    directory: str | Path,
    sources: Sequence[Iterator[tuple[str, str]]],
    tokenizer: Tokenizer,
    *,
    tags: Sequence[str] | None = None,
    judge: Judge | None = None,
    keep_text: bool,
    references: Iterator[Sequence[str]] | None = None,
    made_from: Mapping[str, Any] | None = None,
    encode: EncodeAll = in_this_process,
) -> PairStore:
    """Encode pairs into a new store, in one pass and in bounded memory. It appears whole or not at all.

    Args:
        sources: the pairs of each corpus source.
        tags: the tag of each corpus source, or "". The ids of its source sentences begin with it, except blank ones.
            None: no corpus source has a tag.
        judge: which pairs to leave out; lengths are those without a tag. None keeps all.
        keep_text: also store the lines of both sides.
        references: the further references of each pair; only without a judge.
        made_from: what the store was made from, in JSON types, for the manifest.
        encode: makes the block of each text, in order.
    Raises:
        CorpusError: `directory` exists, or no pair is left.
        TokenizerError: a tag that the tokenizer does not have.
        Exception: whatever iterating over `sources` raises.
    """
    assert judge is None or references is None
    directory = Path(directory).absolute()
    if directory.exists():
        raise CorpusError(f"{directory} exists already; delete it to prepare the corpus again")
    encoder = Encoder(tokenizer, judge, keep_text)
    texts = _texts(sources, [tokenizer.tag(tag) for tag in tags or [""] * len(sources)], references)
    with atomic_directory(directory) as building:
        with closing(encode(encoder, texts)) as found:
            counts = _write_arrays(building, found, len(sources), judge)
        _write_manifest(building, counts, encoder, made_from or {})
    return PairStore.open(directory)


def _texts(
    sources: Sequence[Iterator[tuple[str, str]]],
    tags: Sequence[Sequence[int]],
    references: Iterator[Sequence[str]] | None,
) -> Iterator[Text]:
    for number, (pairs, tag) in enumerate(zip(sources, tags, strict=True)):
        n_read = 0
        while block := list(islice(pairs, BLOCK)):
            further = None if references is None else list(islice(references, len(block)))
            yield Text(number, tag, n_read, block, further)
            n_read += len(block)
    if references is not None:
        next(references, None)  # raises if one of its files goes on


def _write_arrays(building: Path, blocks: Iterator[Block], n_sources: int, judge: Judge | None) -> dict[str, Any]:
    """Write all arrays, and count for the manifest what is in them."""
    n_read = 0
    n_kept = [0] * n_sources
    rejected = [Counter[str]() for _ in range(n_sources)]
    samples = [LineSample() for _ in range(n_sources)]
    tgt_characters = Counter[str]()
    seen = SeenHashes() if judge is not None and judge.drops_duplicates else None
    next_message = time.monotonic() + _PROGRESS_S
    with ExitStack() as stack:
        files = _Files(stack, building)
        for block in blocks:
            number = block.source
            rejected[number].update(block.rejected)
            tgt_characters.update(block.characters)
            if seen is not None:
                is_new = seen.add(block.hashes["pair"])
                rejected[number][DUPLICATE] += int((~is_new).sum())
                block = block if is_new.all() else block.of(is_new)
            files.add(block)
            lines = {place: line for place, line in block.lines.items() if block.kept[place]}
            samples[number].add(len(block.kept), lines)
            n_read += len(block.kept)
            n_kept[number] += int(block.kept.sum())
            if time.monotonic() > next_message:
                logger.info("encoded %s pairs", f"{n_read:,}")
                next_message = time.monotonic() + _PROGRESS_S
    reasons = judge.reasons if judge is not None else []
    total = {name: sum(each[name] for each in rejected) for name in reasons}
    if not any(n_kept):
        raise CorpusError(nothing_left(n_read, total))
    for name in _HASHED:  # in place, so that their pages can leave memory
        np.memmap(building / f"{name}.hashes.bin", dtype="<u8", mode="r+").sort()
    return {
        "n_read": n_read,
        "rejected": total,
        "tgt_characters": tgt_characters,
        "n_pairs_of_sources": n_kept,
        "rejected_of_sources": [{name: each[name] for name in reasons if each[name]} for each in rejected],
        "sentences_of_sources": [sample.sentences() for sample in samples],
        "looks_of_sources": [sample.looks() for sample in samples],
    }


class _Files:
    """The open files of an unfinished store."""

    def __init__(self, stack: ExitStack, building: Path) -> None:
        self._stack, self._building = stack, building
        self._open: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}  # of the values that each column has so far

    def add(self, block: Block) -> None:
        for name, hashes in block.hashes.items():
            self._write(f"{name}.hashes.bin", hashes.astype("<u8"))
        for name, column in block.columns.items():
            begin = self._ends.get(name, 0)
            offsets = begin + np.cumsum([0, *column.lengths.tolist()], dtype="<i8")
            self._write(f"{name}.bin", column.values)
            self._write(_OFFSETS[name], offsets[name in self._ends :])
            self._ends[name] = int(offsets[-1])

    def _write(self, name: str, array: NDArray[Any]) -> None:
        if name not in self._open:
            self._open[name] = self._stack.enter_context((self._building / name).open("wb"))
        self._open[name].write(array.tobytes())


def _write_manifest(building: Path, counts: dict[str, Any], encoder: Encoder, made_from: Mapping[str, Any]) -> None:
    """Describe the complete arrays. With its manifest the directory is a store."""
    n_read, rejected, tgt_characters = (counts.pop(name) for name in ("n_read", "rejected", "tgt_characters"))
    files = sorted(building.iterdir())
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        n_pairs=sum(counts["n_pairs_of_sources"]),
        **counts,
        id_type=encoder.id_type,
        vocab_size=encoder.tokenizer.vocab_size,
        tokenizer=encoder.tokenizer.fingerprint,
        has_text=encoder.keep_text,
        filters=encoder.judge.settings if encoder.judge is not None else None,
        made_from=dict(made_from),
        files={file.name: FileFacts(file.stat().st_size, file_sha256(file)) for file in files},
    )
    store = PairStore(building, manifest)
    lengths = {"src": store.src_lengths, "tgt": store.tgt_lengths}
    manifest.report = split_report(n_read, rejected, lengths, store.hashes["pair"])
    if encoder.judge is not None:  # training text, whose targets a model learns to write
        manifest.report["rewritten"] = rewritten(tgt_characters, encoder.tokenizer.target.normalized)
    content = sealed(msgspec.to_builtins(manifest))
    (building / _MANIFEST).write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
