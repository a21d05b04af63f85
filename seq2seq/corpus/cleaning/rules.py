"""The rules, in the order in which they look at a pair.

A rule is a measure (`measures.py`) with a threshold (`config/clean.py`): a pair is dropped if the measure is above it.
The first rule that drops a pair is its reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from seq2seq.corpus.cleaning import measures
from seq2seq.corpus.cleaning.measures import Pair

VERSION = 2  # raise it when a measure changes: prepared text is then made again


@dataclass(frozen=True)
class Rule:
    """A measure, and what it means.

    Attributes:
        reason: why a pair is dropped.
        source: whose default the threshold is, and how it differs.
        is_count: whether it counts faults, none of which good text has.
    """

    measure: Callable[[Pair], float]
    reason: str
    source: str
    is_count: bool = False

    @property
    def name(self) -> str:
        return self.measure.__name__


RULES = (
    Rule(
        measures.copy,
        "the translation is the source",
        "OpusFilter's SimilarityFilter has 0.9, of characters; ours is of words, and of three words or more",
    ),
    Rule(measures.control, "a control or zero-width character", "ours", is_count=True),
    Rule(measures.mojibake, "read in the wrong encoding", "ours, after the idea of ftfy", is_count=True),
    Rule(measures.entities, "an escape such as &amp;", "ours; OpusCleaner repairs them", is_count=True),
    Rule(measures.tags, "a tag of HTML", "OpusFilter's HtmlTagFilter", is_count=True),
    Rule(measures.letters, "few letters", "ours; Firefox Translations has 0.5, which drops short sentences with dates"),
    Rule(measures.script, "letters of another script", "ours; OpusFilter's CharacterScoreFilter has 0: no π"),
    Rule(
        measures.language,
        "another language",
        "ours; OpusCleaner's fasttext_filter has 0, which drops short sentences",
    ),
    Rule(measures.words, "a long side", "Firefox Translations has 150"),
    Rule(measures.char_ratio, "one side is much longer", "OpusFilter's LengthRatioFilter has 3, without the ten"),
    Rule(measures.long_word, "a very long word", "OpusFilter's LongWordFilter has 40, addresses included"),
    Rule(
        measures.repetition, "words that go round in circles", "ours; OpusFilter's RepetitionFilter has 2, of letters"
    ),
    Rule(measures.numbers, "other numbers", "OpusCleaner's num_mismatch has 1, numbers in words included"),
    Rule(measures.urls, "an address on one side", "OpusCleaner's url_mismatch", is_count=True),
    Rule(
        measures.punctuation,
        "other ends of sentences",
        "ours; OpusFilter's TerminalPunctuationFilter has 5.4, and counts further sentences too",
    ),
    Rule(measures.normal_forms, "letters and accents apart", "ours; off, as the tokenizer joins them", is_count=True),
)
