"""Pairs as token ids, a block at a time: what can be said of them without the rest of the corpus.

BLOCK.block     JSON in one line {sha256, n_read, rejected, lines, arrays}, then the bytes of the arrays
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.hashes import Hashes, hash_lines, hash_pairs
from seq2seq.corpus.judge import Judge
from seq2seq.dataset.seen import step_after
from seq2seq.files import atomic_file, is_sealed, sealed

Encode = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True)
class Side:
    """Sentences one after another, in arrays; `text` is UTF-8, and empty if it is not kept."""

    ids: NDArray[Any]
    lengths: NDArray[Any]
    text: NDArray[Any]
    text_lengths: NDArray[Any]

    def of(self, kept: NDArray[np.bool_]) -> "Side":
        """Some of the sentences."""
        n_texts = len(self.text_lengths)
        return Side(
            self.ids[np.repeat(kept, self.lengths)],
            self.lengths[kept],
            self.text[np.repeat(kept, self.text_lengths)] if n_texts else self.text,
            self.text_lengths[kept] if n_texts else self.text_lengths,
        )


@dataclass(frozen=True)
class Block:
    """Consecutive pairs of a source, without those that are left out for what they are by themselves.

    Attributes:
        n_read: pairs before that.
        rejected: those that are left out, by reason.
        src_hashes, pair_hashes: of the sources, without tags, and of the pairs.
        looked_at: which pairs are among those whose source lines are looked at.
        places: where these were among those that were read.
        lines: these source lines.
    """

    n_read: int
    rejected: Mapping[str, int]
    src: Side
    tgt: Side
    src_hashes: Hashes
    pair_hashes: Hashes
    looked_at: NDArray[Any]
    places: NDArray[Any]
    lines: Sequence[str]

    def of(self, kept: NDArray[np.bool_]) -> "Block":
        """The block with some of its pairs."""
        looks = kept[self.looked_at]
        return Block(
            self.n_read,
            self.rejected,
            self.src.of(kept),
            self.tgt.of(kept),
            self.src_hashes[kept],
            self.pair_hashes[kept],
            (np.cumsum(kept) - 1)[self.looked_at[looks]],
            self.places[looks],
            list(compress(self.lines, looks)),
        )

    def sampled_lines(self) -> list[str]:
        """For each pair that was read, its source line, or "" if it is not looked at."""
        lines = [""] * self.n_read
        for place, line in zip(self.places.tolist(), self.lines, strict=True):
            lines[place] = line
        return lines

    def save(self, path: Path) -> None:
        arrays = list(_arrays(self))
        data = b"".join(array.tobytes() for array in arrays)
        about = {
            "n_read": self.n_read,
            "rejected": dict(self.rejected),
            "lines": list(self.lines),
            "arrays": [[array.dtype.str, len(array)] for array in arrays],
            "data": hashlib.sha256(data).hexdigest(),
        }
        with atomic_file(path) as file:
            file.write(json.dumps(sealed(about)).encode() + b"\n" + data)


def load_block(path: Path) -> Block | None:
    """The block that was saved there; None if there is none, or a damaged one."""
    try:
        head, _, data = path.read_bytes().partition(b"\n")
        about = json.loads(head)
        is_whole = is_sealed(about) and about["data"] == hashlib.sha256(data).hexdigest()
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    if not is_whole:
        return None
    arrays = []
    begin = 0
    for dtype, n in about["arrays"]:
        arrays.append(np.frombuffer(data, dtype, n, begin))
        begin += arrays[-1].nbytes
    src, tgt = Side(*arrays[:4]), Side(*arrays[4:8])
    src_hashes, pair_hashes, looked_at, places = arrays[8:]
    of_pairs = src, tgt, src_hashes, pair_hashes, looked_at, places
    return Block(about["n_read"], about["rejected"], *of_pairs, lines=about["lines"])


def _arrays(block: Block) -> Iterator[NDArray[Any]]:
    for side in (block.src, block.tgt):
        yield from (side.ids, side.lengths, side.text, side.text_lengths)
    yield from (block.src_hashes, block.pair_hashes, block.looked_at, block.places)


@dataclass(frozen=True)
class Encoder:
    """Makes blocks of pairs.

    Attributes:
        encode: gives the ids of sentences.
        id_type: of the arrays of ids.
        filters: which pairs to leave out; lengths are those without a tag. None keeps all.
        keep_text: also keep the lines of both sides.
    """

    encode: Encode
    id_type: str
    filters: Judge | None
    keep_text: bool

    def block(self, pairs: Sequence[tuple[str, str]], tag: Sequence[int], n_before: int) -> Block:
        """
        Args:
            tag: ids that the sources begin with, except those without tokens.
            n_before: pairs that were read of the same source before.
        """
        n_read = len(pairs)
        step = step_after(n_before + n_read)
        places = np.arange(-n_before % step, n_read, step, dtype="<i4")
        looks = np.zeros(n_read, dtype=np.bool_)
        looks[places] = True
        lines = [[src for src, _ in pairs], [tgt for _, tgt in pairs]]
        ids = [self.encode(side) for side in lines]
        rejected: Mapping[str, int] = {}
        if self.filters is not None:
            src_lengths, tgt_lengths = (np.fromiter(map(len, side), dtype=np.int32) for side in ids)
            reasons = self.filters.judge(pairs, (src_lengths, tgt_lengths)).reasons
            kept, rejected = reasons < 0, self.filters.counted(reasons)
            ids = [list(compress(side, kept)) for side in ids]
            lines = [list(compress(side, kept)) for side in lines]
            pairs = list(compress(pairs, kept))
            places = np.flatnonzero(kept & looks).astype("<i4")
            looks = looks[kept]
        ids[0] = [[*tag, *src] if src else src for src in ids[0]] if tag else ids[0]
        return Block(
            n_read,
            rejected,
            self._side(ids[0], lines[0]),
            self._side(ids[1], lines[1]),
            hash_lines(lines[0]),
            hash_pairs(pairs),
            np.flatnonzero(looks).astype("<i4"),
            places,
            list(compress(lines[0], looks)),
        )

    def _side(self, ids: list[list[int]], lines: list[str]) -> Side:
        texts = [line.encode() for line in lines] if self.keep_text else []
        return Side(
            np.fromiter(chain.from_iterable(ids), dtype=self.id_type),
            np.fromiter(map(len, ids), dtype="<i4", count=len(ids)),
            np.frombuffer(b"".join(texts), dtype="u1"),
            np.fromiter(map(len, texts), dtype="<i4", count=len(texts)),
        )
