"""Which training pairs are left out, and how many for which reason.

Only training text is filtered. Validation and test keep all pairs, also blank and long ones: without the hard lines a
score would be another score, and a translation file has as many lines as its source.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import DataConfig
from seq2seq.corpus.cleaning.held_out import HeldOut, side_sketches
from seq2seq.corpus.cleaning.near import NearIndex, Sketches, of_pairs
from seq2seq.corpus.cleaning.rules import NEAR_DUPLICATE, VERSION, Measured, TextRules
from seq2seq.corpus.hashes import Hashes, SeenHashes, hash_pairs
from seq2seq.errors import CorpusError

Lengths = NDArray[np.int32]
OVERLAP, NEAR_OVERLAP, DUPLICATE = "overlap", "near_overlap", "duplicate"
_BLOCK = 10_000


class PairFilter:
    """Decides which pairs stay, block by block. A second pass over a corpus needs a new filter.

    What a pair is by itself, any process can judge, in any order (`keep_alone`). Whether it repeats an earlier one,
    only one pass over all blocks can tell (`keep_new`). `judge` does both.

    `rejected` counts each pair once, by its first reason: `empty`, the rules of `data.clean`, `too_long`,
    `length_ratio`, `overlap` and `near_overlap` (a pair is in valid or test too), `duplicate`, `near_duplicate`.
    """

    def __init__(self, config: DataConfig, held_out: Iterable[tuple[str, str]] = ()) -> None:
        """
        Args:
            held_out: the pairs of valid and test, which are read when the first block comes.
        """
        thresholds = config.clean.thresholds
        self._config = config
        self._rules = TextRules(thresholds, config.src_lang, config.tgt_lang)
        self._held_out_pairs = held_out
        self.drops_overlap, self._drops_near = config.drop_overlap != "off", config.drop_overlap == "near"
        self._seen = SeenHashes() if config.drop_duplicates else None
        self._near = NearIndex(thresholds[NEAR_DUPLICATE]) if NEAR_DUPLICATE in thresholds else None
        named = ("empty", *self._rules.thresholds, "too_long", "length_ratio")
        named += (OVERLAP,) if self.drops_overlap else ()
        named += (NEAR_OVERLAP,) if self._drops_near else ()
        named += (DUPLICATE,) + ((NEAR_DUPLICATE,) if self._near is not None else ())
        self.rejected = dict.fromkeys(named, 0)
        self.reasons: list[str] = list(self.rejected)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides which pairs stay, but for the text of valid and test: with equal settings, the same pairs do."""
        found: dict[str, Any] = {
            "max_sentence_tokens": self._config.max_sentence_tokens,
            "max_length_ratio": self._config.max_length_ratio,
            "drop_duplicates": self._seen is not None,
        }
        if self._config.clean.is_on:
            found["clean"] = [VERSION, self._config.clean.thresholds]
        if self.drops_overlap:
            found["drop_overlap"] = [VERSION, self._config.drop_overlap]
        return found

    @property
    def unknown_languages(self) -> list[str]:
        """The languages of which the rules `script` and `language` know nothing, if they are on."""
        return self._rules.unknown_languages

    @property
    def reads_text(self) -> bool:
        """Whether it leaves pairs out by more than their length and their repetition."""
        return self._config.clean.is_on or self.drops_overlap

    def stream(self, pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The pairs that stay, without a look at their tokens.

        Raises:
            CorpusError: none stays.
        """
        n_read = 0
        while block := list(islice(pairs, _BLOCK)):
            n_read += len(block)
            yield from compress(block, self.judge(block, hash_pairs(block), self.measured(block)) < 0)
        if n_read == sum(self.rejected.values()):
            raise CorpusError(nothing_left(n_read, self.rejected))

    def keep_alone(
        self, pairs: Sequence[tuple[str, str]], src_lengths: Lengths, tgt_lengths: Lengths
    ) -> tuple[NDArray[np.bool_], Counter[str]]:
        """Which pairs stay, whatever other pairs there are, and how many do not for which reason. It counts nothing.

        Args:
            src_lengths, tgt_lengths: tokens a side, without eos.
        """
        block = self._alone(pairs, self.measured(pairs), (src_lengths, tgt_lengths))
        return block.reason < 0, block.counts()

    def sketches(self, pairs: Sequence[tuple[str, str]]) -> Sketches:
        """What `keep_new` compares of pairs, besides their hashes; empty if it needs no more."""
        return of_pairs(*side_sketches(pairs if self._near is not None else []))

    def keep_new(self, hashes: Hashes, sketches: Sketches, rejected: Mapping[str, int]) -> NDArray[np.bool_]:
        """Which pairs of a block stay, of those that `keep_alone` keeps: not those that repeat an earlier one.

        Blocks come in the order of the corpus: the first of equal pairs stays.

        Args:
            hashes: of the pairs, from `hash_pairs`.
            sketches: of the pairs, from `sketches`.
            rejected: what `keep_alone` has found in this block, to be counted.
        """
        block = _Verdicts(self.reasons, len(hashes))
        self._reject_repeated(block, hashes, sketches)
        self._count(block.counts() + Counter(rejected))
        return block.reason < 0

    def measured(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Measured]:
        """What each rule measures of each pair."""
        return self._rules.measured(pairs)

    def judge(
        self,
        pairs: Sequence[tuple[str, str]],
        hashes: Hashes,
        measured: dict[str, Measured],
        lengths: tuple[Lengths, Lengths] | None = None,
    ) -> NDArray[np.int8]:
        """For each pair the number of its reason in `reasons`, or -1 if it stays. Counts them.

        Args:
            hashes: of the pairs, from `hash_pairs`.
            measured: of the pairs, from `measured`.
            lengths: tokens a side, without eos; None: the filters of tokens do not count.
        """
        block = self._alone(pairs, measured, lengths)
        rows = block.left()
        self._reject_repeated(block, hashes[rows], self.sketches([pairs[row] for row in rows]))
        self._count(block.counts())
        return block.reason

    def _alone(
        self,
        pairs: Sequence[tuple[str, str]],
        measured: Mapping[str, Measured],
        lengths: tuple[Lengths, Lengths] | None,
    ) -> "_Verdicts":
        """The verdicts on what pairs are by themselves."""
        block = _Verdicts(self.reasons, len(pairs))
        has_blank = np.fromiter((not (src.strip() and tgt.strip()) for src, tgt in pairs), dtype=np.bool_)
        block.reject("empty", has_blank)
        if lengths is not None:
            shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
            # A side without tokens can have text: nmt_nfkc removes U+FFFD and control characters.
            block.reject("empty", shorter == 0)
        for name, dropped in self._rules.dropped(measured).items():
            block.reject(name, dropped)
        if lengths is not None:
            block.reject("too_long", longer > self._config.max_sentence_tokens)
            if self._config.max_length_ratio:
                block.reject("length_ratio", longer > self._config.max_length_ratio * shorter)
        if self.drops_overlap:
            rows = block.left()
            block.reject_at(OVERLAP, rows, self._held_out.exact([pairs[row] for row in rows]))
        if self._drops_near:
            rows = block.left()
            left = [pairs[row] for row in rows]
            block.reject_at(NEAR_OVERLAP, rows, self._held_out.near(left, side_sketches(left)))
        return block

    def _reject_repeated(self, block: "_Verdicts", hashes: Hashes, sketches: Sketches) -> None:
        """Reject what came before.

        Args:
            hashes, sketches: of the pairs that have no reason yet.
        """
        rows = block.left()
        if self._seen is not None:
            is_new = self._seen.add(hashes)
            block.reject_at(DUPLICATE, rows, ~is_new)
            rows = rows[is_new]
            sketches = sketches[is_new] if self._near is not None else sketches
        if self._near is not None:
            block.reject_at(NEAR_DUPLICATE, rows, ~self._near.add_new(sketches))

    def _count(self, rejected: Mapping[str, int]) -> None:
        for reason, n in rejected.items():
            self.rejected[reason] += n

    @cached_property
    def _held_out(self) -> HeldOut:
        return HeldOut(self._held_out_pairs, near=self._drops_near)


def nothing_left(n_read: int, rejected: Mapping[str, int]) -> str:
    """What to tell the user if no pair stays."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in rejected.items() if count)
    return (
        f"none of {n_read:,} pairs is left after filtering ({reasons or 'nothing to filter'}); "
        "check the corpus, data.max_sentence_tokens, data.max_length_ratio, data.drop_overlap and data.clean"
    )


class _Verdicts:
    """The first reason of each pair of a block."""

    def __init__(self, reasons: Sequence[str], n_pairs: int) -> None:
        self._numbers = {name: number for number, name in enumerate(reasons)}
        self.reason = np.full(n_pairs, -1, dtype=np.int8)

    def reject(self, name: str, wrong: NDArray[np.bool_]) -> None:
        self.reason[wrong & (self.reason < 0)] = self._numbers[name]

    def left(self) -> NDArray[np.int64]:
        """The pairs that have no reason yet."""
        return np.flatnonzero(self.reason < 0)

    def counts(self) -> Counter[str]:
        """How many pairs have which reason."""
        return Counter({name: n for name, number in self._numbers.items() if (n := int((self.reason == number).sum()))})

    def reject_at(self, name: str, rows: NDArray[np.int64], wrong: NDArray[np.bool_]) -> None:
        self.reason[rows[wrong]] = self._numbers[name]
