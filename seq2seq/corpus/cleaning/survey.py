"""Figures of a corpus before and after cleaning, gathered block by block in bounded memory.

It holds counts, a sample of at most 65,536 pairs for thresholds, a few examples of each reason, and 16 bytes for each
pair: the hashes of different pairs and of their sources.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import script_of
from seq2seq.corpus.cleaning.languages import detected
from seq2seq.corpus.cleaning.measures import normal_forms_of
from seq2seq.corpus.cleaning.rules import RULES
from seq2seq.corpus.hashes import Hashes, SeenHashes, hash_lines
from seq2seq.corpus.judge import Measured, Reasons

LENGTHS = (1, 5, 10, 20, 40, 80, 160)  # words from which a bar of the histogram starts; the first one has 0
RATIOS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)  # longer over shorter side, in characters
N_EXAMPLES = 5
_SHARE_KEPT = 0.99  # of good pairs, by the suggested thresholds
_N_SAMPLED = 65_536
_LANGUAGE_EVERY = 10  # pairs: the language takes as long as all else together


@dataclass
class _Part:
    """Figures of all pairs, or of those that stay."""

    n_pairs: int
    n_words: dict[str, int]
    lengths: dict[str, NDArray[np.int64]]
    ratios: NDArray[np.int64]
    languages: dict[str, Counter[str]]
    scripts: dict[str, Counter[str]]

    @classmethod
    def empty(cls) -> "_Part":
        return cls(
            0,
            dict.fromkeys(_SIDES, 0),
            {side: np.zeros(len(LENGTHS) + 1, dtype=np.int64) for side in _SIDES},
            np.zeros(len(RATIOS), dtype=np.int64),
            {side: Counter() for side in _SIDES},
            {side: Counter() for side in _SIDES},
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "pairs": self.n_pairs,
            "words": self.n_words,
            "length_histogram": {side: counts.tolist() for side, counts in self.lengths.items()},
            "ratio_histogram": self.ratios.tolist(),
            "languages": {side: dict(counts.most_common(8)) for side, counts in self.languages.items()},
            "scripts": {side: dict(counts.most_common(8)) for side, counts in self.scripts.items()},
        }


_SIDES = ("src", "tgt")


class Survey:
    """Gathers figures; `report` gives them as JSON types."""

    def __init__(self, reasons: Sequence[str], thresholds: Mapping[str, float]) -> None:
        self._reasons = reasons
        self._thresholds = thresholds
        self._before, self._after = _Part.empty(), _Part.empty()
        self._failed = dict.fromkeys(thresholds, 0)
        self._examples: dict[str, list[tuple[int, float, str, str]]] = defaultdict(list)
        self._sources: list[dict[str, Any]] = []
        self._sample: list[NDArray[np.float32]] = []
        self._stride, self._n_sampled = 1, 0
        self._pairs = SeenHashes()
        self._n_copies = 0
        self._src_of_pairs: list[Hashes] = []
        self._forms: Counter[str] = Counter()

    def start_source(self, name: str) -> None:
        """What comes next is of this corpus."""
        self._sources.append({"name": name, "read": 0, "kept": 0, "rejected": Counter()})

    def add(
        self,
        pairs: Sequence[tuple[str, str]],
        hashes: Hashes,
        measured: Measured,
        reason: Reasons,
    ) -> None:
        """A block of pairs.

        Args:
            hashes: of the pairs.
            measured: what each rule measures of each pair.
            reason: for each pair the number of its reason, or -1 if it stays.
        """
        kept = reason < 0
        source = self._sources[-1]
        source["read"] += len(pairs)
        source["kept"] += int(kept.sum())
        source["rejected"].update(self._reasons[number] for number in reason[~kept].tolist())
        for name, threshold in self._thresholds.items():
            if name in measured:
                self._failed[name] += int((measured[name] > threshold).sum())
        self._count(pairs, kept)
        self._keep_examples(pairs, hashes, measured, reason)
        self._keep_sample(measured, len(pairs))
        self._n_copies += sum(src.strip() == tgt.strip() for src, tgt in pairs)
        is_new = self._pairs.add(hashes)
        self._src_of_pairs.append(hash_lines(src for (src, _), new in zip(pairs, is_new, strict=True) if new))

    def report(self) -> dict[str, Any]:
        """All figures, as JSON types."""
        before, after = self._before, self._after
        rejected: Counter[str] = Counter()
        for source in self._sources:
            rejected.update(source["rejected"])
        return {
            "read": before.n_pairs,
            "kept": after.n_pairs,
            "rejected": {name: rejected[name] for name in self._reasons if rejected[name]},
            "before": before.as_json(),
            "after": after.as_json(),
            "bins": {"lengths": [0, *LENGTHS], "ratios": list(RATIOS)},
            "copies": self._n_copies,
            "duplicates": before.n_pairs - len(self._pairs),
            "targets_of_a_source": self._targets(),
            "normal_forms": dict(self._forms),
            "rules": [
                {
                    "name": rule.name,
                    "reason": rule.reason,
                    "threshold": self._thresholds[rule.name],
                    "source": rule.source,
                    "failed": self._failed[rule.name],
                    "dropped_first": rejected[rule.name],
                    "suggested": self._suggested(rule.name) if not rule.is_count else None,
                }
                for rule in RULES
                if rule.name in self._thresholds
            ],
            "sources": [each | {"rejected": dict(each["rejected"])} for each in self._sources],
            "examples": {
                name: [{"value": value, "src": src, "tgt": tgt} for _, value, src, tgt in self._examples[name]]
                for name in self._reasons
                if name in self._examples
            },
        }

    def _count(self, pairs: Sequence[tuple[str, str]], kept: NDArray[np.bool_]) -> None:
        n_characters = np.array([[len(side.strip()) for side in pair] for pair in pairs], dtype=np.int64)
        n_words = np.array([[len(side.split()) for side in pair] for pair in pairs], dtype=np.int64)
        shorter, longer = n_characters.min(axis=1), n_characters.max(axis=1)
        ratio = np.searchsorted(RATIOS, longer / np.maximum(shorter, 1), side="right") - 1
        for part, rows in ((self._before, np.ones(len(pairs), dtype=np.bool_)), (self._after, kept)):
            part.n_pairs += int(rows.sum())
            part.ratios += np.bincount(np.maximum(ratio[rows], 0), minlength=len(RATIOS))
            for number, side in enumerate(_SIDES):
                part.n_words[side] += int(n_words[rows, number].sum())
                bars = np.searchsorted(LENGTHS, n_words[rows, number], side="right")
                part.lengths[side] += np.bincount(bars, minlength=len(LENGTHS) + 1)
        for row in range(0, len(pairs), _LANGUAGE_EVERY):
            for side, text in zip(_SIDES, pairs[row], strict=True):
                if not text.strip():
                    continue
                found = detected(text)[0], _main_script(text), normal_forms_of(text)
                self._forms[found[2]] += 1
                for part in (self._before, self._after) if kept[row] else (self._before,):
                    part.languages[side][found[0]] += 1
                    part.scripts[side][found[1]] += 1

    def _keep_examples(
        self,
        pairs: Sequence[tuple[str, str]],
        hashes: Hashes,
        measured: Measured,
        reason: Reasons,
    ) -> None:
        """Those with the smallest hashes, so that they are spread over the corpus, and always the same."""
        for number in np.unique(reason[reason >= 0]):
            name = self._reasons[number]
            rows = np.flatnonzero(reason == number)
            rows = rows[np.argsort(hashes[rows], kind="stable")[:N_EXAMPLES]]
            found = [(int(hashes[row]), _value(measured, name, row), *pairs[row]) for row in rows.tolist()]
            self._examples[name] = sorted({*self._examples[name], *found})[:N_EXAMPLES]

    def _keep_sample(self, measured: Measured, n_pairs: int) -> None:
        """Every n-th pair. When there are too many, every second of them stays."""
        rows = np.arange(0, n_pairs, self._stride)
        table = np.zeros((len(rows), len(measured)), dtype=np.float32)
        for column, values in enumerate(measured.values()):
            table[:, column] = values[rows]
        self._sample.append(table)
        self._names = list(measured)
        self._n_sampled += len(rows)
        if self._n_sampled > _N_SAMPLED:
            self._sample = [np.concatenate(self._sample)[::2]]
            self._n_sampled = len(self._sample[0])
            self._stride *= 2

    def _suggested(self, name: str) -> float | None:
        """The threshold that keeps 99% of the pairs that all other rules keep."""
        sample = np.concatenate(self._sample)
        limits = np.array([self._thresholds[each] for each in self._names], dtype=np.float32)
        passes = sample <= limits
        column = self._names.index(name)
        passes[:, column] = True
        values = sample[passes.all(axis=1), column]
        return round(float(np.quantile(values, _SHARE_KEPT, method="higher")), 3) if len(values) else None

    def _targets(self) -> dict[str, int]:
        """How many sources have several different targets, and the most that one has."""
        empty = np.zeros(0, dtype=np.uint64)
        counts = np.unique(np.concatenate([empty, *self._src_of_pairs]), return_counts=True)[1]
        several = counts[counts > 1]
        return {"sources": len(counts), "with_several": len(several), "most": int(counts.max(initial=1))}


def _main_script(text: str) -> str:
    found = Counter(script_of(character) for character in text if character.isalpha())
    return found.most_common(1)[0][0] if found else "none"


def _value(measured: Measured, name: str, row: int) -> float:
    return round(float(measured[name][row]), 3) if name in measured else 0.0
