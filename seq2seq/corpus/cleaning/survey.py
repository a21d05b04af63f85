"""Figures of a corpus before and after cleaning, gathered block by block in bounded memory.

It holds counts, a sample of at most 65,536 pairs for thresholds, a few examples of each reason, and 16 bytes for each
pair: the hashes of different pairs and of their sources.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import n_words, script_of
from seq2seq.config.clean import NEAR_DUPLICATE, has_language_model
from seq2seq.corpus.cleaning.languages import detected
from seq2seq.corpus.cleaning.measures import RULES, n_letters, normal_forms_of
from seq2seq.corpus.hashes import Hashes, SeenHashes, hash_lines, hash_pairs
from seq2seq.corpus.judge import Judged

LENGTHS = (1, 5, 10, 20, 40, 80, 160)  # words from which a bar of the histogram starts; the first one has 0
RATIOS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)  # longer over shorter side, in letters
N_EXAMPLES = 5
_SHARE_KEPT = 0.99  # of good pairs, by the suggested thresholds
_N_SAMPLED = 65_536
_LANGUAGE_EVERY = 10  # pairs: the language takes as long as all else together
_SIDES = ("src", "tgt")


def _bars() -> dict[str, NDArray[np.int64]]:
    return {side: np.zeros(len(LENGTHS) + 1, dtype=np.int64) for side in _SIDES}


def _counters() -> dict[str, Counter[str]]:
    return {side: Counter() for side in _SIDES}


@dataclass
class _Part:
    """Figures of all pairs, or of those that stay."""

    pairs: int = 0
    words: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_SIDES, 0))
    lengths: dict[str, NDArray[np.int64]] = field(default_factory=_bars)
    ratios: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(RATIOS), dtype=np.int64))
    languages: dict[str, Counter[str]] = field(default_factory=_counters)
    scripts: dict[str, Counter[str]] = field(default_factory=_counters)

    def as_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "words": self.words,
            "length_histogram": {side: counts.tolist() for side, counts in self.lengths.items()},
            "ratio_histogram": self.ratios.tolist(),
            "languages": {side: dict(counts.most_common(8)) for side, counts in self.languages.items()},
            "scripts": {side: dict(counts.most_common(8)) for side, counts in self.scripts.items()},
        }


class Survey:
    """Gathers figures; `report` gives them as JSON types."""

    def __init__(self, reasons: Sequence[str], thresholds: Mapping[str, float]) -> None:
        self._reasons = reasons
        self._thresholds = thresholds
        self._before, self._after = _Part(), _Part()
        self._failed: Counter[str] = Counter()
        self._examples: dict[str, list[tuple[int, float, str, str]]] = defaultdict(list)
        self._sources: list[dict[str, Any]] = []
        self._sample: list[NDArray[np.float32]] = []
        self._stride, self._n_sampled = 1, 0
        self._pairs = SeenHashes()
        self._n_copies = 0
        self._src_of_pairs: list[Hashes] = []
        self._forms: Counter[str] = Counter()
        self._sees_languages = has_language_model()

    def start_source(self, name: str) -> None:
        """What comes next is of this corpus."""
        self._sources.append({"name": name, "read": 0, "kept": 0, "rejected": Counter()})

    def add(self, pairs: Sequence[tuple[str, str]], judged: Judged) -> None:
        """A block of pairs."""
        kept = judged.reasons < 0
        source = self._sources[-1]
        source["read"] += len(pairs)
        source["kept"] += int(kept.sum())
        source["rejected"].update(self._reasons[number] for number in judged.reasons[~kept].tolist())
        for name, values in judged.measured.items():
            self._failed[name] += int((values > self._thresholds.get(name, np.inf)).sum())
        self._count(pairs, kept)
        hashes = hash_pairs(pairs)
        self._keep_examples(pairs, hashes, judged)
        self._keep_sample(judged.measured, len(pairs))
        self._n_copies += sum(src.strip() == tgt.strip() for src, tgt in pairs)
        is_new = self._pairs.add(hashes)
        self._src_of_pairs.append(hash_lines(src for (src, _), new in zip(pairs, is_new, strict=True) if new))

    def report(self) -> dict[str, Any]:
        """All figures, as JSON types."""
        rejected = sum((source["rejected"] for source in self._sources), Counter[str]())
        return {
            "read": self._before.pairs,
            "kept": self._after.pairs,
            "rejected": {name: rejected[name] for name in self._reasons if rejected[name]},
            "before": self._before.as_json(),
            "after": self._after.as_json(),
            "bins": {"lengths": [0, *LENGTHS], "ratios": list(RATIOS)},
            "copies": self._n_copies,
            "duplicates": self._before.pairs - len(self._pairs),
            "targets_of_a_source": self._targets(),
            "normal_forms": dict(self._forms),
            "rules": self._rules(rejected),
            "sources": [each | {"rejected": dict(each["rejected"])} for each in self._sources],
            "examples": {
                name: [{"value": value, "src": src, "tgt": tgt} for _, value, src, tgt in self._examples[name]]
                for name in self._reasons
                if name in self._examples
            },
        }

    def _rules(self, rejected: Mapping[str, int]) -> list[dict[str, Any]]:
        about = {rule.name: (rule.reason, rule.is_count) for rule in RULES}
        about[NEAR_DUPLICATE] = "nearly the same as an earlier pair", True
        return [
            {
                "name": name,
                "reason": about[name][0],
                "threshold": threshold,
                "failed": rejected[name] if name == NEAR_DUPLICATE else self._failed[name],
                "dropped_first": rejected[name],
                "suggested": None if about[name][1] else self._suggested(name),
            }
            for name, threshold in self._thresholds.items()
        ]

    def _count(self, pairs: Sequence[tuple[str, str]], kept: NDArray[np.bool_]) -> None:
        lengths = np.array([[n_letters(side.strip()) for side in pair] for pair in pairs], dtype=np.int64)
        words = np.array([[n_words(side) for side in pair] for pair in pairs], dtype=np.int64)
        shorter, longer = lengths.min(axis=1), lengths.max(axis=1)
        ratio = np.maximum(np.searchsorted(RATIOS, longer / np.maximum(shorter, 1), side="right") - 1, 0)
        for part, rows in ((self._before, np.ones(len(pairs), dtype=np.bool_)), (self._after, kept)):
            part.pairs += int(rows.sum())
            part.ratios += np.bincount(ratio[rows], minlength=len(RATIOS))
            for number, side in enumerate(_SIDES):
                part.words[side] += int(words[rows, number].sum())
                bars = np.searchsorted(LENGTHS, words[rows, number], side="right")
                part.lengths[side] += np.bincount(bars, minlength=len(LENGTHS) + 1)
        for row in range(0, len(pairs), _LANGUAGE_EVERY):
            for side, text in zip(_SIDES, pairs[row], strict=True):
                if not text.strip():
                    continue
                self._forms[normal_forms_of(text)] += 1
                language, script = detected(text)[0] if self._sees_languages else None, _main_script(text)
                for part in (self._before, self._after) if kept[row] else (self._before,):
                    part.scripts[side][script] += 1
                    if language is not None:
                        part.languages[side][language] += 1

    def _keep_examples(self, pairs: Sequence[tuple[str, str]], hashes: Hashes, judged: Judged) -> None:
        """Those with the smallest hashes, so that they are spread over the corpus, and always the same."""
        for number in np.unique(judged.reasons[judged.reasons >= 0]):
            name = self._reasons[number]
            rows = np.flatnonzero(judged.reasons == number)
            rows = rows[np.argsort(hashes[rows], kind="stable")[:N_EXAMPLES]]
            found = [(int(hashes[row]), judged.value(name, row) or 0.0, *pairs[row]) for row in rows.tolist()]
            self._examples[name] = sorted({*self._examples[name], *found})[:N_EXAMPLES]

    def _keep_sample(self, measured: Mapping[str, NDArray[np.float32]], n_pairs: int) -> None:
        """Every n-th pair. When there are too many, every second of them stays."""
        rows = np.arange(0, n_pairs, self._stride)
        self._sample.append(
            np.array([values[rows] for values in measured.values()], dtype=np.float32).reshape(-1, len(rows)).T
        )
        self._names = list(measured)
        self._n_sampled += len(rows)
        if self._n_sampled > _N_SAMPLED:
            self._sample = [np.concatenate(self._sample)[::2]]
            self._n_sampled = len(self._sample[0])
            self._stride *= 2

    def _suggested(self, name: str) -> float | None:
        """The threshold that keeps 99% of the pairs that all other rules keep."""
        sample = np.concatenate(self._sample)
        limits = np.array([self._thresholds.get(each, np.inf) for each in self._names], dtype=np.float32)
        passes = sample <= limits
        column = self._names.index(name)
        passes[:, column] = True
        values = sample[passes.all(axis=1), column]
        if not len(values):
            return None
        value = float(np.quantile(values, _SHARE_KEPT, method="higher"))
        return math.ceil(value * 1000 - 1e-3) / 1000  # up, as many pairs may have just this value, such as 1/3

    def _targets(self) -> dict[str, int]:
        """How many sources have several different targets, and the most that one has."""
        empty = np.zeros(0, dtype=np.uint64)
        counts = np.unique(np.concatenate([empty, *self._src_of_pairs]), return_counts=True)[1]
        return {"sources": len(counts), "with_several": int((counts > 1).sum()), "most": int(counts.max(initial=1))}


def _main_script(text: str) -> str:
    found = Counter(script_of(character) for character in text if character.isalpha())
    return found.most_common(1)[0][0] if found else "none"
