"""What things are like, where they are, and how people feel; weather and timetables."""

from dataclasses import replace

from . import english, french
from .adjectives import ADJECTIVES, Adjective
from .adverbials import (
    CITIES,
    COUNTRIES,
    DEGREES,
    FUTURE,
    NUMBERS,
    PAST,
    PLACES,
    PREPOSITIONS,
    Phrase,
)
from .choices import Chooser
from .clauses import Clause
from .drafts import Draft, statement
from .nouns import NOUNS, select
from .phrases import IL, JE, NOUS, NounPhrase, noun_phrase, pronoun
from .tables import mapping, rows
from .verbs import AVOIR, ETRE


def fitting(c: Chooser, subject: NounPhrase) -> Adjective:
    if subject.noun and not subject.is_human:
        options = [a for a in ADJECTIVES if a.suits(subject.noun)]
    else:
        options = [a for a in ADJECTIVES if a.suits(NOUNS["homme"]) and a.suits(NOUNS["femme"])]
    return c.one(options)


def predicate(adjective: Adjective, subject: NounPhrase, degree: Phrase | None = None) -> Phrase:
    words = {adjective.key} | (degree.words if degree else set())
    fr = adjective.form(subject.gender, subject.is_plural)
    return Phrase(
        f"{degree.fr if degree else ''} {fr}",
        f"{degree.en if degree else ''} {adjective.en}",
        frozenset(words),
    )


DESCRIBED = [noun for noun in NOUNS.values() if any(a.suits(noun) for a in ADJECTIVES)]


def described_thing(c: Chooser) -> NounPhrase:
    adjective = c.one(ADJECTIVES)  # first, so that the rare ones are met often enough
    things = [n for n in DESCRIBED if n.semantic_class not in {"person", "family"} and adjective.suits(n)]
    if not things:
        return described_thing(c)
    noun = c.one(things)
    if noun.semantic_class == "meal":
        return noun_phrase(noun, "all")
    is_owned = noun.semantic_class in {
        "school",
        "thing",
        "luggage",
        "clothes",
        "phone",
        "car",
        "bike",
        "animal",
    }
    determiner = c.one(["the", "this", "own"] if is_owned else ["the", "the", "this"])
    is_plural = not noun.is_mass and c.often(0.3)
    return noun_phrase(noun, determiner, is_plural, owner=pronoun(c.one([JE, NOUS])))


def being(c: Chooser) -> Draft:
    subject = c.person(agrees=True) if c.often(0.4) else described_thing(c)
    if subject.links:
        return being(c)  # "la femme triste est contente"
    adjective = fitting(c, subject)
    is_past = c.often(0.2)
    degree = c.one(DEGREES) if c.often(0.35) and adjective.name not in UNGRADED else None
    negation = "not" if c.often(0.15) and (degree is None or degree.en in {"very", "too"}) else ""
    clause = Clause(subject, ETRE, "state past" if is_past else "simple", negation=negation)
    clause = clause.then(predicate(adjective, subject, degree))
    draft = statement(clause)
    links = {(adjective.key, subject.noun.key)} if subject.noun else set()
    return replace(draft, links=draft.links | links)


UNGRADED = {
    "vide",
    "ouvert",
    "fermé",
    "prêt",
    "cassé",
    "rond",
    "carré",
    "délicieux",
    "magnifique",
    "gratuit",
} | {
    "rouge",
    "bleu",
    "vert",
    "jaune",
    "noir",
    "blanc",
    "gris",
    "violet",
    "plein",
    "mûr",
    "nouveau",
}


