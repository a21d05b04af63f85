"""Which training pairs are left out, and for which reason.

Only training text is judged. Validation and test keep all pairs, also blank and long ones: without the hard lines a
score would be another score, and a translation file has as many lines as its source.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import DataConfig
from seq2seq.config.clean import NEAR_DUPLICATE
from seq2seq.corpus.cleaning import languages
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.cleaning.measures import RULES, VERSION, Pair
from seq2seq.corpus.cleaning.near import NearIndex, pair_sketches
from seq2seq.corpus.hashes import SeenHashes, hash_pairs
from seq2seq.errors import CorpusError

Lengths = NDArray[np.int32]
Reasons = NDArray[np.int8]  # for each pair the number of its reason, or -1 if it stays
Measured = dict[str, NDArray[np.float32]]  # what each rule measures of each pair
EMPTY, TOO_LONG, LENGTH_RATIO = "empty", "too_long", "length_ratio"
OVERLAP, NEAR_OVERLAP, DUPLICATE = "overlap", "near_overlap", "duplicate"
Find = Callable[[Sequence[tuple[str, str]]], NDArray[np.bool_]]
_BLOCK = 10_000


class Judged(NamedTuple):
    """The first reason of each pair of a block, as its number in `Judge.reasons`, and what the rules measured."""

    reasons: Reasons
    measured: Measured

    def value(self, name: str, row: int) -> float | None:
        """What the rule of this name measured of a pair."""
        return round(float(self.measured[name][row]), 3) if name in self.measured else None


class Judge:
    """Judges each pair by itself: any process can do so, in any order.

    Whether a pair repeats an earlier one, only who has all blocks in order can tell: `SeenHashes`, or `JudgeInOrder`.

    Attributes:
        reasons: `empty`, the rules of `data.clean`, `too_long`, `length_ratio`, `overlap` and `near_overlap` (valid or
            test has the pair), `duplicate`. The first one of a pair counts.
    """

    def __init__(self, config: DataConfig, held_out: HeldOut | None = None) -> None:
        """
        Args:
            held_out: the text of valid and test; None: no pair is in it.
        """
        self._config = config
        self._thresholds = config.clean.thresholds
        self._rules = [rule for rule in RULES if rule.name in self._thresholds]
        self._held_out = held_out or HeldOut((), near=True)
        self.drops_overlap, self._drops_near = config.drop_overlap != "off", config.drop_overlap == "near"
        self.drops_duplicates = config.drop_duplicates
        named = [rule.name for rule in self._rules]
        overlaps = [OVERLAP] * self.drops_overlap + [NEAR_OVERLAP] * self._drops_near
        self.reasons = [EMPTY, *named, TOO_LONG, LENGTH_RATIO, *overlaps, DUPLICATE]

    @property
    def settings(self) -> dict[str, Any]:
        """What decides which pairs stay, but for the text of valid and test: with equal settings, the same pairs do."""
        config = self._config
        found = {key: getattr(config, key) for key in ("max_sentence_tokens", "max_length_ratio", "drop_duplicates")}
        if config.clean.is_on:
            found["clean"] = [VERSION, self._thresholds]
        if self.drops_overlap:
            found["drop_overlap"] = [VERSION, config.drop_overlap]
        return found

    @property
    def unknown_languages(self) -> list[str]:
        """The languages of which the rules `script` and `language` know nothing, if they are on."""
        if not {"script", "language"} & set(self._thresholds):
            return []
        return [name for name in (self._config.src_lang, self._config.tgt_lang) if not languages.is_known(name)]

    @property
    def reads_text(self) -> bool:
        """Whether it leaves pairs out by more than their length and their repetition."""
        return self._config.clean.is_on or self.drops_overlap

    def judge(self, pairs: Sequence[tuple[str, str]], lengths: tuple[Lengths, Lengths] | None = None) -> Judged:
        """
        Args:
            lengths: tokens a side, without eos; None: the filters of tokens do not count.
        """
        reasons = np.full(len(pairs), -1, dtype=np.int8)

        def reject(name: str, wrong: NDArray[np.bool_]) -> None:
            reasons[wrong & (reasons < 0)] = self.reasons.index(name)

        reject(EMPTY, np.array([not (src.strip() and tgt.strip()) for src, tgt in pairs], dtype=np.bool_))
        if lengths is not None:
            shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
            # A side without tokens can have text: nmt_nfkc removes U+FFFD and control characters.
            reject(EMPTY, shorter == 0)
        read = [Pair(src, tgt, self._config.src_lang, self._config.tgt_lang) for src, tgt in pairs]
        measured = {rule.name: np.fromiter(map(rule.measure, read), dtype=np.float32) for rule in self._rules}
        for name, values in measured.items():
            reject(name, values > self._thresholds[name])
        if lengths is not None:
            reject(TOO_LONG, longer > self._config.max_sentence_tokens)
            if self._config.max_length_ratio:
                reject(LENGTH_RATIO, longer > self._config.max_length_ratio * shorter)
        if self.drops_overlap:
            self._find(OVERLAP, reasons, pairs, self._held_out.exact)
        if self._drops_near:
            self._find(NEAR_OVERLAP, reasons, pairs, self._held_out.near)
        return Judged(reasons, measured)

    def counted(self, reasons: Reasons) -> Counter[str]:
        """How many pairs have which reason."""
        return Counter(self.reasons[number] for number in reasons[reasons >= 0].tolist())

    def _find(self, name: str, reasons: Reasons, pairs: Sequence[tuple[str, str]], find: Find) -> None:
        """Give this reason to those pairs without one that `find` finds."""
        rows = np.flatnonzero(reasons < 0)
        reasons[rows[find([pairs[row] for row in rows.tolist()])]] = self.reasons.index(name)


class JudgeInOrder(Judge):
    """Also finds what repeats an earlier pair. Blocks come in the order of the corpus, so that the first one stays."""

    def __init__(self, config: DataConfig, held_out: HeldOut | None = None) -> None:
        super().__init__(config, held_out)
        self._seen, self._near = SeenHashes(), NearIndex(self._thresholds.get(NEAR_DUPLICATE, 1.0))
        self.reasons += [NEAR_DUPLICATE]

    def judge(self, pairs: Sequence[tuple[str, str]], lengths: tuple[Lengths, Lengths] | None = None) -> Judged:
        judged = super().judge(pairs, lengths)
        if self.drops_duplicates:
            self._find(DUPLICATE, judged.reasons, pairs, lambda left: ~self._seen.add(hash_pairs(left)))
        if NEAR_DUPLICATE in self._thresholds:
            self._find(NEAR_DUPLICATE, judged.reasons, pairs, lambda left: ~self._near.add_new(pair_sketches(left)))
        return judged


def good_pairs(judge: JudgeInOrder, pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs that stay, without a look at their tokens.

    Raises:
        CorpusError: none stays.
    """
    n_read, rejected = 0, Counter(dict.fromkeys(judge.reasons, 0))
    while block := list(islice(pairs, _BLOCK)):
        reasons = judge.judge(block).reasons
        n_read += len(block)
        rejected.update(judge.counted(reasons))
        yield from compress(block, reasons < 0)
    if n_read == rejected.total():
        raise CorpusError(nothing_left(n_read, rejected))


def nothing_left(n_read: int, rejected: Mapping[str, int]) -> str:
    """What to tell the user if no pair stays."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in rejected.items() if count)
    return (
        f"none of {n_read:,} pairs is left after filtering ({reasons or 'nothing to filter'}); "
        "check the corpus, data.max_sentence_tokens, data.max_length_ratio, data.drop_overlap and data.clean"
    )
