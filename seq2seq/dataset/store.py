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

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.hashes import Hashes, SeenHashes, file_sha256
from seq2seq.corpus.judge import DUPLICATE, Judge, nothing_left
from seq2seq.corpus.report import split_report
from seq2seq.dataset.encoding import Block, Encoder
from seq2seq.dataset.plan import blocks, narrow
from seq2seq.dataset.seen import LineSample, Looks, looks_from_json
from seq2seq.dataset.sequences import Sequences
from seq2seq.errors import CorpusError, TokenizerError
from seq2seq.files import atomic_directory, is_sealed, sealed
from seq2seq.tokenizer import Tokenizer

FORMAT_VERSION = 5
_MANIFEST = "manifest.json"
_SIDES = ("src", "tgt")
_REFERENCES = "references"
_HASHED = ("src", "pair")
_BLOCK = 10_000  # pairs to encode at a time: few enough for memory, and enough to keep all cores busy
_PROGRESS_S = 10.0

logger = logging.getLogger(__name__)


class PairStore:
    """Sentence pairs as ids, and as text if that is kept. It opens in milliseconds, and its pages can leave memory.

    Its pickle is the path, so a worker process maps the files itself.
    """

    def __init__(self, directory: Path, manifest: dict[str, Any]) -> None:
        """Use `open`, which checks that the files are complete."""
        self.directory = directory
        self.manifest = manifest
        self._n_pairs: int = manifest["n_pairs"]
        self._ids = {side: self._map(f"{side}.ids.bin", manifest["id_type"]) for side in _SIDES}
        self._offsets = {side: self._map(f"{side}.offsets.bin", "<i8") for side in _SIDES}
        self._text = {
            name: (self._map(f"{name}.text.bin", "u1"), self._map(f"{name}.text_offsets.bin", "<i8"))
            for name in (*_SIDES, _REFERENCES)
            if f"{name}.text.bin" in manifest["files"]
        }
        self._hashes = {name: self._map(f"{name}.hashes.bin", "<u8") for name in _HASHED}

    @classmethod
    def open(cls, directory: str | Path) -> "PairStore":
        """Map an existing store.

        What is opened stays as it is, also if the directory is removed or replaced.

        Raises:
            CorpusError: no store, a store of another format version, or a file whose size has changed.
        """
        directory = Path(directory).absolute()
        try:
            manifest = json.loads((directory / _MANIFEST).read_bytes())
            version = manifest["format_version"]
            sizes = {name: file["bytes"] for name, file in manifest["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(f"{directory} is not a whole store ({error!r}); prepare the corpus again") from error
        if version != FORMAT_VERSION:
            raise CorpusError(
                f"{directory} has format {version}, this program reads {FORMAT_VERSION}; prepare the corpus again"
            )
        if not is_sealed(manifest):
            raise CorpusError(f"{directory / _MANIFEST} was changed; delete {directory} and prepare the corpus again")
        for name, size in sizes.items():
            path = directory / name
            found = path.stat().st_size if path.is_file() else None
            if found != size:
                state = "is missing" if found is None else f"has {found} bytes instead of {size}"
                raise CorpusError(f"{path} {state}; delete {directory} and prepare the corpus again")
        try:
            return cls(directory, manifest)
        except (OSError, ValueError) as error:  # another process has just removed or replaced it
            raise CorpusError(f"{directory} is not a whole store ({error!r}); prepare the corpus again") from error

    def verify(self, sha256_of: Callable[[Path], str] = file_sha256) -> None:
        """Compare every file with its SHA-256.

        Args:
            sha256_of: gives the SHA-256 of a file; by default it reads the file, and so the whole store.
        Raises:
            CorpusError: a file was changed, or is gone.
        """
        for name, file in self.manifest["files"].items():
            path = self.directory / name
            try:
                sha256 = sha256_of(path)
            except OSError as error:
                raise CorpusError(
                    f"{path} cannot be read ({error.strerror}); delete {self.directory} and prepare the corpus again"
                ) from error
            if sha256 != file["sha256"]:
                raise CorpusError(
                    f"{path} was changed after it was written (SHA-256 differs); "
                    f"delete {self.directory} and prepare the corpus again"
                )

    def check_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Refuse another tokenizer than the one of this store.

        Raises:
            TokenizerError: the store was made with another tokenizer.
        """
        made_with = self.manifest["tokenizer"]
        if made_with != tokenizer.fingerprint:
            raise TokenizerError(
                f"{self.directory} holds ids of tokenizer {made_with[:12]}, not of "
                f"{tokenizer.fingerprint[:12]}; prepare the corpus with the tokenizer of the model"
            )

    def __len__(self) -> int:
        return self._n_pairs

    def src(self, index: int) -> NDArray[Any]:
        """Ids of source `index`, after its tag if it has one, without eos: a read-only view, uint16 or int32."""
        return self._sentence("src", index)

    def tgt(self, index: int) -> NDArray[Any]:
        """Ids of target `index`, without bos and eos: a read-only view, uint16 or int32."""
        return self._sentence("tgt", index)

    @cached_property
    def src_lengths(self) -> NDArray[Any]:
        """Tokens of each source, without eos, in as few bytes as the longest one needs."""
        return self._lengths("src")

    @cached_property
    def tgt_lengths(self) -> NDArray[Any]:
        """Tokens of each target, without bos and eos, in as few bytes as the longest one needs."""
        return self._lengths("tgt")

    @property
    def has_text(self) -> bool:
        return bool(self.manifest["has_text"])

    def src_text(self, index: int) -> str:
        """Source line `index` as it was read."""
        return self._line("src", index)

    def tgt_text(self, index: int) -> str:
        """Target line `index` as it was read."""
        return self._line("tgt", index)

    def references(self, index: int) -> list[str]:
        """All known translations of source `index`: target line `index`, then its further references."""
        further = self._line(_REFERENCES, index) if _REFERENCES in self._text else ""
        return [self.tgt_text(index), *(further.split("\n") if further else ())]

    @property
    def n_references(self) -> int:
        """Targets and further references of all pairs."""
        text, offsets = self._text.get(_REFERENCES, (np.zeros(0), np.zeros(1)))
        return self._n_pairs + int(np.count_nonzero(np.diff(offsets)) + np.count_nonzero(text == ord("\n")))

    @property
    def n_pairs_of_sources(self) -> list[int]:
        """Pairs of each corpus source. The store has the pairs of the first source, then of the second, and so on."""
        n_pairs: list[int] = self.manifest["n_pairs_of_sources"]
        return n_pairs

    @property
    def sentences_of_sources(self) -> list[list[int]]:
        """For each corpus source, how many of some of its source lines have 1, 2, ..., 9, and 10 or more sentences."""
        counts: list[list[int]] = self.manifest["sentences_of_sources"]
        return counts

    @property
    def rejected_of_sources(self) -> list[dict[str, int]]:
        """For each corpus source, how many of its pairs were left out for which reason."""
        counts: list[dict[str, int]] = self.manifest.get("rejected_of_sources", [{} for _ in self.n_pairs_of_sources])
        return counts

    @property
    def looks_of_sources(self) -> list[Looks]:
        """For each corpus source, how some of its source lines are written."""
        return [looks_from_json(each) for each in self.manifest["looks_of_sources"]]

    @property
    def hashes(self) -> dict[str, Hashes]:
        """Ascending hashes, with repetitions: `src` of the sources, `pair` of the pairs."""
        return self._hashes

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return PairStore.open, (self.directory,)

    def _lengths(self, side: str) -> NDArray[Any]:
        offsets = self._offsets[side]
        return np.concatenate([narrow(np.diff(offsets[block.start : block.stop + 1])) for block in blocks(len(self))])

    def _sentence(self, side: str, index: int) -> NDArray[Any]:
        index = self._checked(index)
        offsets = self._offsets[side]
        return self._ids[side][offsets[index] : offsets[index + 1]]

    def _line(self, side: str, index: int) -> str:
        if not self.has_text:
            raise CorpusError(f"{self.directory} was written without text; prepare it with keep_text=True")
        index = self._checked(index)
        text, offsets = self._text[side]
        return text[offsets[index] : offsets[index + 1]].tobytes().decode()

    def _checked(self, index: int) -> int:
        """Refuse an index that would read across the ends of the arrays."""
        if not 0 <= index < self._n_pairs:
            raise IndexError(f"pair {index} of a store of {self._n_pairs}")
        return index

    def _map(self, name: str, dtype: str) -> NDArray[Any]:
        path = self.directory / name
        if path.stat().st_size == 0:  # mmap refuses empty files
            return np.zeros(0, dtype=dtype)
        # Indexing an np.memmap is four times slower than indexing a plain array around the same pages.
        return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def write_store(
    directory: str | Path,
    sources: Sequence[Iterator[tuple[str, str]]],
    tokenizer: Tokenizer,
    *,
    tags: Sequence[str] | None = None,
    filters: Judge | None = None,
    keep_text: bool,
    references: Iterator[Sequence[str]] | None = None,
    made_from: Mapping[str, Any] | None = None,
    n_threads: int = -1,
) -> PairStore:
    """Encode pairs into a new store, in one pass and in bounded memory. It appears whole or not at all.

    Args:
        sources: the pairs of each corpus source.
        tags: the tag of each corpus source, or "". The ids of its source sentences begin with it, except blank ones.
            None: no corpus source has a tag.
        filters: which pairs to leave out; lengths are those without a tag. None keeps all.
        keep_text: also store the lines of both sides.
        references: the further references of each pair; only without filters.
        made_from: what the store was made from, in JSON types, for the manifest.
        n_threads: that encode; -1: one for each core.
    Raises:
        CorpusError: `directory` exists, or no pair is left.
        TokenizerError: a tag that the tokenizer does not have.
        Exception: whatever iterating over `sources` raises.
    """
    encode = partial(tokenizer.encode, n_threads=n_threads)
    encoder = Encoder(encode, id_type(tokenizer), filters, keep_text)
    blocks = [
        _encoded(pairs, encoder, tokenizer.tag(tag))
        for pairs, tag in zip(sources, tags or [""] * len(sources), strict=True)
    ]
    return join_blocks(directory, blocks, tokenizer, filters, keep_text, references, made_from)


def _encoded(pairs: Iterator[tuple[str, str]], encoder: Encoder, tag: Sequence[int]) -> Iterator[Block]:
    n_read = 0
    next_message = time.monotonic() + _PROGRESS_S
    while block := list(islice(pairs, _BLOCK)):
        yield encoder.block(block, tag, n_read)
        n_read += len(block)
        if time.monotonic() > next_message:
            logger.info("encoded %s pairs", f"{n_read:,}")
            next_message = time.monotonic() + _PROGRESS_S


def join_blocks(
    directory: str | Path,
    sources: Sequence[Iterable[Block]],
    tokenizer: Tokenizer,
    filters: Judge | None,
    keep_text: bool,
    references: Iterator[Sequence[str]] | None = None,
    made_from: Mapping[str, Any] | None = None,
) -> PairStore:
    """Make a store of the blocks of each corpus source, in order; as `write_store`."""
    directory = Path(directory).absolute()
    if directory.exists():
        raise CorpusError(f"{directory} exists already; delete it to prepare the corpus again")
    with atomic_directory(directory) as building:
        n_read, n_kept, rejected, samples, digests = _write_arrays(building, sources, filters, keep_text)
        if references is not None:
            assert keep_text and filters is None
            _write_references(building, references)
        counts = {
            "n_pairs_of_sources": n_kept,
            "rejected_of_sources": rejected,
            "sentences_of_sources": [sample.sentences() for sample in samples],
            "looks_of_sources": [asdict(sample.looks()) for sample in samples],
        }
        _write_manifest(building, n_read, counts, tokenizer, filters, keep_text, made_from or {}, digests)
    return PairStore.open(directory)


class _HashedFile:
    """A file that is written once, and its SHA-256: a large store need not be read again for that."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._sha256.update(data)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()


class _StoreWriter:
    """The open files of an unfinished store."""

    def __init__(self, stack: ExitStack, building: Path, keep_text: bool) -> None:
        self._digested: dict[str, _HashedFile] = {}

        def create(name: str) -> _HashedFile:
            file = self._digested[name] = _HashedFile(stack.enter_context((building / name).open("wb")))
            return file

        self._ids = [Sequences(create(f"{side}.ids.bin"), create(f"{side}.offsets.bin")) for side in _SIDES]
        self._text = [
            Sequences(create(f"{side}.text.bin"), create(f"{side}.text_offsets.bin"))
            for side in (_SIDES if keep_text else ())
        ]
        self._hashes = [stack.enter_context((building / f"{name}.hashes.bin").open("wb")) for name in _HASHED]

    def add(self, block: Block) -> None:
        for hash_file, hashes in zip(self._hashes, (block.src_hashes, block.pair_hashes), strict=True):
            hash_file.write(hashes.astype("<u8").tobytes())
        sides = block.src, block.tgt
        for file, side in zip(self._ids, sides, strict=True):
            file.append(side.lengths, side.ids.tobytes())
        for file, side in zip(self._text, sides, strict=False):  # there are no text files if text is not kept
            file.append(side.text_lengths, side.text.tobytes())

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the files that stay as they were written."""
        return {name: file.sha256 for name, file in self._digested.items()}


def _write_arrays(
    building: Path, sources: Sequence[Iterable[Block]], filters: Judge | None, keep_text: bool
) -> tuple[int, list[int], list[dict[str, int]], list[LineSample], dict[str, str]]:
    """Write all arrays.

    Returns:
        How many pairs were read; of each source, the pairs kept, the others by reason, and a sample of its lines;
        digests of files.
    """
    n_read = 0
    n_kept = [0] * len(sources)
    rejected: list[dict[str, int]] = []
    samples = [LineSample() for _ in sources]
    seen = SeenHashes()
    with ExitStack() as stack:
        writer = _StoreWriter(stack, building, keep_text)
        for number, blocks in enumerate(sources):
            counts = Counter[str]()
            for block in blocks:
                counts.update(block.rejected)
                if filters is not None and filters.drops_duplicates:
                    is_new = seen.add(block.pair_hashes)
                    counts[DUPLICATE] += int((~is_new).sum())
                    block = block if is_new.all() else block.of(is_new)
                writer.add(block)
                samples[number].add(block.sampled_lines())
                n_read += block.n_read
                n_kept[number] += len(block.pair_hashes)
            rejected.append({name: counts[name] for name in (filters.reasons if filters else ()) if counts[name]})
    for name in _HASHED:
        path = building / f"{name}.hashes.bin"
        if path.stat().st_size:
            np.memmap(path, dtype="<u8", mode="r+").sort()  # in place, so that its pages can leave memory
    return n_read, n_kept, rejected, samples, writer.digests


def _write_references(building: Path, references: Iterator[Sequence[str]]) -> None:
    name = building / _REFERENCES
    with name.with_suffix(".text.bin").open("wb") as text, name.with_suffix(".text_offsets.bin").open("wb") as offsets:
        file = Sequences(text, offsets)
        while block := list(islice(references, _BLOCK)):
            encoded = ["\n".join(each).encode() for each in block]
            file.append(list(map(len, encoded)), b"".join(encoded))


def _write_manifest(
    building: Path,
    n_read: int,
    counts: Mapping[str, Any],
    tokenizer: Tokenizer,
    filters: Judge | None,
    keep_text: bool,
    made_from: Mapping[str, Any],
    digests: Mapping[str, str],
) -> None:
    """Describe the complete arrays. With its manifest the directory is a store."""
    files = sorted(building.iterdir())
    n_pairs = sum(counts["n_pairs_of_sources"])
    rejected = dict.fromkeys(filters.reasons if filters is not None else (), 0)
    for of_source in counts["rejected_of_sources"]:
        rejected |= {name: rejected[name] + n for name, n in of_source.items()}
    if not n_pairs:
        raise CorpusError(nothing_left(n_read, rejected))
    manifest = {
        "format_version": FORMAT_VERSION,
        "n_pairs": n_pairs,
        **counts,
        "id_type": id_type(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "tokenizer": tokenizer.fingerprint,
        "has_text": keep_text,
        "filters": filters.settings if filters is not None else None,
        "made_from": dict(made_from),
        "files": {
            file.name: {"bytes": file.stat().st_size, "sha256": digests.get(file.name) or file_sha256(file)}
            for file in files
        },
    }
    store = PairStore(building, manifest)
    lengths = {"src": store.src_lengths, "tgt": store.tgt_lengths}
    manifest["report"] = split_report(n_read, rejected, lengths, store.hashes["pair"])
    (building / _MANIFEST).write_text(json.dumps(sealed(manifest), indent=2, ensure_ascii=False), encoding="utf-8")


def id_type(tokenizer: Tokenizer) -> str:
    """The narrowest type of array that holds every id."""
    return "<u2" if tokenizer.vocab_size <= 2**16 else "<i4"
