"""Questions and requests."""

from dataclasses import replace

from . import english, french
from .adverbials import (
    FUTURE,
    PAST,
    SCENES,
)
from .choices import Chooser
from .clauses import Clause, to_english, to_french
from .drafts import Draft
from .nouns import select
from .phrases import IL, JE, NOUS, TU, VOUS, NounPhrase, noun_phrase, pronoun
from .statements import BY_NAME, any_action, somewhere
from .tables import listed
from .verbs import ETRE, TRANSITIVES


def addressed(c: Chooser) -> tuple[str, str, NounPhrase]:
    """Who is spoken to, so that "you" shows in English which French form it is: "Paul," or "Madame,"."""
    if c.often(0.55):
        name = c.name()
        return name.fr, name.en, pronoun(TU, name.gender)
    fr, en, gender = c.one([("madame", "madam", "f"), ("monsieur", "sir", "m")])
    return fr, en, pronoun(VOUS, gender)


def asked(clause: Clause, inverted: bool = False) -> tuple[str, str]:
    """French with "est-ce que" except for "vous", which inverts; English with do-support."""
    if inverted:
        return to_french(clause, inverted=True), to_english(clause, question=True)
    return f"est-ce que {to_french(clause)}", to_english(clause, question=True)


def yes_no_question(c: Chooser) -> Draft:
    fr_name, en_name, subject = addressed(c)
    has_name = c.often(0.55)
    tense = c.weighted({"progressive": 3, "past": 3, "going to": 2, "simple": 3})
    clause = any_action(c, subject if has_name else someone_else(c), tense, "s" if tense == "simple" else "d")
    if tense in {"past", "going to"} and c.often(0.4):
        clause = clause.then(c.one(PAST if tense == "past" else FUTURE))
    fr, en = asked(clause, has_name and subject.person == VOUS)
    if has_name:
        fr, en = f"{fr_name}, {fr}", f"{en_name}, {en}"
    return Draft(fr, en, clause.words, clause.links, "?")


# "Comment" and "où" ask about these; of the rest one asks when and why.
SKILLED = set(listed("préparer réparer apprendre dessiner construire peindre ouvrir nettoyer voyager cacher corriger"))


def someone_else(c: Chooser) -> NounPhrase:
    """A subject one asks about, which "je" and "nous" seldom are."""
    return c.person(agrees=True)


QUESTION_WORDS = {"où": "where", "quand": "when", "pourquoi": "why", "comment": "how"}


def open_question(c: Chooser) -> Draft:
    fr_name, en_name, subject = addressed(c)
    has_name = c.often(0.4)
    word = c.one(["où", "quand", "pourquoi", "pourquoi", "comment"])
    tense = c.one(["past", "going to"] if word in {"quand", "comment"} else ["progressive", "past", "going to"])
    clause = any_action(c, subject if has_name else someone_else(c), tense)
    if (word == "comment") != (clause.verb.fr in SKILLED) or (word == "où" and clause.verb.fr not in SCENES):
        return open_question(c)
    clause = replace(clause, rest=())
    fr, en = asked(clause, has_name and subject.person == VOUS)
    fr, en = f"{word} {fr}", f"{QUESTION_WORDS[word]} {en}"
    if has_name:
        fr, en = f"{fr_name}, {fr}", f"{en_name}, {en}"
    return Draft(fr, en, clause.words | {f"other:{word}"}, clause.links, "?")


def who_question(c: Chooser) -> Draft:
    someone = NounPhrase("qui", "who", IL, "m", False, True)
    verb = c.one([v for v in TRANSITIVES if v.aspect in "dp" and not v.subjects])
    tense = c.one(["past", "going to"] + (["progressive"] if verb.aspect == "d" else []))
    target = c.object_of(verb, pronoun(NOUS, "", True), definite=True)
    clause = Clause(someone, verb, tense, target)
    when = c.when(tense, verb)
    clause = clause.then(when) if when else clause
    return Draft(
        to_french(clause),
        to_english(clause, True, asks_subject=True),
        clause.words | {"other:qui"},
        clause.links,
        "?",
    )


ASKED_WHAT = listed("manger boire préparer acheter vendre chercher lire écrire regarder dessiner apprendre réparer")


