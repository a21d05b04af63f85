"""How a row of an epoch reads its pair: augmented, segmented at random (subword regularisation), without its tag.

All that is a function of seed, epoch and row, so that a resumed run reads the same.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.augmentation import AUGMENTATIONS, joined
from seq2seq.dataset.epoch import AS_STORED, Draws, Epoch, Growth
from seq2seq.dataset.plan import Rows
from seq2seq.dataset.store import PairStore
from seq2seq.segmentation import Draw, RandomSegmentation
from seq2seq.tokenizer import Tokenizer

_MOST_PAIRS = 500  # that are measured
_FITTING_PERCENT = 90  # of the sides that become longer; a higher share would mean more padding
_DRAWS = 4  # of a segmentation


class PairReader:
    """Reads the rows of an epoch.

    What has more tokens than fit its batch is read as it is stored: an augmented pair without augmentations, a
    side that is segmented at random in its best segmentation, after some more draws.
    """

    def __init__(
        self,
        store: PairStore,
        tokenizer: Tokenizer,
        epoch: Epoch,
        seed: int,
        *,
        segment: RandomSegmentation | None = None,
        tag_dropout: float = 0.0,
    ) -> None:
        """
        Args:
            segment: None: no segmentation is drawn.
            tag_dropout: share of the tags that are left out.
        """
        self.store, self.tokenizer, self.epoch, self.seed = store, tokenizer, epoch, seed
        self.segment, self.tag_dropout = segment, tag_dropout
        self._names, self._tags = list(epoch.draws.shares), set(tokenizer.tags.values())

    def read(self, rows: Rows, epoch: int) -> tuple[list[list[int]], list[list[int]]]:
        """The sources and the targets of a micro-batch."""
        pairs, kinds = (found(rows.numbers, epoch).tolist() for found in (self.epoch.pairs, self.epoch.kinds))
        names = {kind: [name for bit, name in enumerate(self._names) if kind >> bit & 1] for kind in set(kinds)}
        read = [
            self._pair(pair, names[kind], f"{epoch} {row}", rows)
            for row, pair, kind in zip(rows.numbers.tolist(), pairs, kinds, strict=True)
        ]
        return [src for src, _ in read], [tgt for _, tgt in read]

    def _pair(self, pair: int, names: Sequence[str], place: str, rows: Rows) -> tuple[list[int], list[int]]:
        tag = [token for token in self.store.src(pair)[:1].tolist() if token in self._tags] if self._tags else []
        if not (names or self.segment or (tag and self.tag_dropout)):
            return self._stored(pair)
        draw = random.Random(f"{self.seed} {place}")  # seeded by SHA-512, not by Python's hashes
        drops_tag = draw.random() < self.tag_dropout
        texts = self._texts(pair, names, draw) if names or self.segment else []
        ids = _encoded(self.tokenizer, texts) if names else []
        if ids and all(ids) and len(tag + ids[0]) <= rows.max_src and len(ids[1]) <= rows.max_tgt:
            src, tgt = tag + ids[0], ids[1]
        else:
            src, tgt = self._stored(pair)
            texts = self._texts(pair, [], draw) if self.segment else []
        if self.segment:
            src = tag + (_drawn(self.segment, texts[0], rows.max_src - len(tag), draw.random) or src[len(tag) :])
            tgt = _drawn(self.segment.target, texts[1], rows.max_tgt, draw.random) or tgt
        return src[len(tag) :] if drops_tag else src, tgt

    def _stored(self, pair: int) -> tuple[list[int], list[int]]:
        return self.store.src(pair).tolist(), self.store.tgt(pair).tolist()

    def _texts(self, pair: int, names: Sequence[str], draw: random.Random) -> Sequence[str]:
        """Source and target with these augmentations."""
        pairs = range(pair, pair + self.epoch.n_joined(pair, names))
        texts: Sequence[str] = joined([(self.store.src_text(i), self.store.tgt_text(i)) for i in pairs])
        for name in names:
            texts = AUGMENTATIONS[name].apply(texts, draw)
        return texts


def _encoded(tokenizer: Tokenizer, pair: Sequence[str]) -> list[list[int]]:
    """Ids of a source and a target."""
    (src,), (tgt,) = tokenizer.encode(pair[:1]), tokenizer.target.encode(pair[1:])
    return [src, tgt]


def _drawn(segment: RandomSegmentation, text: str, most: int, draw: Draw) -> list[int] | None:
    """A segmentation with the distribution of the sampler, limited to those that fit; None if no draw does."""
    segmentations = (segment(text, draw) for _ in range(_DRAWS))
    return next((ids for ids in segmentations if len(ids) <= most), None)


def measured(
    store: PairStore,
    tokenizer: Tokenizer,
    shares: Mapping[str, float],
    segment: RandomSegmentation | None,
    longest: int,
) -> Draws:
    """What is drawn, with the growth that it brings, as some of the pairs have it.

    Args:
        shares: of the augmentations.
        segment: None: no segmentation is drawn.
        longest: tokens that a side may grow to.
    """
    if not shares and segment is None:
        return AS_STORED
    pairs = [(store.src_text(i), store.tgt_text(i)) for i in range(0, len(store), -(-len(store) // _MOST_PAIRS))]
    best = _lengths(_encoded(tokenizer, pair) for pair in pairs)
    growths = {}
    for augmentation in map(AUGMENTATIONS.__getitem__, shares):
        if augmentation.n_lines == 1:
            augmented = (augmentation.apply(pair, random.Random(pair[0])) for pair in pairs)
            growths[augmentation.name] = _growth(best, _lengths(_encoded(tokenizer, pair) for pair in augmented))
    draw = random.Random(0).random
    sampled = None
    if segment:
        drawn = ([segment(src, draw), segment.target(tgt, draw)] for src, tgt in pairs)
        sampled = _growth(best, _lengths(drawn))
    return Draws(shares, growths, sampled, longest)


def _lengths(pairs: Iterable[Sequence[Sequence[int]]]) -> NDArray[Any]:
    """(2, pairs) tokens of source and target."""
    return np.array([[len(ids) for ids in pair] for pair in pairs]).T


def _growth(before: NDArray[Any], after: NDArray[Any]) -> Growth:
    """Of source and target. Only the sides that become longer count: with a low rate of regularisation they are few."""
    sides = [_growth_of_side(b[a > b], a[a > b]) for b, a in zip(before, after, strict=True)]
    return Growth(*np.array(sides).T[..., None])


def _growth_of_side(before: NDArray[Any], after: NDArray[Any]) -> tuple[float, float]:
    """In proportion to the length, as capitals grow, or by as many tokens for all, as an emoji does: what is less."""
    if not len(before):
        return 1.0, 0.0

    def growth(times: float) -> tuple[float, float]:
        return times, max(0.0, np.ceil(np.percentile(after - times * before, _FITTING_PERCENT)))

    in_proportion, by_as_many = growth(after.sum() / max(1, before.sum())), growth(1.0)
    return min(in_proportion, by_as_many, key=lambda each: each[0] * before.mean() + each[1])
