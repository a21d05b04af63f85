"""How much longer an augmentation or a random segmentation makes sentences, measured on some of them."""

import random
from collections.abc import Iterable, Sequence

import numpy as np

from seq2seq.corpus.augmentation import AUGMENTATIONS
from seq2seq.dataset.augmentation import Growth, n_joined
from seq2seq.dataset.store import PairStore
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer

_MOST_PAIRS = 500  # that are measured
_FITTING_PERCENT = 90  # of the sentences; more room would mean more padding


def measure_growths(store: PairStore, tokenizer: Tokenizer, names: Iterable[str]) -> dict[str, tuple[Growth, Growth]]:
    """The growth of source and target with each augmentation that is not a join."""
    pairs = _some_pairs(store)
    before = _lengths(pairs, tokenizer)
    return {
        name: _growth(before, _lengths([_augmented(name, pair) for pair in pairs], tokenizer))
        for name in names
        if n_joined([name]) == 1
    }


def measure_sampling(store: PairStore, segment: RandomSegmentation) -> tuple[Growth, Growth]:
    """The growth of source and target when they are segmented at random: of the sentences that become longer.

    At a low rate these are few. If all sentences counted, the room would be too small for any of them.
    """
    pairs = _some_pairs(store)
    draw = random.Random(0).random
    before = _lengths(pairs, segment.tokenizer)
    after = np.array([[len(segment(text, draw)) for text in pair] for pair in pairs])
    is_longer = after > before
    src, tgt = (_growth_of_side(before[is_longer[:, k], k], after[is_longer[:, k], k]) for k in (0, 1))
    return src, tgt


def _some_pairs(store: PairStore) -> list[tuple[str, str]]:
    indices = range(0, len(store), -(-len(store) // _MOST_PAIRS))
    return [(store.src_text(i), store.tgt_text(i)) for i in indices]


def _augmented(name: str, pair: Sequence[str]) -> list[str]:
    return AUGMENTATIONS[name].apply(pair, random.Random(pair[0]))


def _lengths(pairs: Sequence[Sequence[str]], tokenizer: Tokenizer) -> np.ndarray:
    """(pairs, 2) tokens of source and target."""
    return np.array([[len(ids) for ids in tokenizer.encode(pair)] for pair in pairs])


def _growth(before: np.ndarray, after: np.ndarray) -> tuple[Growth, Growth]:
    return _growth_of_side(before[:, 0], after[:, 0]), _growth_of_side(before[:, 1], after[:, 1])


def _growth_of_side(before: np.ndarray, after: np.ndarray) -> Growth:
    """In proportion to the length, as capitals grow, or by as many tokens for all, as an emoji does: what is less."""
    if not len(before):
        return Growth(1.0, 0)

    def growth(times: float) -> Growth:
        more = np.percentile(after - times * before, _FITTING_PERCENT)
        return Growth(times, max(0, int(np.ceil(more))))

    in_proportion, by_as_many = growth(max(1.0, float(after.sum() / max(1, before.sum())))), growth(1.0)
    return min(in_proportion, by_as_many, key=lambda each: each.times * before.mean() + each.more)
