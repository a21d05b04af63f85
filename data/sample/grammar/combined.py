"""Two clauses in one sentence: reasons, sequences, purposes, relatives."""

from dataclasses import replace

from . import english, french
from .adjectives import ADJECTIVES
from .adverbials import (
    HABIT,
    PLACES,
    Phrase,
)
from .choices import INSTANT, LASTING, Chooser
from .clauses import Clause, to_english, to_french
from .descriptions import DESCRIBED, FEELINGS, WEATHER, described_thing, fitting, predicate
from .drafts import Draft, joined, statement
from .nouns import select
from .phrases import IL, JE, noun_phrase, pronoun
from .statements import BY_NAME, DIRECT, any_action
from .verbs import DITRANSITIVES, ETRE, INTRANSITIVES, TO_PEOPLE


def recalled(c: Chooser) -> Draft:
    """ "La clé ? Je l'ai perdue hier.": the participle agrees with the pronoun before it."""
    verb = c.one([v for v in DIRECT if not v.subjects])
    subject = c.person()
    thing = c.object_of(verb, subject, definite=True)
    if thing.noun is None or not thing.is_definite or thing.is_human or thing.noun.semantic_class == "meal":
        return recalled(c)
    tense = "past" if verb.aspect == "p" else c.weighted({"past": 6, "going to": 3})
    clause = Clause(subject, verb, tense, clitic=thing, negation="not" if c.often(0.2) else "")
    when = c.when(tense, verb)
    clause = clause.then(when) if when else clause
    fr, en = french.sentence(to_french(clause), "."), english.sentence(to_english(clause), ".")
    return Draft(
        f"{french.join(thing.fr)} ? {fr.removesuffix('.')}",
        f"{thing.en}? {en.removesuffix('.')}",
        clause.words | thing.words,
        clause.links | thing.links,
    )


# What people do to a thing they have just taken, found or bought.
SEQUENCES = [
    ("acheter", "manger"),
    ("préparer", "manger"),
    ("laver", "manger"),
    ("couper", "manger"),
    ("cueillir", "manger"),
    ("laver", "repasser"),
    ("repasser", "plier"),
    ("acheter", "planter"),
    ("planter", "arroser"),
    ("réparer", "vendre"),
    ("écrire", "lire"),
    ("trouver", "prendre"),
    ("chercher", "trouver"),
    ("laver", "essuyer"),
    ("ouvrir", "lire"),
    ("acheter", "lire"),
    ("nettoyer", "réparer"),
    ("prendre", "ranger"),
    ("essayer", "acheter"),
    ("laver", "vendre"),
    ("dessiner", "peindre"),
    ("appeler", "aider"),
    ("rencontrer", "inviter"),
    ("nourrir", "caresser"),
    ("apprendre", "chanter"),
    ("recevoir", "lire"),
    ("choisir", "payer"),
    ("ouvrir", "fermer"),
    ("allumer", "éteindre"),
    ("brosser", "nourrir"),
]


def in_sequence(c: Chooser) -> Draft:
    """ "Paul lave la pomme et la mange." """
    first, second = (BY_NAME[name] for name in c.one(SEQUENCES))
    shared = [noun for noun in first.objects if noun in second.objects]
    subject = c.person()
    if not shared:
        return in_sequence(c)
    thing = c.object_of(replace(first, objects=tuple(shared)), subject, definite=c.often(0.7))
    is_past = "p" in first.aspect + second.aspect or c.often(0.6)
    tense = "past" if is_past else "going to"
    start = statement(Clause(subject, first, tense, thing))
    end = Clause(subject.pronoun(), second, tense, clitic=thing)
    return joined(" et ", " and ", start, statement(end))