def comparing(c: Chooser) -> Draft:
    noun = None
    if c.often(0.55):
        first, second = c.rng.sample([c.name(), c.name(), c.relative(), c.common_person()], 2)
        if first.fr == second.fr or first.links or second.links:
            return comparing(c)
    else:
        noun = c.one([n for n in DESCRIBED if n.semantic_class in {"school", "luggage", "clothes", "car", "building"}])
        first = noun_phrase(noun, "this")
        others = [n for n in DESCRIBED if n.semantic_class == noun.semantic_class and n is not noun]
        second = noun_phrase(c.one(others), "the")
    adjective = fitting(c, first)
    if adjective.name in UNGRADED or (second.noun and not second.is_human and not adjective.suits(second.noun)):
        return comparing(c)
    # "plus bon" is "meilleur" and "plus mauvais" often "pire"
    if adjective.name in {"bon", "mauvais"}:
        return comparing(c)
    # "moins petit" and "less small" are odd; the longer adjectives take "less" well
    kind = c.one(["plus", "aussi"] if adjective.is_preposed else ["plus", "plus", "moins", "aussi"])
    en = {
        "plus": f"{english.comparative(adjective.en)} than",
        "moins": f"less {adjective.en} than",
        "aussi": f"as {adjective.en} as",
    }[kind]
    fr = f"{kind} {adjective.form(first.gender, first.is_plural)} que {second.fr}"
    phrase = Phrase(fr, f"{en} {second.en}", second.words | {adjective.key, f"other:{kind}"})
    draft = statement(Clause(first, ETRE, "simple").then(phrase))
    links = {(adjective.key, p.noun.key) for p in (first, second) if p.noun} | second.links
    return replace(draft, links=draft.links | links)


SPOTS = mapping(
    """
    sur | table chaise lit étagère bureau fauteuil canapé
    sous | table lit chaise arbre canapé escalier
    dans | sac valise panier tiroir boîte armoire carton
    devant | maison porte église château garage école gare
    derrière | porte maison arbre canapé mur église
    à côté de | lit fenêtre porte lampe canapé pont
    près de | pont lac église rivière forêt château fenêtre
    """
)
OUTDOORS = {"maison", "église", "château", "garage", "arbre", "mur", "pont", "lac", "rivière", "forêt"}


def spot(c: Chooser, is_large: bool) -> Phrase:
    """A place relative to something; large things stand outdoors and small ones mostly do not."""
    while True:
        preposition = c.one(list(SPOTS))
        noun = NOUNS.get(c.one(SPOTS[preposition].split()))
        if (
            noun is not None
            and (noun.name in OUTDOORS) == is_large
            and not (is_large and preposition in {"sur", "dans"})
        ):
            where = noun_phrase(noun, "the")
            words = where.words | {f"other:{preposition}"}
            return Phrase(f"{preposition} {where.fr}", f"{PREPOSITIONS[preposition]} {where.en}", words)


def located(c: Chooser) -> tuple[str, Phrase]:
    if c.often(0.35):
        return c.one(["car", "bike", "animal", "tree"]), spot(c, is_large=True)
    return c.one(["school", "thing", "dishes", "reading", "clothes"]), spot(c, is_large=False)


def there_is(c: Chooser) -> Draft:
    kind, where = located(c)
    noun = c.one(select(kind))
    if c.often(0.2):
        noun, where = c.one(select("fruit vegetable staple drink pantry pantry")), PLACES["cuisine"].where
    is_plural = not noun.is_mass and c.often(0.5)
    mode = c.weighted({"yes": 6, "no": 2, "past": 2, "question": 2})
    if noun.key in where.words:
        return there_is(c)
    if mode == "no":
        if noun.fr_plural == noun.name and not noun.is_mass:
            return there_is(c)
        thing = noun_phrase(noun, "no", not noun.is_mass)
    else:
        determiner = c.one(list(NUMBERS)) if is_plural and c.often(0.4) else "a"
        adjective = c.adjective_for(noun) if c.often(0.3) else None
        thing = noun_phrase(noun, determiner, is_plural, adjective)
    be, was = ("are", "were") if thing.is_plural else ("is", "was")
    fr, en, mark = {
        "yes": ("il y a", f"there {be}", "."),
        "no": ("il ne y a pas", f"there {be}", "."),
        "past": ("il y avait", f"there {was}", "."),
        "question": ("est-ce que il y a", f"{be} there", "?"),
    }[mode]
    words = thing.words | where.words | {AVOIR.key}
    return Draft(f"{fr} {thing.fr} {where.fr}", f"{en} {thing.en} {where.en}", words, thing.links, mark)


