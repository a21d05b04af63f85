"""What is read of a pair in each epoch: text in disguise, another segmentation (subword regularisation), or no tag.

Each is a function of (seed, epoch, slot, pair), so that a resumed run reads the same.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from seq2seq.corpus.disguises import DISGUISES, joined
from seq2seq.dataset.augmentation import Augmentation, n_joined
from seq2seq.dataset.batches import PairReader
from seq2seq.dataset.store import PairStore
from seq2seq.tokenizer import Tokenizer

_NEAR = 4  # pairs after a pair that may be joined to it


class SampledSegmentation:
    """Subword regularisation: segments each sentence anew in each epoch.

    The plan of an epoch counts the tokens of the best segmentation. Sampled segmentations are longer, by about the
    rate of sampling. One that does not fit into the model is replaced by the best one.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, alpha: float, seed: int, max_length: int) -> None:
        self.store, self.tokenizer, self.alpha, self.seed, self.max_length = store, tokenizer, alpha, seed, max_length

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]:
        seed = _slot_seed(self.seed, epoch, slot) * 2
        best_src = self.store.src(index).tolist()
        sampled = self.tokenizer.sample(self.store.src_text(index), seed, self.alpha)
        src = _tag(best_src, self.tokenizer) + sampled
        tgt = self.tokenizer.sample(self.store.tgt_text(index), seed + 1, self.alpha)
        if max(len(src), len(tgt)) >= self.max_length:  # one more token begins or ends them
            return best_src, self.store.tgt(index).tolist()
        return src, tgt


class Disguised:
    """Reads the pairs of some slots as people write them.

    One that has more tokens than its slot has room for is read as it is stored.
    """

    def __init__(
        self,
        store: PairStore,
        tokenizer: Tokenizer,
        augmentation: Augmentation,
        seed: int,
        read_pair: PairReader | None = None,
    ) -> None:
        """read_pair: reads the pairs of the other slots; None takes them from the store."""
        self.store, self.tokenizer, self.augmentation, self.seed = store, tokenizer, augmentation, seed
        self.read_pair = read_pair
        self._ends = list(accumulate(store.n_pairs_of_sources))

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]:
        if names := self.augmentation.disguises(slot):
            disguised = self._disguised(index, slot, names, random.Random(_slot_seed(self.seed, epoch, slot)))
            if disguised is not None:
                return disguised
        if self.read_pair is not None:
            return self.read_pair(index, epoch, slot)
        return self.store.src(index).tolist(), self.store.tgt(index).tolist()

    def _disguised(
        self, index: int, slot: int, names: Sequence[str], draw: random.Random
    ) -> tuple[list[int], list[int]] | None:
        """The pair as token ids; None if it does not fit, or if nothing is left of it."""
        max_src = int(self.augmentation.src_lengths[slot])
        max_tgt = int(self.augmentation.tgt_lengths[slot])
        pairs = self._neighbours(index, n_joined(names), max_src, max_tgt)
        texts: Sequence[str] = joined([(self.store.src_text(i), self.store.tgt_text(i)) for i in pairs])
        for name in names:
            if n_joined([name]) == 1:
                texts = DISGUISES[name].apply(texts, draw)
        src, tgt = self.tokenizer.encode(texts)
        if not src or not tgt:
            return None
        src = _tag(self.store.src(index).tolist(), self.tokenizer) + src
        return (src, tgt) if len(src) <= max_src and len(tgt) <= max_tgt else None

    def _neighbours(self, index: int, n: int, max_src: int, max_tgt: int) -> list[int]:
        """`index` and the next pairs of its source that have room beside it; `n` in all, if there are so many."""
        end = self._ends[bisect_right(self._ends, index)]
        n_src, n_tgt = int(self.store.src_lengths[index]), int(self.store.tgt_lengths[index])
        pairs = [index]
        for other in range(index + 1, min(index + 1 + _NEAR, end)):
            if len(pairs) == n:
                break
            more_src, more_tgt = int(self.store.src_lengths[other]), int(self.store.tgt_lengths[other])
            if n_src + more_src <= max_src and n_tgt + more_tgt <= max_tgt:
                n_src, n_tgt = n_src + more_src, n_tgt + more_tgt
                pairs.append(other)
        return pairs


class TagDropout:
    """Leaves out the tag of some sources, so that the model also learns to translate text without a tag."""

    def __init__(
        self, store: PairStore, tokenizer: Tokenizer, share: float, seed: int, read_pair: PairReader | None = None
    ) -> None:
        """
        Args:
            share: of the tags, how many are left out.
            read_pair: gives the segmentations; None takes those of the store.
        """
        self.store, self.tokenizer, self.share, self.seed, self.read_pair = store, tokenizer, share, seed, read_pair

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]:
        if self.read_pair is not None:
            src, tgt = self.read_pair(index, epoch, slot)
        else:
            src, tgt = self.store.src(index).tolist(), self.store.tgt(index).tolist()
        if _tag(src, self.tokenizer) and random.Random(_slot_seed(self.seed, epoch, slot)).random() < self.share:
            src = src[1:]
        return src, tgt


def _tag(src: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """The id of the tag that a source begins with, if it has one."""
    return [src[0]] if src and src[0] in tokenizer.tags.values() else []


def _slot_seed(seed: int, epoch: int, slot: int) -> int:
    return (seed * 1_000_003 + epoch) * 1_000_003 + slot
