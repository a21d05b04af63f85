"""What is read of a pair in each epoch: another segmentation (subword regularisation), or no tag (tag dropout).

Each is a function of (seed, epoch, pair), so that a resumed run reads the same.
"""

import random
from collections.abc import Sequence

from seq2seq.dataset.batches import PairReader
from seq2seq.dataset.store import PairStore
from seq2seq.tokenizer import Tokenizer


class SampledSegmentation:
    """Subword regularisation: segments each sentence anew in each epoch.

    The plan of an epoch counts the tokens of the best segmentation. Sampled segmentations are longer, by about the
    rate of sampling. One that does not fit into the model is replaced by the best one.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, alpha: float, seed: int, max_length: int) -> None:
        self.store, self.tokenizer, self.alpha, self.seed, self.max_length = store, tokenizer, alpha, seed, max_length

    def __call__(self, index: int, epoch: int) -> tuple[Sequence[int], Sequence[int]]:
        seed = _pair_seed(self.seed, epoch, index) * 2
        best_src = self.store.src(index).tolist()
        sampled = self.tokenizer.sample(self.store.src_text(index), seed, self.alpha)
        src = _tag(best_src, self.tokenizer) + sampled
        tgt = self.tokenizer.sample(self.store.tgt_text(index), seed + 1, self.alpha)
        if max(len(src), len(tgt)) >= self.max_length:  # one more token begins or ends them
            return best_src, self.store.tgt(index).tolist()
        return src, tgt


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

    def __call__(self, index: int, epoch: int) -> tuple[Sequence[int], Sequence[int]]:
        if self.read_pair is not None:
            src, tgt = self.read_pair(index, epoch)
        else:
            src, tgt = self.store.src(index).tolist(), self.store.tgt(index).tolist()
        if _tag(src, self.tokenizer) and random.Random(_pair_seed(self.seed, epoch, index)).random() < self.share:
            src = src[1:]
        return src, tgt


def _tag(src: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """The id of the tag that a source begins with, if it has one."""
    return [src[0]] if src[0] in tokenizer.tags.values() else []


def _pair_seed(seed: int, epoch: int, index: int) -> int:
    return (seed * 1_000_003 + epoch) * 1_000_003 + index
