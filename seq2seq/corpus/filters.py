"""Which training pairs are left out, and how many for which reason.

Only training text is filtered. Validation and test keep all pairs, also blank and long ones: without the hard lines a
score would be another score, and a translation file has as many lines as its source.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import DataConfig
from seq2seq.corpus.hashes import Hashes, SeenHashes

Lengths = NDArray[np.int32]


class PairFilter:
    """Decides which pairs stay, block by block. A second pass over a corpus needs a new filter.

    What a pair is by itself, any process can judge, in any order (`keep_alone`). Whether it repeats an earlier one,
    only one pass over all blocks can tell (`keep_new`).

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

    def keep_alone(
        self, pairs: Sequence[tuple[str, str]], src_lengths: Lengths, tgt_lengths: Lengths
    ) -> tuple[NDArray[np.bool_], Counter[str]]:
        """Which pairs stay, whatever other pairs there are, and how many do not for which reason. It counts nothing.

        Args:
            src_lengths, tgt_lengths: tokens a side, without eos.
        """
        shorter = np.minimum(src_lengths, tgt_lengths)
        longer = np.maximum(src_lengths, tgt_lengths)
        has_blank = np.fromiter((not (src.strip() and tgt.strip()) for src, tgt in pairs), dtype=np.bool_)
        kept = np.ones(len(pairs), dtype=np.bool_)
        rejected: Counter[str] = Counter()

        def reject(reason: str, wrong: NDArray[np.bool_]) -> None:
            rejected[reason] += int((kept & wrong).sum())
            kept[wrong] = False

        # A side without tokens can have text: nmt_nfkc removes U+FFFD and control characters.
        reject("empty", has_blank | (shorter == 0))
        reject("too_long", longer > self._max_sentence_tokens)
        if self._max_ratio:
            reject("length_ratio", longer > self._max_ratio * shorter)
        return kept, rejected

    def keep_new(self, hashes: Hashes, rejected: Mapping[str, int]) -> NDArray[np.bool_]:
        """Which pairs of a block stay, of those that `keep_alone` keeps: not those that repeat an earlier one.

        Blocks come in the order of the corpus: the first of equal pairs stays.

        Args:
            hashes: of the pairs, from `hash_pairs`.
            rejected: what `keep_alone` has found in this block, to be counted.
        """
        for reason, n in rejected.items():
            self.rejected[reason] += n
        if self._seen is None:
            return np.ones(len(hashes), dtype=np.bool_)
        is_new = self._seen.add(hashes)
        self.rejected["duplicate"] += len(hashes) - int(is_new.sum())
        return is_new
