"""Hashes of sentences and of files, and a small set of sentence hashes.

A sentence has 64 bits: a billion different pairs have about 0.03 expected collisions.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def hash_lines(lines: Iterable[str]) -> Hashes:
    """One 64-bit hash for each line, the same in every process and on every machine."""
    digests = [hashlib.blake2b(line.encode(), digest_size=8).digest() for line in lines]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)


def hash_pairs(pairs: Iterable[tuple[str, str]]) -> Hashes:
    """One 64-bit hash for each pair. A line holds no line end, so no two pairs make the same text."""
    return hash_lines(f"{src}\n{tgt}" for src, tgt in pairs)


def contained(hashes: Hashes, in_sorted: Hashes) -> NDArray[np.bool_]:
    """Which of `hashes` occur in `in_sorted`: ascending, possibly memory-mapped and with repetitions."""
    if not len(in_sorted):
        return np.zeros(len(hashes), dtype=np.bool_)
    places = np.searchsorted(in_sorted, hashes)
    return np.asarray(in_sorted[np.minimum(places, len(in_sorted) - 1)] == hashes)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    return _file_digest(path, hashlib.sha256())


def file_md5(path: Path) -> str:
    """MD5 of a file's bytes, in hex: some publishers name no other one."""
    return _file_digest(path, hashlib.md5(usedforsecurity=False))


def _file_digest(path: Path, digest: "hashlib._Hash") -> str:
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def add_run(runs: list[Hashes], run: Hashes) -> None:
    """Add ascending numbers to ascending arrays, of which each stays more than twice as long as the next."""
    while runs and len(runs[-1]) <= 2 * len(run):
        run = np.concatenate([runs.pop(), run])
        run.sort(kind="stable")  # much cheaper than a new sort: the two halves are ascending
    runs.append(run)


class SeenHashes:
    """A growing set of hashes. Each takes 8 bytes, or 16 while the set merges; in a Python set about 70."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add all hashes. True where one occurs for the first time in this call and all calls before."""
        is_new = np.zeros(len(hashes), dtype=np.bool_)
        is_new[np.unique(hashes, return_index=True)[1]] = True
        for run in self._runs:
            is_new &= ~contained(hashes, run)
        add_run(self._runs, np.sort(hashes[is_new]))
        return is_new

    def __len__(self) -> int:
        return sum(map(len, self._runs))