def what_question(c: Chooser) -> Draft:
    fr_name, en_name, subject = addressed(c)
    has_name = c.often(0.5)
    verb = BY_NAME[c.one(ASKED_WHAT)]
    tense = c.one(["progressive", "past", "going to"])
    clause = Clause(subject if has_name else someone_else(c), verb, tense, rest=somewhere(c, verb, 0.4))
    when = c.when(tense, verb)
    clause = clause.then(when) if when and c.often(0.5) else clause
    if has_name and subject.person == VOUS:
        fr = f"que {to_french(clause, inverted=True)}"
    else:
        fr = f"que est-ce que {to_french(clause)}"
    en = f"what {to_english(clause, question=True)}"
    if has_name:
        fr, en = f"{fr_name}, {fr}", f"{en_name}, {en}"
    return Draft(fr, en, clause.words | {"other:que"}, clause.links, "?")


def where_is(c: Chooser) -> Draft:
    if c.often(0.3):
        thing = c.relative() if c.often(0.5) else c.name()
    else:
        noun = c.one(select("school thing luggage clothes animal tool reading phone dishes"))
        thing = noun_phrase(noun, c.one(["the", "own", "own"]), c.often(0.3), owner=pronoun(c.one([JE, NOUS])))
    is_past = c.often(0.2)
    fr = (french.imperfect if is_past else french.present)("être", thing.person)
    en = (english.BE_PAST if is_past else english.BE_PRESENT)[thing.person]
    words = thing.words | {ETRE.key, "other:où"}
    return Draft(f"où {fr} {thing.fr}", f"where {en} {thing.en}", words, thing.links, "?")


def how_many(c: Chooser) -> Draft:
    fr_name, en_name, subject = addressed(c)
    verb = c.one([BY_NAME[name] for name in listed("avoir acheter vendre vouloir cueillir planter laver")])
    noun = c.one([n for n in verb.objects if not n.is_mass and n.semantic_class != "person"])
    thing = noun_phrase(noun, "bare", is_plural=True)
    tense = "simple" if verb.aspect == "s" else c.one(["past", "going to"])
    clause = Clause(subject, verb, tense)
    fr, en = f"de {thing.fr}", f"how many {thing.en} {to_english(clause, question=True)}"
    # The object stands before "avoir", so the participle agrees with it
    clause = replace(clause, clitic=None)
    verb_fr = to_french(clause, inverted=True) if subject.person == VOUS else f"est-ce que {to_french(clause)}"
    if tense == "past":
        plain = french.participle(verb.fr)
        verb_fr = verb_fr.removesuffix(plain) + french.participle(verb.fr, noun.gender, True)
    words, links = clause.words | thing.words | {"other:combien"}, frozenset({(verb.key, noun.key)})
    return Draft(f"{fr_name}, combien {fr} {verb_fr}", f"{en_name}, {en}", words, links, "?")


COMMANDS = listed("""
    manger boire préparer couper laver acheter choisir prendre enlever mettre ranger chercher lire
    écrire ouvrir fermer allumer éteindre nettoyer balayer réparer regarder écouter attendre aider
    inviter appeler remercier nourrir promener brosser arroser planter finir apprendre pousser jeter
    réserver essuyer plier repasser
""")


def command(c: Chooser) -> Draft:
    fr_name, en_name, subject = addressed(c)
    verb = BY_NAME[c.one(COMMANDS)]
    is_negated = c.often(0.2)
    target = c.object_of(verb, subject, is_negated, definite=c.often(0.7))
    form = french.imperative(verb.fr, subject.person)
    clause = Clause(subject, verb, "simple", target, rest=somewhere(c, verb, 0.1))
    tail = " ".join(phrase.fr for phrase in clause.rest), " ".join(phrase.en for phrase in clause.rest)
    fr = f"ne {form} pas {target.fr} {tail[0]}" if is_negated else f"{form} {target.fr} {tail[0]}"
    head, particle = verb.english_form("base")
    en = f"{'do not ' if is_negated else ''}{head} {particle} {target.en} {tail[1]}"
    return Draft(f"{fr_name}, {fr}", f"{en_name}, {en}", clause.words, clause.links, "!")