def for_a_reason(c: Chooser) -> Draft:
    reasons: list[tuple[str, list[str]]] = [
        ("faim", ["manger", "préparer", "cuisiner"]),
        ("soif", ["boire"]),
        ("froid", ["mettre", "fermer", "allumer"]),
        ("chaud", ["enlever", "ouvrir", "boire", "baigner"]),
        ("sommeil", ["dormir", "coucher", "rentrer", "reposer"]),
        ("fatigué", ["dormir", "reposer", "rentrer", "coucher", "asseoir", "arrêter"]),
        ("malade", ["rester", "dormir", "rentrer"]),
        ("triste", ["pleurer", "appeler"]),
        ("content", ["sourire", "chanter", "danser", "rire"]),
        ("occupé", ["courir", "rester", "dépêcher"]),
        ("pluie", ["rentrer", "rester", "prendre", "courir"]),
        ("neige", ["rester", "mettre", "rentrer"]),
        ("inquiet", ["téléphoner", "crier", "appeler"]),
    ]
    reason, effects = c.one(reasons)
    name = c.one(effects)
    is_past = c.often(0.4)
    if name == "téléphoner":
        verb = next(v for v in TO_PEOPLE if v.fr == name)
    else:
        verb = BY_NAME.get(name) or INTRANSITIVES.get(name) or next(v for v in INTRANSITIVES.values() if v.fr == name)
    subject = c.person(agrees=True)
    if reason in FEELINGS and not verb.takes_etre and c.often(0.3):
        subject = pronoun(JE)
    target = None
    if verb.link:
        target = c.other_person(subject)
    elif verb.objects:
        objects = {
            "fermer": select("fenêtre porte"),
            "ouvrir": select("fenêtre porte"),
            "allumer": select("chauffage four"),
            "prendre": select("parapluie bus taxi métro"),
            "mettre": select("manteau pull écharpe gant botte"),
            "enlever": select("manteau pull veste écharpe"),
            "appeler": select("family"),
        }.get(name)
        target = c.object_of(replace(verb, objects=tuple(objects)) if objects else verb, subject)
    tense = "past" if is_past else ("simple" if verb.aspect == "h" else "progressive")
    effect = Clause(subject, verb, tense, target)
    if name == "rester":
        effect = effect.then(PLACES["maison"].where)
    state_tense = "state past" if is_past else "simple"
    who = subject.pronoun()
    if reason in FEELINGS:
        finite = (french.imperfect if is_past else french.present)("avoir", who.person)
        be = (english.BE_PAST if is_past else english.BE_PRESENT)[who.person]
        state = Draft(f"{who.fr} {finite} {reason}", f"{who.en} {be} {FEELINGS[reason]}", frozenset({f"noun:{reason}"}))
    elif reason in {"pluie", "neige"}:
        row = WEATHER[4 if reason == "pluie" else 5]
        state = Draft(row[int(is_past)], row[3 + int(is_past)], frozenset({row[6]}))
    else:
        adjective = next(a for a in ADJECTIVES if a.name == reason)
        state = statement(Clause(who, ETRE, state_tense).then(predicate(adjective, who)))
    return joined(" parce que ", " because ", statement(effect), state)


LIKED = ["aimer", "adorer", "détester", "préférer"]


def contrasting(c: Chooser) -> Draft:
    """ "Marie aime le thé, mais elle préfère le café." """
    subject = c.person()
    first = c.object_of(BY_NAME["aimer"], subject)
    assert first.noun is not None
    options = [
        n for n in BY_NAME["aimer"].objects if n.semantic_class == first.noun.semantic_class and n is not first.noun
    ]
    second = noun_phrase(c.one(options), "all", not options[0].is_mass)
    verbs = c.one([("aimer", "préférer"), ("aimer", "détester"), ("détester", "adorer")])
    start = statement(Clause(subject, BY_NAME[verbs[0]], "simple", first))
    end = statement(Clause(subject.pronoun(), BY_NAME[verbs[1]], "simple", second))
    return joined(", mais ", ", but ", start, end)


def in_vain(c: Chooser) -> Draft:
    """ "Paul cherche sa clé, mais il ne la trouve pas." """
    subject = c.person()
    verb = BY_NAME["chercher"]
    thing = c.object_of(verb, subject, definite=True)
    start = Clause(subject, verb, "past", thing)
    when = c.when("past", verb)
    end = Clause(subject.pronoun(), BY_NAME["trouver"], "past", clitic=thing, negation="not")
    return joined(", mais ", ", but ", statement(start.then(when) if when else start), statement(end))


def interrupted(c: Chooser) -> Draft:
    """ "Paul lisait quand le téléphone a sonné." """
    clause = any_action(c, None, "was doing", unsuited=INSTANT | LASTING)
    events = [
        ("le téléphone a sonné", "the phone rang", "noun:téléphone verb:sonner"),
        ("le train est arrivé", "the train arrived", "noun:train verb:arriver"),
        ("le chien a aboyé", "the dog barked", "noun:chien verb:aboyer"),
        ("la pluie a commencé", "the rain started", "noun:pluie verb:commencer"),
        ("l'orage a éclaté", "the storm broke", "noun:orage verb:éclater"),
        ("le film a commencé", "the film started", "noun:film verb:commencer"),
    ]
    if c.often(0.4):
        name = c.name()
        verb = INTRANSITIVES[c.one(["arriver", "tomber", "rentrer", "sortir"])]
        event = statement(Clause(name, verb, "past"))
        if name.fr in clause.subject.fr:
            return interrupted(c)
    else:
        fr, en, words = c.one(events)
        event = Draft(fr, en, frozenset(words.split()))
    return joined(" quand ", " when ", statement(clause), event)


