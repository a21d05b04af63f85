"""Random choices that make sense together: subjects, objects, tenses, adverbials."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from .adjectives import ADJECTIVES, Adjective
from .adverbials import (
    ADVERBS,
    CLOCK,
    FREQUENCY,
    FUTURE,
    HABIT,
    HOW,
    LONG_AGO,
    MEN,
    NOW,
    NUMBERS,
    PAST,
    PLACES,
    SCENES,
    WOMEN,
    Phrase,
)
from .nouns import NOUNS, Noun, select
from .phrases import IL, JE, NOUS, NounPhrase, both, noun_phrase, pronoun, proper_name
from .tables import listed, mapping
from .verbs import Verb

T = TypeVar("T")

# Which determiners an object takes, where the verb decides; "the" comes with a singular or a plural.
BY_VERB = mapping(
    """
    avoir | a
    vouloir | a this
    aimer | all
    adorer | all
    détester | all
    préférer | all
    connaître | the this
    enlever | own
    essayer | this a the
    perdre | own the
    oublier | own the
    descendre | the
    monter | the this
    entrer | the this
    occuper | own the
    rêver | a
    attendre | the
    caresser | the own
    brosser | the own
    promener | the own
    nourrir | the own
    cueillir | a the
    planter | a
    construire | a the
    écrire | a the this
    recevoir | a the this
    louer | a the this
    comprendre | the this
    gagner | the
    réserver | a the
    balayer | the
    étudier | the
    """
)
BY_CLASS = mapping(
    """
    family | own
    meal | all
    subject | all
    sport | all
    device | the
    room | the
    opening | the
    person | the this
    city | the this
    transport | the this
    nature | the this a
    paper | the own
    pantry | a
    drink | a
    staple | a the
    instrument | the
    fruit | a the
    vegetable | a the
    wild | a the
    bakery | the this a
    art | the this a
    plant | the this a
    tree | the this a
    reading | the this a
    show | the this a
    song | the this a
    building | the this a
    lesson | the this a
    tale | the this a
    prize | the this a
    event | a the
    home | the
    furniture | the this a
    luggage | the own this a
    """
)
PREDICATE_ONLY = {"prêt", "ouvert", "fermé", "content", "occupé", "inquiet"}
SELDOM_PLURAL = {"device", "room", "paper", "event", "city", "instrument"}
SINGULAR_ONLY = {
    "mère",
    "père",
    "radio",
    "télévision",
    "chauffage",
    "bague",
    "loyer",
    "soupe",
    "salade",
    "glace",
}

MASCULINE, FEMININE = [proper_name(name) for name in MEN], [proper_name(name) for name in WOMEN]


class Chooser:
    """All randomness of the corpus; two choosers with equal seeds choose alike."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def one(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def often(self, probability: float) -> bool:
        return self.rng.random() < probability

    def weighted(self, options: dict[T, float]) -> T:
        return self.rng.choices(list(options), list(options.values()))[0]

    # ------------------------------------------------------------ people and animals

    def name(self, gender: str = "") -> NounPhrase:
        return self.one({"m": MASCULINE, "f": FEMININE}.get(gender) or MASCULINE + FEMININE)

    def relative(self, owner: NounPhrase | None = None) -> NounPhrase:
        """A family member of `owner`, by default of "je" or "nous"."""
        owner = owner or pronoun(self.one([JE, JE, NOUS]))
        noun = self.one(select("family"))
        return noun_phrase(noun, "own", noun.name not in SINGULAR_ONLY and self.often(0.1), owner=owner)

    def common_person(self) -> NounPhrase:
        noun = self.one(select("person"))
        adjective = self.adjective_for(noun) if self.often(0.25) else None
        return noun_phrase(noun, self.one(["the", "the", "the", "this"]), self.often(0.25), adjective)

    def person(self, agrees: bool = False) -> NounPhrase:
        """A human subject; with `agrees`, one whose gender the sentence shows in both languages."""
        kind = self.weighted(
            {
                "name": 36,
                "noun": 24,
                "family": 12,
                "two": 6,
                "il": 10,
                "je": 0 if agrees else 8,
                "nous": 0 if agrees else 6,
            }
        )
        if kind == "noun":
            return self.common_person()
        if kind == "family":
            return self.relative()
        if kind == "two":
            first, second = self.rng.sample(MASCULINE + FEMININE, 2)
            return both(first, second)
        if kind == "il":
            return pronoun(IL, self.one("mf"))
        return {"je": pronoun(JE), "nous": pronoun(NOUS, "", True)}.get(kind) or self.name()

    def other_person(self, owner: NounPhrase) -> NounPhrase:
        """Someone a sentence about `owner` can mention: a name, the teacher, his sister."""
        kind = self.weighted({"name": 4, "noun": 3, "family": 4})
        if kind == "family":
            # "ma sœur" and "sa sœur" in one sentence would be a riddle
            return self.name() if owner.noun and owner.noun.semantic_class == "family" else self.relative(owner)
        while True:
            phrase = self.name() if kind == "name" else self.common_person()
            if not phrase.words & owner.words and phrase.fr not in owner.fr.split():
                return phrase

    def subject_of(self, verb: Verb, agrees: bool = False) -> NounPhrase:
        agrees = agrees or verb.takes_etre
        if verb.fr in {"raser", "maquiller"}:
            return self.name("m" if verb.fr == "raser" else "f")
        if verb.subjects:
            people = [noun for noun in verb.subjects if noun.semantic_class in {"person", "family"}]
            if len(people) > 10 and self.often(0.75):
                return self.person(agrees)
            noun = self.one([noun for noun in verb.subjects if len(people) < 10 or noun not in people])
            if noun.semantic_class == "family":
                return noun_phrase(noun, "own", owner=pronoun(JE))
            adjective = self.adjective_for(noun) if self.often(0.2) else None
            return noun_phrase(noun, self.one(["the", "the", "this"]), self.often(0.25), adjective)
        return self.person(agrees)

    # ------------------------------------------------------------ things

    def adjective_for(self, noun: Noun) -> Adjective | None:
        suiting = [a for a in ADJECTIVES if a.suits(noun) and a.name not in PREDICATE_ONLY and a.en != "tall"]
        return self.one(suiting) if suiting and noun.semantic_class != "family" else None

    def object_of(
        self,
        verb: Verb,
        subject: NounPhrase,
        is_negated: bool = False,
        definite: bool = False,
        owned: bool = True,
    ) -> NounPhrase:
        """An object that suits the verb; `definite` asks for one that a pronoun can take up."""
        nouns = verb.objects
        if verb.fr in {"mettre", "essayer", "enlever"} and subject.gender == "m":
            nouns = tuple(noun for noun in nouns if noun.name not in {"robe", "jupe"})
        noun = self.one(nouns)
        if noun.semantic_class == "person" and self.often(0.4) and verb.fr != "avoir":
            return self.other_person(subject)
        determiner, is_plural = self._determiner(verb, noun, definite)
        if determiner == "own" and not owned and noun.semantic_class != "family":
            determiner = "the"
        if determiner == "own" and not subject.is_human:
            determiner = "the"
        if determiner == "a" and verb.link == "de":
            is_plural = False  # "rêver d'un chat"; "de" swallows "des", in a negation too
        elif determiner == "a" and is_negated:
            determiner = "any"
            # "pas de souris" would not show its number
            is_plural = is_plural and noun.fr_plural != noun.name
        if determiner == "a" and is_plural and self.often(0.35) and not is_negated:
            determiner = self.one(list(NUMBERS))
        if noun.name in {"robe", "jupe"} and subject.gender == "m" and determiner == "own":
            determiner = "the"
        adjective = None
        if self.often(0.33) and determiner not in {"all", "any"}:
            adjective = self.adjective_for(noun)
        if adjective is not None and adjective.name == "cassé" and verb.fr not in MENDING:
            adjective = None
        return noun_phrase(noun, determiner, is_plural, adjective, subject)

    def _determiner(self, verb: Verb, noun: Noun, definite: bool) -> tuple[str, bool]:
        if verb.fr == "avoir" and verb.fr_rest:
            return ("all", not noun.is_mass) if verb.fr_rest == "peur" else (self.one(["a", "own"]), False)
        by_class = BY_CLASS.get(noun.semantic_class, "the own this a")
        options = (BY_VERB.get(verb.fr) or by_class).split()
        if noun.semantic_class in {"family", "meal", "subject", "sport"} and verb.fr != "avoir":
            options = by_class.split()
        if definite:
            options = [option for option in options if option != "a"] or ["the"]
        determiner = self.one(options)
        if determiner == "all":
            return "all", not noun.is_mass and noun.semantic_class != "meal"
        if noun.name in PAIRS:
            return determiner, True
        if (
            verb.fr in ONE_AT_A_TIME
            or noun.semantic_class in MOSTLY_SINGULAR
            or noun.name in SINGULAR_ONLY
            or noun.is_mass
        ):
            return determiner, False
        return determiner, self.often(0.35)

    # ------------------------------------------------------------ when, where, how

    def place(self, verb: Verb) -> Phrase | None:
        names = SCENES.get(verb.fr, "").split()
        return PLACES[self.one(names)].where if names else None

    def manner(self, verb: Verb) -> Phrase | None:
        names = HOW.get(verb.fr, "").split()
        if not names:
            return None
        adverb = self.one(names)
        return Phrase(adverb, ADVERBS[adverb], frozenset({f"adverb:{adverb}"}))

    def when(self, tense: str, verb: Verb) -> Phrase | None:
        """A time phrase that shows `tense` in French, or none where the tense needs none."""
        past, future = (
            phrases if verb.fr in LASTING else [p for p in phrases if not is_remote(p)] for phrases in (PAST, FUTURE)
        )
        if verb.fr in EVERYDAY:
            past, future = [p for p in past if is_recent(p)], [p for p in future if is_recent(p)]
        if tense == "progressive":
            return self.one(NOW) if self.often(0.3) else None
        if tense == "past":
            return self.one(past) if self.often(0.65) else None
        if tense == "going to":
            return self.one(future) if self.often(0.7) else None
        if tense in {"used to", "state past"}:
            return self.one(LONG_AGO)
        return self.one(CLOCK) if tense == "was doing" else None

    def tense_of(self, verb: Verb) -> str:
        """An English tense for a statement; "habit", "often", "never": a simple present and its marker."""
        kind = self.weighted(TENSES[verb.aspect])
        if verb.aspect == "p" and verb.fr not in REPEATABLE and kind in {"often", "going to"}:
            return "past"
        if verb.fr in ONCE and kind in {"often", "habit", "never"}:
            return "past"
        return "past" if kind == "was doing" and verb.fr in INSTANT | LASTING else kind

    def habit(self, verb: Verb) -> Phrase:
        if verb.fr in {"louer", "voyager", "visiter", "planter", "organiser"}:
            return self.one([phrase for phrase in HABIT if phrase.fr in {"en été", "en hiver", "deux fois par mois"}])
        return self.one(DAILY if verb.fr in EVERYDAY else HABIT)

    def frequency(self) -> Phrase:
        return self.one(FREQUENCY)


