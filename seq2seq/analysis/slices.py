"""Scores of parts of a test set: by length, by the rarest word, by domain, by whether the training text has the source.

A part is scored as a corpus of its own: no score is a mean over sentences.
"""

from collections.abc import Sequence

from seq2seq.analysis.test_set import AnalysedSentence, Slice
from seq2seq.characters import n_words
from seq2seq.evaluation.scores import PLAIN, Scoring, corpus_scores, report

_LENGTHS = (0, 5, 10, 15, 20, 30, 50)  # the longest of each slice, in words as `n_words` counts them
_COUNTS = (0, 3, 20, 100)
_FEWEST = 30  # sentences for an interval: resamples of fewer say little

_Key = tuple[int, str]  # place of a slice in its table, and its name


def tables(sentences: Sequence[AnalysedSentence], scoring: Scoring = PLAIN) -> dict[str, list[Slice]]:
    """Each table by its name (`test_set.SLICES`), with the slices that have a sentence, in their order.

    A sentence is in those tables whose property is known of it. A table without sentences is left out, and so is that
    of domains if there is only one.
    """
    found: dict[str, dict[_Key, list[AnalysedSentence]]] = {}
    domains = list(dict.fromkeys(sentence.domain for sentence in sentences))
    for sentence in sentences:
        for table, key in _keys(sentence, domains):
            found.setdefault(table, {}).setdefault(key, []).append(sentence)
    return {
        table: [_scored(name, slices[place, name], scoring) for place, name in sorted(slices)]
        for table, slices in found.items()
    }


def _keys(sentence: AnalysedSentence, domains: Sequence[str]) -> list[tuple[str, _Key]]:
    """The slices that a sentence is in, each with its table."""
    keys = []
    if sentence.source is not None:
        keys.append(("source length", _between(n_words(sentence.source), _LENGTHS, " words")))
    if sentence.rarest_count is not None:
        keys.append(("rarest word", _between(sentence.rarest_count, _COUNTS, "")))
    if len(domains) > 1:
        keys.append(("domain", (domains.index(sentence.domain), sentence.domain or "none")))
    if sentence.is_in_train is not None:
        keys.append(("source in train", (0, "yes") if sentence.is_in_train else (1, "no")))
    return keys


def _between(number: int, ends: Sequence[int], unit: str) -> _Key:
    """The slice of a number: the first slice goes up to the first of `ends`, and the last one has no end."""
    place = sum(number > end for end in ends)
    if place == len(ends):
        return place, f"more than {ends[-1]}{unit}"
    first = ends[place - 1] + 1 if place else 0
    return place, f"{first} to {ends[place]}{unit}" if first < ends[place] else f"{first}{unit}"


def _scored(name: str, sentences: Sequence[AnalysedSentence], scoring: Scoring) -> Slice:
    hypotheses, references = [each.hypothesis for each in sentences], [each.references for each in sentences]
    n, metrics = len(sentences), ("bleu", "chrf")
    if n < _FEWEST:
        scores = corpus_scores(hypotheses, references, metrics, scoring)
        return Slice(name, n, round(scores["bleu"].score, 2), round(scores["chrf"].score, 2))
    bleu, chrf = report(hypotheses, references, metrics, scoring=scoring).values()
    rounded = (round(number, 2) for number in (bleu.score, chrf.score, bleu.half_width, chrf.half_width))
    return Slice(name, n, *rounded)
