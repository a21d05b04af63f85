"""The analysis of a test set: what comes out, and its form as JSON.

Word `i` of a text is `split_words(text)[i]`: what white space separates, or a character where there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

SLICES = ("source length", "rarest word", "domain", "source in train")  # the tables, in the order in which to show them
# The findings, in the order in which to show them, and what each says of a sentence.
FINDINGS = {
    "empty": "nothing was written",
    "looping": "words or letters that come again and again at once",
    "too long": "far longer than the longest reference: over-translation",
    "too short": "far shorter than the shortest reference: under-translation",
    "repeated words": "a word that follows itself, or a phrase that comes twice, as in no reference: over-translation",
    "unaligned words": "long source words that no translated word comes from: under-translation",
    "copied words": "source words that stay as they are, which no reference has and the target language does not know",
    "lost numbers": "numbers of the source and the references that the translation has not",
    "invented numbers": "numbers of the translation that neither the source nor a reference has",
    "lost codes": "words such as E_ALL or 9(1)a) of the source and the references that the translation has not",
    "lost names": "names of the source and the references that the translation has not",
    "unknown characters": "characters that stand for unknown ones, or are of an alphabet that no other text has",
}


@dataclass(frozen=True)
class AnalysedSentence:
    """One sentence of a test set. What the run did not keep, and so nobody can tell, is None.

    Attributes:
        number: of its line in the files of the test set, counted from 1.
        references: all of them; a blank one does not count.
        chrf, bleu: sentence chrF2 and smoothed sentence BLEU (sacreBLEU), from 0 to 100.
        domain: the tag of the corpus source that the sentence is from; empty if it has none.
        is_in_train: whether the very same source line is in the training text, as the data report counts it.
        rarest_count: how often the rarest word of the source is in the sources of the training text; words are of
            letters alone, without case. None also if the source has no such word.
        findings: by kind (`FINDINGS`), what can be pointed at: words or phrases, without case and marks if the kind has
            no other form; nothing where no word is to blame, such as in "too short". An absent kind found nothing.
        alignment: pairs of a source word and a word of the hypothesis, both counted from 0.
    """

    number: int
    source: str | None
    hypothesis: str
    references: Sequence[str]
    chrf: float
    bleu: float
    domain: str = ""
    is_in_train: bool | None = None
    rarest_count: int | None = None
    findings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alignment: Sequence[tuple[int, int]] | None = None


@dataclass(frozen=True)
class Slice:
    """Some of the sentences, scored as a corpus of their own.

    Attributes:
        name: what they have in common, such as "1 to 5 words".
        bleu_half_width, chrf_half_width: half the width of the 95% interval; None if there are too few sentences.
    """

    name: str
    n_sentences: int
    bleu: float
    chrf: float
    bleu_half_width: float | None = None
    chrf_half_width: float | None = None


@dataclass(frozen=True)
class AttentionMap:
    """Where the decoder looked while it wrote the hypothesis of a sentence.

    Attributes:
        number: of the sentence.
        chosen_as: "worst", "median" or "best", by sentence chrF.
        weights: a row for each target piece, with a number for each source piece: the mean over the heads of one layer,
            the one that alignments come from. The last piece of either side is the end of the sentence.
    """

    number: int
    chosen_as: str
    source_pieces: Sequence[str]
    target_pieces: Sequence[str]
    weights: Sequence[Sequence[float]]


@dataclass(frozen=True)
class TestSetAnalysis:
    """What a model gets wrong on a test set.

    Attributes:
        test: the name of the test set.
        slices: the rows of each table, by its name: those of `SLICES`. A table that nobody can make is absent.
        findings: how many sentences have each kind of finding: those of `FINDINGS`. A kind that cannot be looked for is
            absent; one that was looked for and not found is 0.
        attention: of a few sentences; none if the model was not at hand.
        notes: what a reader should know, a sentence each, such as that words of only a part of the text were counted.
    """

    test: str
    sentences: Sequence[AnalysedSentence]
    slices: Mapping[str, Sequence[Slice]]
    findings: Mapping[str, int]
    attention: Sequence[AttentionMap] = ()
    notes: Sequence[str] = ()

    __test__ = False  # pytest collects classes whose name begins with Test

    def as_json(self) -> dict[str, Any]:
        """As JSON types. What is None, empty or absent in a sentence is left out: most sentences have no finding."""
        content = asdict(self)
        content["sentences"] = [
            {name: value for name, value in sentence.items() if value not in (None, "", {}) or name in _ALWAYS}
            for sentence in content["sentences"]
        ]
        return content


_ALWAYS = ("source", "hypothesis", "references")
