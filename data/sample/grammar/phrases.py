"""Noun phrases in both languages at once."""

from dataclasses import dataclass

from . import french
from .adjectives import PREPOSED_BEFORE_VOWEL, Adjective
from .adverbials import MEN, NUMBERS
from .nouns import Noun

JE, TU, IL, NOUS, VOUS, ILS = range(french.PERSONS)

FRENCH_POSSESSIVES = {
    JE: ("mon", "ma", "mes"),
    TU: ("ton", "ta", "tes"),
    IL: ("son", "sa", "ses"),
    NOUS: ("notre", "notre", "nos"),
    VOUS: ("votre", "votre", "vos"),
    ILS: ("leur", "leur", "leurs"),
}
ENGLISH_POSSESSIVES = {JE: "my", TU: "your", NOUS: "our", VOUS: "your", ILS: "their"}

Link = tuple[str, str]  # keys of two words that combine: (verb, object) or (adjective, noun)


@dataclass(frozen=True)
class NounPhrase:
    """A subject or an object. `gender` is empty for "je" and "nous", which must not meet agreement."""

    fr: str
    en: str
    person: int
    gender: str
    is_plural: bool
    is_human: bool
    words: frozenset[str] = frozenset()
    links: frozenset[Link] = frozenset()
    noun: Noun | None = None
    is_definite: bool = True

    @property
    def fr_pronoun(self) -> str:
        """The subject pronoun that takes up this phrase: "il", "elles", but "je" for "je"."""
        if self.person in {IL, ILS}:
            return ("elle" if self.gender == "f" else "il") + ("s" if self.is_plural else "")
        return ("je", "tu", "", "nous", "vous", "")[self.person]

    @property
    def en_pronoun(self) -> str:
        if self.person == ILS:
            return "they"
        if self.person == IL:
            return ("she" if self.gender == "f" else "he") if self.is_human else "it"
        return {JE: "I", NOUS: "we"}.get(self.person, "you")

    @property
    def fr_direct_clitic(self) -> str:
        return "les" if self.is_plural else "la" if self.gender == "f" else "le"

    @property
    def fr_indirect_clitic(self) -> str:
        return "leur" if self.is_plural else "lui"

    @property
    def en_object_pronoun(self) -> str:
        return {"they": "them", "she": "her", "he": "him"}.get(self.en_pronoun, "it")

    def pronoun(self) -> "NounPhrase":
        return NounPhrase(self.fr_pronoun, self.en_pronoun, self.person, self.gender, self.is_plural, self.is_human)


def pronoun(person: int, gender: str = "", is_plural: bool = False) -> NounPhrase:
    phrase = NounPhrase("", "", person, gender, is_plural, True)
    return phrase.pronoun()


def proper_name(name: str) -> NounPhrase:
    return NounPhrase(name, name, IL, "m" if name in MEN else "f", False, True)


def both(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """ "Paul et Marie": masculine unless both are feminine."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    fr, en = f"{first.fr} et {second.fr}", f"{first.en} and {second.en}"
    return NounPhrase(fr, en, ILS, gender, True, True, first.words | second.words)


def noun_phrase(
    noun: Noun,
    determiner: str,
    is_plural: bool = False,
    adjective: Adjective | None = None,
    owner: NounPhrase | None = None,
) -> NounPhrase:
    """Put a determiner and an adjective around a noun.

    Args:
        determiner: "the", "a" (partitive for mass nouns), "any" (after a negation), "no" (likewise, with
            the English "no"), "this", "own" (needs `owner`), "all" (French article, English none),
            "bare", or a French number.
    """
    noun_fr, noun_en = (noun.fr_plural, noun.en_plural) if is_plural else (noun.name, noun.en)
    words, links = {noun.key}, frozenset[Link]()
    core_fr, core_en = noun_fr, noun_en
    if adjective is not None:
        form = adjective.form(noun.gender, is_plural)
        if adjective.is_preposed:
            if noun.gender == "m" and not is_plural and french.starts_with_vowel_sound(noun_fr):
                form = PREPOSED_BEFORE_VOWEL.get(form, form)
            core_fr = f"{form} {noun_fr}"
        else:
            core_fr = f"{noun_fr} {form}"
        core_en = f"{adjective.en} {noun_en}"
        words.add(adjective.key)
        links = frozenset({(adjective.key, noun.key)})
    is_preposed = adjective is not None and adjective.is_preposed
    fr = f"{_french_determiner(noun, determiner, is_plural, core_fr, is_preposed, owner)} {core_fr}".strip()
    en = f"{_english_determiner(noun, determiner, is_plural, owner)} {core_en}".strip()
    is_human = noun.semantic_class in {"person", "family"}
    return NounPhrase(
        fr,
        en,
        ILS if is_plural else IL,
        noun.gender,
        is_plural,
        is_human,
        frozenset(words),
        links,
        noun,
        determiner not in {"a", "any", "no", "all", "bare"},
    )


def _french_determiner(
    noun: Noun, determiner: str, is_plural: bool, core: str, is_preposed: bool, owner: NounPhrase | None
) -> str:
    column = 2 if is_plural else 1 if noun.gender == "f" else 0
    before_vowel = french.starts_with_vowel_sound(core)
    if determiner == "own":
        assert owner is not None
        # "mon amie", "son école": the masculine form avoids two vowels in a row
        return FRENCH_POSSESSIVES[owner.person][0 if column == 1 and before_vowel else column]
    if determiner == "a":
        if noun.is_mass and not is_plural:
            return ("de le", "de la")[column]
        return ("un", "une", "de" if is_preposed else "des")[column]
    if determiner in {"any", "no"}:
        return "de"
    if determiner == "this":
        return ("cet" if before_vowel else "ce", "cette", "ces")[column]
    if determiner in {"the", "all"}:
        return ("le", "la", "les")[column]
    return "" if determiner == "bare" else determiner


def _english_determiner(noun: Noun, determiner: str, is_plural: bool, owner: NounPhrase | None) -> str:
    if determiner == "own":
        assert owner is not None
        third = "her" if owner.gender == "f" else "his"
        return ENGLISH_POSSESSIVES.get(owner.person, third)
    if determiner == "a":
        return "some" if is_plural or noun.is_mass else "a"
    if determiner == "any":
        return "any" if is_plural or noun.is_mass else "a"
    if determiner == "this":
        return "these" if is_plural else "this"
    return {"the": "the", "no": "no", "all": "", "bare": ""}.get(determiner) or NUMBERS.get(determiner, "")