def at_the_same_time(c: Chooser) -> Draft:
    first, second = (any_action(c, None, "progressive", unsuited=INSTANT | LASTING) for _ in "12")
    if first.verb == second.verb or first.subject.fr_pronoun == second.subject.fr_pronoun or len(to_french(first)) > 40:
        return at_the_same_time(c)
    return joined(" pendant que ", " while ", statement(first), statement(second))


def if_it_rains(c: Chooser) -> Draft:
    row = c.one(WEATHER)
    condition = Draft(
        f"si {row[0]} demain",
        f"if {present_weather(row)} tomorrow",
        frozenset({row[6], "adverb:demain", "other:si"}),
    )
    bad = ["rain", "snow", "bad", "cold", "foggy", "windy"]
    actions = ["rester"] if any(word in row[5] for word in bad) and c.often(0.6) else ["aller"]
    subject = c.person()
    if actions == ["rester"]:
        clause = Clause(subject, INTRANSITIVES["rester"], "going to").then(PLACES[c.one(["maison", "hôtel"])].where)
    elif any(word in row[5] for word in bad):
        to = PLACES[c.one(["cinéma", "musée", "bibliothèque", "théâtre"])].to
        clause = Clause(subject, INTRANSITIVES["aller"], "going to").then(*([to] if to else []))
    else:
        to = PLACES[c.one(["plage", "parc", "campagne", "montagne", "marché"])].to
        clause = Clause(subject, INTRANSITIVES["aller"], "going to").then(*([to] if to else []))
    return joined(", ", ", ", condition, statement(clause))


def present_weather(row: tuple[str, ...]) -> str:
    return {"it is raining": "it rains", "it is snowing": "it snows"}.get(row[3], row[3])


def before_leaving(c: Chooser) -> Draft:
    """ "Marie a fermé la fenêtre avant de sortir." """
    clause = any_action(c, None, "past", unsuited=LASTING)
    name = c.one(["partir", "sortir", "rentrer", "manger", "travailler"])
    verb = INTRANSITIVES.get(name) or BY_NAME[name]
    if verb.fr == clause.verb.fr:
        return before_leaving(c)
    head, particle = verb.english_form("ing")
    link = c.one([("avant de", "before"), ("sans", "without")]) if name == "manger" else ("avant de", "before")
    phrase = Phrase(f"{link[0]} {verb.fr}", f"{link[1]} {head} {particle}", frozenset({verb.key, f"other:{link[0]}"}))
    return statement(clause.then(phrase))


def in_order_to(c: Chooser) -> Draft:
    """ "Paul est allé au marché pour acheter des pommes." """
    errands = {
        "marché": ("acheter", "fruit vegetable plant"),
        "supermarché": ("acheter", "staple pantry drink"),
        "boulangerie": ("acheter", "pain gâteau tarte biscuit"),
        "bibliothèque": ("lire", "roman journal magazine livre"),
        "cinéma": ("regarder", "film"),
        "théâtre": ("regarder", "pièce spectacle"),
        "gare": ("attendre", "family train"),
        "aéroport": ("attendre", "family avion"),
        "hôpital": ("voir", "family médecin"),
        "musée": ("voir", "art"),
        "restaurant": ("manger", "poisson poulet omelette crêpe glace"),
        "école": ("apprendre", "anglais espagnol leçon"),
        "poste": ("envoyer", "lettre carte_postale"),
        "stade": ("regarder", "match"),
        "ferme": ("acheter", "lait œuf fromage miel"),
    }
    errands["ferme"] = ("acheter", "lait fromage miel beurre")
    where, (name, nouns) = c.one(list(errands.items()))
    verb = BY_NAME.get(name) or next(v for v in DITRANSITIVES if v.fr == name)
    subject = c.person(agrees=True)
    tense = c.one(["past", "going to", "progressive", "habit"])
    target = c.object_of(replace(verb, objects=tuple(select(nouns))), subject, owned=False)
    to = PLACES[where].to
    assert to is not None
    purpose = Phrase(
        f"pour {verb.fr} {target.fr}",
        f"to {verb.english_form('base')[0]} {verb.english_form('base')[1]} {target.en}",
        target.words | {verb.key, "other:pour"},
    )
    clause = Clause(subject, INTRANSITIVES["aller"], "simple" if tense == "habit" else tense).then(to, purpose)
    when = (
        c.one(HABIT) if tense == "habit" else c.when(tense, INTRANSITIVES["aller"]) if tense != "progressive" else None
    )
    draft = statement(clause, when)
    links = draft.links | target.links
    if target.noun:
        links |= {(verb.key, target.noun.key)}
    return replace(draft, links=links)


