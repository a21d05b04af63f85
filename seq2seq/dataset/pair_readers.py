"""What is read of a pair in each epoch: augmented text, another segmentation (subword regularisation), or no tag.

Each is a function of (seed, epoch, slot, pair), so that a resumed run reads the same.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from seq2seq.corpus.augmentation import AUGMENTATIONS, joined
from seq2seq.dataset.augmentation import Augmentation, n_joined
from seq2seq.dataset.batches import PairReader
from seq2seq.dataset.plan import Slots
from seq2seq.dataset.store import PairStore
from seq2seq.segmentation import Draw, RandomSegmentation
from seq2seq.tokenizer import Tokenizer

_DRAWS = 4  # of a segmentation
_NEAR = 4  # pairs after a pair that may be joined to it


class SampledSegmentation:
    """Subword regularisation: segments each sentence anew in each epoch.

    A segmentation with more tokens than its slot has room for is drawn again. So a sentence has the distribution of
    the sampler, limited to the segmentations that fit. If none of `_DRAWS` fits, the best one is taken.
    """

    def __init__(self, store: PairStore, segment: RandomSegmentation, slots: Slots, seed: int) -> None:
        """slots: have room for the stored lengths at least."""
        self.store, self.segment, self.seed = store, segment, seed
        self.rooms = slots.src_lengths, slots.tgt_lengths

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]:
        texts = self.store.src_text(index), self.store.tgt_text(index)
        return self.sampled(texts, (self.store.src(index).tolist(), self.store.tgt(index).tolist()), epoch, slot)

    def sampled(
        self, texts: Sequence[str], best: tuple[list[int], list[int]], epoch: int, slot: int
    ) -> tuple[list[int], list[int]]:
        """Both sides of the pair in a slot.

        Args:
            texts: source and target.
            best: their best segmentations, a source after its tag if it has one.
        """
        draw = _random(self.seed, "segmentation", epoch, slot).random
        tag = _tag(best[0], self.segment.tokenizer)
        max_src, max_tgt = (int(lengths[slot]) for lengths in self.rooms)
        src = self._within(texts[0], max_src - len(tag), draw)
        tgt = self._within(texts[1], max_tgt, draw)
        return best[0] if src is None else tag + src, best[1] if tgt is None else tgt

    def _within(self, text: str, room: int, draw: Draw) -> list[int] | None:
        segmentations = (self.segment(text, draw) for _ in range(_DRAWS))
        return next((ids for ids in segmentations if len(ids) <= room), None)


class Augmented:
    """Reads the pairs of some slots as people write them.

    One that has more tokens than its slot has room for is read as it is stored.
    """

    def __init__(
        self,
        store: PairStore,
        tokenizer: Tokenizer,
        augmentation: Augmentation,
        seed: int,
        sampling: SampledSegmentation | None = None,
    ) -> None:
        """sampling: segments the pairs of all slots, those with augmentation too; None takes the best segmentations."""
        self.store, self.tokenizer, self.augmentation, self.seed = store, tokenizer, augmentation, seed
        self.sampling = sampling
        self._ends = list(accumulate(store.n_pairs_of_sources))

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]:
        if names := self.augmentation.augmentations(slot):
            draw = _random(self.seed, "augmentation", epoch, slot)
            if (augmented := self._augmented(index, slot, names, draw)) is not None:
                texts, best = augmented
                return best if self.sampling is None else self.sampling.sampled(texts, best, epoch, slot)
        if self.sampling is not None:
            return self.sampling(index, epoch, slot)
        return self.store.src(index).tolist(), self.store.tgt(index).tolist()

    def _augmented(
        self, index: int, slot: int, names: Sequence[str], draw: random.Random
    ) -> tuple[Sequence[str], tuple[list[int], list[int]]] | None:
        """The pair as texts and as token ids; None if it does not fit, or if nothing is left of it."""
        max_src = int(self.augmentation.src_lengths[slot])
        max_tgt = int(self.augmentation.tgt_lengths[slot])
        pairs = self._neighbours(index, n_joined(names), max_src, max_tgt)
        texts: Sequence[str] = joined([(self.store.src_text(i), self.store.tgt_text(i)) for i in pairs])
        for name in names:
            if n_joined([name]) == 1:
                texts = AUGMENTATIONS[name].apply(texts, draw)
        src, tgt = self.tokenizer.encode(texts)
        if not src or not tgt:
            return None
        src = _tag(self.store.src(index).tolist(), self.tokenizer) + src
        return (texts, (src, tgt)) if len(src) <= max_src and len(tgt) <= max_tgt else None

    def _neighbours(self, index: int, n: int, max_src: int, max_tgt: int) -> list[int]:
        """`index` and the next pairs of its source that have room beside it; `n` in all, if there are so many."""
        end = self._ends[bisect_right(self._ends, index)]
        n_src, n_tgt = len(self.store.src(index)), len(self.store.tgt(index))
        pairs = [index]
        for other in range(index + 1, min(index + 1 + _NEAR, end)):
            if len(pairs) == n:
                break
            more_src, more_tgt = len(self.store.src(other)), len(self.store.tgt(other))
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
        if _tag(src, self.tokenizer) and _random(self.seed, "tag", epoch, slot).random() < self.share:
            src = src[1:]
        return src, tgt


def _tag(src: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """The id of the tag that a source begins with, if it has one."""
    return [src[0]] if src and src[0] in tokenizer.tags.values() else []


def _random(seed: int, purpose: str, epoch: int, slot: int) -> random.Random:
    """A generator of its own for each slot, epoch and purpose."""
    return random.Random(f"{seed} {purpose} {epoch} {slot}")  # seeded by SHA-512, not by Python's hashes