def where_it_is(c: Chooser) -> Draft:
    kind, where = located(c)
    noun = c.one(select(kind))
    if noun.key in where.words:
        return where_it_is(c)
    owner = pronoun(c.one([JE, NOUS]))
    thing = noun_phrase(noun, c.one(["the", "own"]) if kind != "tree" else "the", c.often(0.25), owner=owner)
    tense = "state past" if c.often(0.15) else "simple"
    return statement(Clause(thing, ETRE, tense, negation="not" if c.often(0.15) else "").then(where))


def belonging(c: Chooser) -> Draft:
    noun = c.one(select("school thing luggage clothes bike car animal"))
    person = c.name() if c.often(0.6) else c.common_person()
    thing = noun_phrase(noun, "the")
    if person.is_plural:
        return belonging(c)
    negation = ("ce ne est pas", "this is not") if c.often(0.25) else ("ce est", "this is")
    en = f"{negation[1]} {person.en}'s {noun.en}"
    return Draft(f"{negation[0]} {thing.fr} de {person.fr}", en, thing.words | person.words | {ETRE.key}, person.links)


def presenting(c: Chooser) -> Draft:
    noun = c.one(DESCRIBED)
    adjective = c.adjective_for(noun)
    if adjective is None or noun.is_mass:
        return presenting(c)
    thing = noun_phrase(noun, "a", False, adjective)
    fr, en = c.one([("ce est", "this is"), ("ce était", "that was")])
    return Draft(f"{fr} {thing.fr}", f"{en} {thing.en}", thing.words | {ETRE.key}, thing.links)


FEELINGS = mapping(
    """
    faim | hungry
    soif | thirsty
    froid | cold
    chaud | hot
    sommeil | sleepy
    raison | right
    tort | wrong
    peur | afraid
    """
)
PAINS = mapping(
    """
    mal à la tête | a headache
    mal aux dents | a toothache
    mal au ventre | a stomach ache
    mal à la gorge | a sore throat
    mal au dos | a sore back
    de la fièvre | a temperature
    un rhume | a cold
    """
)


def feeling(c: Chooser, subject: NounPhrase | None = None, tense: str = "") -> Draft:
    subject = subject or c.person()
    tense = tense or ("state past" if c.often(0.25) else "simple")
    fr_tense = "imperfect" if tense == "state past" else "present"
    finite = (
        french.imperfect("avoir", subject.person)
        if fr_tense == "imperfect"
        else french.present("avoir", subject.person)
    )
    ne, pas, no = ("ne", "pas", "not") if c.often(0.15) else ("", "", "")
    be = (english.BE_PAST if tense == "state past" else english.BE_PRESENT)[subject.person]
    if c.often(0.65):
        fr = c.one(list(FEELINGS))
        en = f"{be} {no} {FEELINGS[fr]}"
    else:
        fr = c.one(list(PAINS))
        has = "had" if tense == "state past" else "has" if subject.person == IL else "have"
        if no:
            has = ("did" if tense == "state past" else "does" if subject.person == IL else "do") + " not have"
            if not fr.startswith("mal"):
                pas, ne = "", ""
                has = has.replace(" not have", "").replace("did", "had").replace("does", "has").replace("do", "have")
        en = f"{has} {PAINS[fr]}"
    words = subject.words | {
        AVOIR.key,
        f"noun:{fr.split()[-1].removesuffix('s') if fr.endswith('dents') else fr.split()[-1]}",
    }
    return Draft(f"{subject.fr} {ne} {finite} {pas} {fr}", f"{subject.en} {en}", words, subject.links)


AGES = {
    "deux": "two",
    "quatre": "four",
    "six": "six",
    "sept": "seven",
    "neuf": "nine",
    "dix": "ten",
    "douze": "twelve",
    "quinze": "fifteen",
    "vingt": "twenty",
    "trente": "thirty",
    "quarante": "forty",
    "cinquante": "fifty",
    "soixante": "sixty",
}