MENDING = {"réparer", "jeter", "cacher"}  # what one does with broken things
ONE_AT_A_TIME = set(
    listed("""
    conduire garer monter descendre louer construire prendre réserver organiser entrer grimper mettre
    enlever
""")
)
PAIRS = {"chaussure", "chaussette", "gant", "botte"}
REPEATABLE = {"rencontrer", "recevoir", "gagner"}
LASTING = set(
    listed("""
    acheter vendre construire visiter voyager apprendre étudier planter louer peindre travailler rencontrer
    habiter gagner perdre organiser aller venir partir revenir photographier enseigner marier recevoir offrir
    réparer rester
""")
)
# Over too soon for "was doing", or to go on while something else happens.
INSTANT = set(
    listed("""
    monter descendre entrer fermer ouvrir allumer éteindre jeter enlever mettre appeler saluer embrasser
    remercier asseoir revenir partir rentrer sortir réveiller endormir dépêcher lever coucher payer inviter
    prendre cacher arrêter réserver goûter donner rendre envoyer
""")
)
ONCE = {"construire", "louer", "marier", "peindre"}


def is_remote(phrase: Phrase) -> bool:
    return phrase.en.endswith(("year", "month", "summer", "weeks ago"))


def is_recent(phrase: Phrase) -> bool:
    return phrase.fr in {"hier", "hier soir", "ce matin", "ce soir", "demain", "bientôt", "dans une heure"}


EVERYDAY = set(listed("dormir lever coucher réveiller habiller doucher raser asseoir endormir dépêcher laver brosser"))
DAILY = [phrase for phrase in HABIT if phrase.fr in {"tous les jours", "chaque matin", "tous les soirs"}]
MOSTLY_SINGULAR = SELDOM_PLURAL | {"building"}
TENSES: dict[str, dict[str, float]] = {
    "d": {
        "progressive": 32,
        "habit": 14,
        "often": 8,
        "never": 3,
        "no longer": 2,
        "past": 30,
        "have": 8,
        "going to": 15,
        "was doing": 4,
        "used to": 7,
    },
    "h": {"simple": 40, "often": 8, "past": 20, "going to": 12, "used to": 8, "no longer": 3, "never": 3},
    "s": {"simple": 80, "state past": 20},
    "p": {"past": 60, "have": 15, "going to": 12, "often": 12},
}
assert all(noun in NOUNS for noun in SINGULAR_ONLY)