def one_after_the_other(c: Chooser) -> Draft:
    """ "Julie a fermé la fenêtre, puis elle a éteint la lampe." """
    tense = c.one(["past", "past", "going to"])
    first = any_action(c, None, tense, unsuited=LASTING - {"acheter", "réparer"})
    second = any_action(c, first.subject.pronoun(), tense, unsuited=LASTING)
    if first.verb == second.verb or not first.subject.is_human or (second.verb.takes_etre and not first.subject.gender):
        return one_after_the_other(c)
    return joined(", puis ", ", then ", statement(first, c.when(tense, first.verb)), statement(second))


def that_someone_made(c: Chooser) -> Draft:
    """ "La tarte que Marie a préparée est délicieuse.": the participle agrees with what "que" stands for."""
    verb = c.one([v for v in DIRECT if v.aspect in "dp" and not v.subjects])
    subject = c.person()
    noun = c.one(
        [n for n in verb.objects if n in DESCRIBED and n.semantic_class not in {"person", "family", "meal"}] or [None]
    )
    if noun is None:
        return that_someone_made(c)
    thing = noun_phrase(noun, "the", not noun.is_mass and c.often(0.3))
    adjective = fitting(c, thing)
    inner = Clause(subject, verb, "past", clitic=thing)
    bare = replace(inner, clitic=None)
    fr = to_french(bare).removesuffix(french.participle(verb.fr))
    fr += french.participle(verb.fr, thing.gender, thing.is_plural)
    whole = replace(thing, fr=f"{thing.fr} que {fr}", en=f"{thing.en} that {to_english(bare)}")
    clause = Clause(whole, ETRE, "simple").then(predicate(adjective, thing))
    words = clause.words | inner.words | thing.words | {"other:que"}
    return Draft(to_french(clause), to_english(clause), words, inner.links | {(adjective.key, noun.key)})


def who_does(c: Chooser) -> Draft:
    """ "La femme qui habite ici est médecin." and "Je connais le garçon qui joue du piano." """
    noun = c.one(select("person"))
    person = noun_phrase(noun, "the", c.often(0.25))
    tense = c.one(["progressive", "past"])
    inner = any_action(c, replace(person, fr="qui", en="who"), tense)
    if noun.key in (inner.object.words if inner.object else set()):
        return who_does(c)
    described = replace(person, fr=f"{person.fr} {to_french(inner)}", en=f"{person.en} {to_english(inner)}")
    if c.often(0.6):
        adjective = fitting(c, person)
        outer = Clause(described, ETRE, "simple").then(predicate(adjective, person))
        links = {(adjective.key, noun.key)}
    else:
        verb = c.one([BY_NAME["connaître"], BY_NAME["voir"], BY_NAME["remercier"], BY_NAME["appeler"]])
        tense = "simple" if verb.aspect in "sh" else "past"
        outer = Clause(c.person(), verb, tense, described)
        if noun.key in outer.subject.words:
            return who_does(c)
        links = {(verb.key, noun.key)}
    return replace(statement(outer), words=outer.words | inner.words, links=outer.links | inner.links | links)


def thinking_that(c: Chooser) -> Draft:
    """ "Paul pense que le film est intéressant." """
    subject = c.person()
    fr, en = c.one([("penser", "think"), ("croire", "believe"), ("trouver", "find")])
    thing = described_thing(c) if c.often(0.7) else c.name()
    adjective = fitting(c, thing)
    if thing.fr in subject.fr or adjective.name in PHYSICAL:
        return thinking_that(c)
    said = statement(Clause(thing, ETRE, "simple").then(predicate(adjective, thing)))
    finite = french.present(fr, subject.person)
    en_finite = english.third_person(en) if subject.person == IL else en
    links = said.links | subject.links | ({(adjective.key, thing.noun.key)} if thing.noun else set())
    words = subject.words | said.words | {f"verb:{fr}", "other:que"}
    return Draft(f"{subject.fr} {finite} que {said.fr}", f"{subject.en} {en_finite} that {said.en}", words, links)


PHYSICAL = {
    "ouvert",
    "fermé",
    "rond",
    "carré",
    "rouge",
    "bleu",
    "vert",
    "jaune",
    "noir",
    "blanc",
    "gris",
    "violet",
}


def told_her(c: Chooser) -> Draft:
    """ "Paul appelle Marie et lui raconte une histoire." """
    subject = c.person()
    receiver = c.other_person(subject)
    verb = c.one([v for v in DITRANSITIVES if v.fr not in {"rendre"}])
    first = BY_NAME[c.one(["appeler", "rencontrer", "attendre", "voir", "inviter", "remercier"])]
    tense = "past" if first.aspect != "d" or c.often(0.7) else "going to"
    start = statement(Clause(subject, first, tense, receiver))
    end = Clause(subject.pronoun(), verb, tense, c.object_of(verb, subject, owned=False), receiver=receiver)
    return joined(" et ", " and ", start, statement(end))
