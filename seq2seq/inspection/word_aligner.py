"""IBM model 1 (Brown et al. 1993): which word translates which, learned from pairs of lines alone.

A reference to compare heads with. It knows nothing of order, so it is a modest one; it needs seconds.
A word is what white space separates, as in `analysis/alignment.py`. Words are compared without case and without the
marks around them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seq2seq.inspection.bare_words import bare_words

Links = set[tuple[int, int]]  # (source word, target word), counted from 0

N_ITERATIONS = 5
_NEARER = 1e-6  # decides where probabilities are equal, since it is smaller than other differences


@dataclass(frozen=True)
class TranslationTable:
    """t(target word | source word), for all words that stand in one pair. Source word 0 is NULL, the empty word."""

    src_words: dict[str, int]
    tgt_words: dict[str, int]
    keys: NDArray[np.int64]  # source word * number of target words + target word, ascending
    probabilities: NDArray[np.float64]

    @classmethod
    def train(cls, pairs: Iterable[tuple[str, str]], n_iterations: int = N_ITERATIONS) -> "TranslationTable":
        """Learn t by expectation maximisation from uniform tables. The same pairs give the same table."""
        src_words: dict[str, int] = {"": 0}
        tgt_words: dict[str, int] = {}
        ids = [(_ids(src, src_words), _ids(tgt, tgt_words)) for src, tgt in pairs]
        sides = [(np.array([0, *src]), np.array(tgt)) for src, tgt in ids if src and tgt]
        if not sides:
            return cls(src_words, tgt_words, np.zeros(0, np.int64), np.zeros(0))
        # One entry for each source word (NULL too) of each target word of the corpus.
        entries = np.concatenate([(src * len(tgt_words) + tgt[:, None]).ravel() for src, tgt in sides])
        widths = np.concatenate([np.full(len(tgt), len(src)) for src, tgt in sides])
        keys, of_entry = np.unique(entries, return_inverse=True)
        token = np.repeat(np.arange(len(widths)), widths)  # the target word of the corpus that an entry belongs to
        src_of_key = keys // len(tgt_words)
        t = np.ones(len(keys))
        for _ in range(n_iterations):
            likely = t[of_entry]
            shares = likely / np.bincount(token, likely)[token]  # who of its source words wrote it
            counts = np.bincount(of_entry, shares, minlength=len(keys))
            t = counts / np.bincount(src_of_key, counts)[src_of_key]
        return cls(src_words, tgt_words, keys, t)

    def links(self, src: str, tgt: str) -> Links:
        """For each target word the source word that most likely wrote it; none if that is NULL.

        Of several places of one source word, the one nearest on the way from begin to end is taken.
        """
        src_ids = [0, *(self.src_words.get(word, -1) for word in bare_words(src))]
        tgt_ids = [self.tgt_words.get(word, -1) for word in bare_words(tgt)]
        if len(src_ids) == 1 or not tgt_ids:
            return set()
        t = self._lookup(np.array(src_ids), np.array(tgt_ids))  # (target words, source words)
        src_places, tgt_places = np.linspace(0, 1, len(src_ids) - 1), np.linspace(0, 1, len(tgt_ids))
        t[:, 1:] *= 1 - _NEARER * np.abs(tgt_places[:, None] - src_places)
        t[:, 0] *= 1 - 2 * _NEARER  # a word before NULL
        best = t.argmax(1)
        return {(int(src) - 1, place) for place, src in enumerate(best) if src and t[place, src] > 0}

    def _lookup(self, src: NDArray[np.int64], tgt: NDArray[np.int64]) -> NDArray[np.float64]:
        """t of each target word (rows) given each source word; 0 if they never met."""
        wanted = src * len(self.tgt_words) + tgt[:, None]
        if not len(self.keys):
            return np.zeros(wanted.shape)
        places = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        is_known = (self.keys[places] == wanted) & (src >= 0) & (tgt >= 0)[:, None]
        found: NDArray[np.float64] = np.where(is_known, self.probabilities[places], 0.0)
        return found


@dataclass(frozen=True)
class WordAligner:
    """Two tables, one for each way. What both say is sure, and what one says is possible (Och and Ney 2003)."""

    forward: TranslationTable
    backward: TranslationTable

    @classmethod
    def train(cls, pairs: Sequence[tuple[str, str]], n_iterations: int = N_ITERATIONS) -> "WordAligner":
        """Learn both tables."""
        turned = [(tgt, src) for src, tgt in pairs]
        return cls(TranslationTable.train(pairs, n_iterations), TranslationTable.train(turned, n_iterations))

    def links(self, src: str, tgt: str) -> tuple[Links, Links]:
        """The sure links of a pair, and the possible ones, the sure ones among them."""
        forward = self.forward.links(src, tgt)
        backward = {(s, t) for t, s in self.backward.links(tgt, src)}
        return forward & backward, forward | backward


def _ids(text: str, known: dict[str, int]) -> list[int]:
    return [known.setdefault(word, len(known)) for word in bare_words(text)]