def age(c: Chooser) -> Draft:
    subject = c.person()
    is_young = subject.noun is None or subject.noun.name in {"garçon", "fille", "enfant", "nièce", "neveu"}
    fr = c.one(list(AGES)[:9] if is_young else list(AGES)[8:])
    tense = c.one(["simple", "simple", "state past"])
    finite = (french.imperfect if tense == "state past" else french.present)("avoir", subject.person)
    be = (english.BE_PAST if tense == "state past" else english.BE_PRESENT)[subject.person]
    words = subject.words | {"noun:an", AVOIR.key, f"other:{fr}"}
    return Draft(f"{subject.fr} {finite} {fr} ans", f"{subject.en} {be} {AGES[fr]} years old", words, subject.links)


# French present, imparfait, futur proche | English present, past, going to
WEATHER_TABLE = """
    il fait beau | il faisait beau | il va faire beau
    the weather is fine | the weather was fine | the weather is going to be fine | adjective:beau
    il fait mauvais | il faisait mauvais | il va faire mauvais
    the weather is bad | the weather was bad | the weather is going to be bad | adjective:mauvais
    il fait froid | il faisait froid | il va faire froid
    it is cold | it was cold | it is going to be cold | adjective:froid
    il fait chaud | il faisait chaud | il va faire chaud
    it is hot | it was hot | it is going to be hot | adjective:chaud
    il pleut | il pleuvait | il va pleuvoir
    it is raining | it was raining | it is going to rain | verb:pleuvoir
    il neige | il neigeait | il va neiger
    it is snowing | it was snowing | it is going to snow | verb:neiger
    il y a du vent | il y avait du vent | il va y avoir du vent
    it is windy | it was windy | it is going to be windy | noun:vent
    il y a du soleil | il y avait du soleil | il va y avoir du soleil
    it is sunny | it was sunny | it is going to be sunny | noun:soleil
    il y a du brouillard | il y avait du brouillard | il va y avoir du brouillard
    it is foggy | it was foggy | it is going to be foggy | noun:brouillard
"""
WEATHER = [(*fr, *en) for fr, en in zip(rows(WEATHER_TABLE)[::2], rows(WEATHER_TABLE)[1::2], strict=True)]


def weather(c: Chooser) -> Draft:
    row = c.one(WEATHER)
    column = c.one([0, 1, 2])
    draft = Draft(row[column], row[column + 3], frozenset({row[6], "verb:faire"} if "fai" in row[0] else {row[6]}))
    region = PLACES[c.one([*CITIES, *COUNTRIES, "montagne", "campagne"])].where if c.often(0.6) else None
    when = {0: None, 1: c.one(PAST), 2: c.one(FUTURE)}[column]
    for phrase in (region, when):
        if phrase:
            draft = Draft(f"{draft.fr} {phrase.fr}", f"{draft.en} {phrase.en}", draft.words | phrase.words)
    return draft


HOURS = {
    "deux": "two",
    "trois": "three",
    "quatre": "four",
    "cinq": "five",
    "six": "six",
    "sept": "seven",
    "huit": "eight",
    "neuf": "nine",
    "dix": "ten",
    "onze": "eleven",
}


def departure(c: Chooser) -> Draft:
    """Timetables, which English puts in the simple present: "leaves at eight o'clock"."""
    noun = c.one(select("train bus avion bateau"))
    fr, en = c.one(list(HOURS.items()))
    verb = c.one([("part", "leaves", "partir"), ("arrive", "arrives", "arriver")])
    city = PLACES[c.one(["Paris", "Lyon", "Marseille", "Londres"])]
    thing = noun_phrase(noun, "the")
    english_city = city.where.en.removeprefix("in ")
    link = ("pour", "to") if verb[2] == "partir" else ("de", "from")
    words = thing.words | {f"verb:{verb[2]}", "noun:heure", f"other:{fr}"}
    return Draft(
        f"{thing.fr} {link[0]} {city.name} {verb[0]} à {fr} heures",
        f"{thing.en} {link[1]} {english_city} {verb[1]} at {en} o'clock",
        words,
    )
