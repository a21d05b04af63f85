"""Text that is nearly the same as text before it, by MinHash (Broder 1997), in one pass and without the text.

The similarity of two texts is the Jaccard similarity of their sets of five letters in a row, case, punctuation and
spaces aside. A Han character is three letters, and a syllable of Japanese or Korean two. A sketch of a text is the
smallest value that each of 36 hash functions has on its set. Two texts have the
same smallest value with a probability that is their similarity. So the share of equal values estimates it, with a
standard deviation of 0.07 at 0.8.

Six bands of six values each find candidates (Leskovec et al. 2014, section 3.4): an earlier text with a band in common
is compared by all values. A text is a candidate with this probability:

    similarity  0.5   0.6   0.7   0.8   0.85  0.9
    candidate   0.09  0.25  0.53  0.84  0.94  0.99

Each kept text takes at most 84 bytes: eight for each band, and one for each value; and as much again for one band while
it merges.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.cleaning.measures import as_letters
from seq2seq.corpus.groups import comparable
from seq2seq.corpus.hashes import add_run

N_BANDS, N_ROWS = 6, 6
N_VALUES = N_BANDS * N_ROWS
_WIDTH = 5  # characters of one element of a set

Sketches = NDArray[np.uint32]  # (texts, N_VALUES)
_random = np.random.Generator(np.random.PCG64(0))
_FACTORS = _random.integers(0, 2**31, N_VALUES, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
_TERMS = _random.integers(0, 2**32, N_VALUES, dtype=np.uint32)
_PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_NOBODY = -1


def sketches(texts: Sequence[str], kind: int = 0) -> Sketches:
    """The sketch of each text.

    Args:
        kind: sketches of different kinds have no element in common, such as those of two languages.
    """
    if not texts:
        return np.zeros((0, N_VALUES), dtype=np.uint32)
    read = [as_letters(comparable(text)).ljust(_WIDTH, "\0") for text in texts]
    lengths = np.fromiter(map(len, read), dtype=np.int64) - (_WIDTH - 1)  # elements of each text
    elements = _mixed(_elements("".join(read), lengths) + np.uint64(kind))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    found = np.empty((len(texts), N_VALUES), dtype=np.uint32)
    for number, (factor, term) in enumerate(zip(_FACTORS, _TERMS, strict=True)):
        found[:, number] = np.minimum.reduceat(elements * factor + term, starts)
    return found


def side_sketches(pairs: Sequence[tuple[str, str]]) -> tuple[Sketches, Sketches]:
    """The sketches of the sources and of the targets."""
    return sketches([src for src, _ in pairs]), sketches([tgt for _, tgt in pairs], kind=1)


def pair_sketches(pairs: Sequence[tuple[str, str]]) -> Sketches:
    """The sketches of pairs: two are nearly the same if both of their sides are."""
    return np.minimum(*side_sketches(pairs))


class NearIndex:
    """Sketches of texts, to find one that is nearly the same.

    Of all texts with the same band only the first one is compared. So the time for a text does not grow with the number
    of texts that are like it.
    """

    def __init__(self, threshold: float) -> None:
        self._least = int(np.ceil(threshold * N_VALUES - 1e-9))  # values that must be equal
        self._bands = [_FirstOwners() for _ in range(N_BANDS)]
        self._values = np.zeros((0, N_VALUES), dtype=np.uint8)
        self._n_texts = 0

    def has_like(self, found: Sketches) -> NDArray[np.bool_]:
        """Which texts are nearly the same as one in the index."""
        return self._compared(self._owners(_band_keys(found)), _low_bits(found))

    def add(self, found: Sketches) -> None:
        """Put all texts into the index."""
        keys = _band_keys(found)
        self._put(keys, self._owners(keys), _low_bits(found))

    def add_new(self, found: Sketches) -> NDArray[np.bool_]:
        """Put those texts into the index that are not nearly the same as one before. True where that is so.

        Each text is compared with those before it that went in, as if the texts came one at a time.
        """
        keys, values = _band_keys(found), _low_bits(found)
        owners = self._owners(keys)
        is_new = ~self._compared(owners, values)
        first: dict[tuple[int, int], int] = {}  # of these texts, which came first with a band
        for row in np.flatnonzero(is_new).tolist():
            bands = [(band, int(keys[row, band])) for band in range(N_BANDS) if owners[row, band] == _NOBODY]
            before = {first[key] for key in bands if key in first}
            is_new[row] = all((values[row] == values[other]).sum() < self._least for other in before)
            if is_new[row]:
                for key in bands:
                    first.setdefault(key, row)
        self._put(keys[is_new], owners[is_new], values[is_new])
        return is_new

    def _owners(self, keys: NDArray[np.uint32]) -> NDArray[np.int64]:
        """For each text and band, the first text of the index with this band."""
        return np.stack([band.find(keys[:, number]) for number, band in enumerate(self._bands)], axis=1)

    def _compared(self, owners: NDArray[np.int64], values: NDArray[np.uint8]) -> NDArray[np.bool_]:
        is_like = np.zeros(len(values), dtype=np.bool_)
        for band in range(N_BANDS):
            rows = np.flatnonzero((owners[:, band] != _NOBODY) & ~is_like)
            n_equal = (self._values[owners[rows, band]] == values[rows]).sum(axis=1)
            is_like[rows] = n_equal >= self._least
        return is_like

    def _put(self, keys: NDArray[np.uint32], owners: NDArray[np.int64], values: NDArray[np.uint8]) -> None:
        numbers = np.arange(self._n_texts, self._n_texts + len(keys), dtype=np.uint64)
        for band, index in enumerate(self._bands):
            without_owner = owners[:, band] == _NOBODY
            index.add(keys[without_owner, band], numbers[without_owner])
        if self._n_texts + len(values) > len(self._values):
            grown = np.zeros((max(1024, self._n_texts + self._n_texts // 4 + len(values)), N_VALUES), dtype=np.uint8)
            grown[: self._n_texts] = self._values[: self._n_texts]
            self._values = grown
        self._values[self._n_texts : self._n_texts + len(values)] = values
        self._n_texts += len(values)


class _FirstOwners:
    """From the key of a band to the first text that has it, in ascending arrays as those of `SeenHashes`.

    The upper half of an entry is the key, and the lower half the number of the text.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def find(self, keys: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The text that owns each key, or `_NOBODY`."""
        found = np.full(len(keys), _NOBODY, dtype=np.int64)
        wanted = keys.astype(np.uint64) << np.uint64(32)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, wanted), len(run) - 1)
            entries = run[places]
            is_there = (entries >> np.uint64(32)) == keys
            found[is_there] = (entries[is_there] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return found

    def add(self, keys: NDArray[np.uint32], numbers: NDArray[np.uint64]) -> None:
        """Give each key to the first of the texts that have it. No key has an owner yet."""
        first = np.unique(keys, return_index=True)[1]
        if not len(first):
            return
        add_run(self._runs, np.sort((keys[first].astype(np.uint64) << np.uint64(32)) | numbers[first]))


def _elements(text: str, lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of each five characters in a row that are all of one text."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    n_elements = len(codes) - _WIDTH + 1
    hashes = np.zeros(n_elements, dtype=np.uint64)
    for offset, prime in enumerate(_PRIMES):
        hashes += codes[offset : offset + n_elements] * np.uint64(prime)
        hashes ^= hashes >> np.uint64(29)
    is_whole = np.ones(n_elements + _WIDTH - 1, dtype=np.bool_)
    ends = np.cumsum(lengths + _WIDTH - 1)
    for offset in range(1, _WIDTH):
        is_whole[ends - offset] = False
    return hashes[is_whole[:n_elements]]


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """32 bits that all depend on all bits (the end of MurmurHash3)."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(factor)
    return (hashes >> np.uint64(32)).astype(np.uint32)


def _band_keys(found: Sketches) -> NDArray[np.uint32]:
    """One number for each text and band, equal where all values of the band are."""
    bands = found.reshape(len(found), N_BANDS, N_ROWS).astype(np.uint64)
    keys = np.zeros((len(found), N_BANDS), dtype=np.uint64)
    for row in range(N_ROWS):
        keys = (keys ^ bands[:, :, row]) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return (keys >> np.uint64(16)).astype(np.uint32)


def _low_bits(found: Sketches) -> NDArray[np.uint8]:
    """Eight bits of each value, for a comparison that is wrong for one value in 256."""
    return ((found * np.uint32(0x9E3779B1)) >> np.uint32(24)).astype(np.uint8)
