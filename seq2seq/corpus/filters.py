"""Which training pairs are left out, and how many for which reason.

Only training text is filtered. Validation and test keep all pairs, also blank and long ones: without the hard lines a
score would be another score, and a translation file has as many lines as its source.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import DataConfig
from seq2seq.corpus.hashes import Hashes, SeenHashes

Lengths = NDArray[np.int32]


class PairFilter:
    """Decides which pairs stay, block by block, in one pass over a corpus. A second pass needs a new filter.

    `rejected` counts each pair once, by the first reason of `empty`, `too_long`, `length_ratio`, `duplicate`.
    """

    def __init__(self, config: DataConfig) -> None:
        self._max_sentence_tokens = config.max_sentence_tokens
        self._max_ratio = config.max_length_ratio
        self._seen = SeenHashes() if config.drop_duplicates else None
        self.rejected = dict.fromkeys(("empty", "too_long", "length_ratio", "duplicate"), 0)

    @property
    def settings(self) -> dict[str, int | float | bool]:
        """What decides which pairs stay: with equal settings, the same pairs do."""
        return {
            "max_sentence_tokens": self._max_sentence_tokens,
            "max_length_ratio": self._max_ratio,
            "drop_duplicates": self._seen is not None,
        }

    def keep(
        self, pairs: Sequence[tuple[str, str]], src_lengths: Lengths, tgt_lengths: Lengths, hashes: Hashes
    ) -> NDArray[np.bool_]:
        """Which pairs of a block stay.

        Args:
            src_lengths, tgt_lengths: tokens a side, without eos.
            hashes: of the pairs, from `hash_pairs`.
        """
        shorter = np.minimum(src_lengths, tgt_lengths)
        longer = np.maximum(src_lengths, tgt_lengths)
        has_blank = np.fromiter((not (src.strip() and tgt.strip()) for src, tgt in pairs), dtype=np.bool_)
        kept = np.ones(len(pairs), dtype=np.bool_)
        # A side without tokens can have text: nmt_nfkc removes U+FFFD and control characters.
        self._reject("empty", kept, has_blank | (shorter == 0))
        self._reject("too_long", kept, longer > self._max_sentence_tokens)
        if self._max_ratio:
            self._reject("length_ratio", kept, longer > self._max_ratio * shorter)
        if self._seen is not None:
            repeated = np.zeros(len(pairs), dtype=np.bool_)
            repeated[kept] = ~self._seen.add(hashes[kept])
            self._reject("duplicate", kept, repeated)
        return kept

    def _reject(self, reason: str, kept: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> None:
        self.rejected[reason] += int((kept & wrong).sum())
        kept &= ~wrong
