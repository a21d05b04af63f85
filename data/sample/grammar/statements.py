"""Plain statements: who does what, when and where."""

from collections.abc import Callable, Collection
from dataclasses import replace

from . import english, french
from .adverbials import (
    BY_LAND,
    CITIES,
    COUNTRIES,
    FUTURE,
    NEARBY,
    PAST,
    PLACES,
    TRANSPORT,
    Phrase,
)
from .choices import DAILY, Chooser, is_recent
from .clauses import Clause
from .drafts import Draft, statement
from .nouns import NOUNS
from .phrases import IL, ILS, NounPhrase, noun_phrase
from .tables import listed
from .verbs import DITRANSITIVES, GOVERNING, INTRANSITIVES, TO_PEOPLE, TRANSITIVES, Verb

TEMPORAL = {"habit", "often", "never", "no longer"}
ALREADY = Phrase("déjà", "already", frozenset({"adverb:déjà"}))
NEEDS_PLACE = {"habiter", "rester", "aller", "venir"}
DIRECT = [verb for verb in TRANSITIVES if not verb.link and verb.aspect in "dhp" and not verb.is_reflexive]
BY_NAME = {verb.fr: verb for verb in TRANSITIVES if not verb.link}


def timed(c: Chooser, verb: Verb, build: Callable[[str], Clause]) -> Draft:
    """Give a clause its tense and the time phrase that shows it; `build` takes the negation."""
    kind = c.tense_of(verb)
    tense = "simple" if kind in TEMPORAL else kind
    negation = kind if kind in {"never", "no longer"} else ""
    if kind in {"progressive", "simple", "past", "going to", "state past"} and verb.fr != "préférer" and c.often(0.15):
        negation = "not"
    if kind == "have":
        negation = c.one(["", "never", "not yet"])
    clause = replace(build(negation), tense=tense, negation=negation)
    if kind == "have" and not negation:
        clause = replace(clause, middle=ALREADY)
    if kind == "often":
        clause = replace(clause, middle=c.frequency())
    when = c.habit(verb) if kind == "habit" else c.when(tense, verb)
    if when is None:
        return statement(clause)
    starts = 0.7 if tense in {"used to", "state past"} else 0.0 if tense == "progressive" else 0.3
    if c.often(starts):
        return statement(clause, when)
    return statement(clause.then(when))


def somewhere(c: Chooser, verb: Verb, probability: float) -> tuple[Phrase, ...]:
    place = c.place(verb) if c.often(probability) else None
    return (place,) if place else ()


def transitive(c: Chooser) -> Draft:
    verb = c.one(TRANSITIVES)
    subject = c.subject_of(verb)

    def build(negation: str) -> Clause:
        return Clause(subject, verb, "", c.object_of(verb, subject, bool(negation)), rest=somewhere(c, verb, 0.4))

    return timed(c, verb, build)


def intransitive(c: Chooser) -> Draft:
    verb = c.one([verb for name, verb in INTRANSITIVES.items() if name not in {"aller", "venir"}])
    subject = c.subject_of(verb)
    rest: tuple[Phrase, ...] = ()
    needs_place = verb.fr in NEEDS_PLACE
    manner = None if needs_place else c.manner(verb)
    is_animal = subject.noun is not None and not subject.is_human
    if needs_place or (c.often(0.35) and not is_animal):
        rest = somewhere(c, verb, 1.0)
    if manner and not rest and c.often(0.5):
        rest = (manner,)
    elif c.often(0.12) and subject.is_human and not subject.is_plural and verb.aspect == "d" and not verb.is_reflexive:
        other = c.other_person(subject)
        rest = (*rest, Phrase(f"avec {other.fr}", f"with {other.en}", other.words | {"other:avec"}))
    has_manner = manner in rest  # "he does not swim slowly" denies the wrong thing
    return timed(c, verb, lambda no: Clause(subject, verb, "", rest=() if no and has_manner else rest))


def giving(c: Chooser) -> Draft:
    verb = c.one(DITRANSITIVES)
    subject = c.person()
    receiver = c.other_person(subject)

    def build(negation: str) -> Clause:
        to = Phrase(f"à {receiver.fr}", f"to {receiver.en}", receiver.words | {"other:à"})
        return Clause(subject, verb, "", c.object_of(verb, subject, bool(negation)), rest=(to,))

    return timed(c, verb, build)


def speaking_to(c: Chooser) -> Draft:
    verb = c.one(TO_PEOPLE)
    subject = c.person()
    receiver = c.other_person(subject)
    return timed(c, verb, lambda negation: Clause(subject, verb, "", receiver))


def going(c: Chooser) -> Draft:
    verb = INTRANSITIVES[c.one(["aller", "aller", "venir"])]
    subject = c.person(agrees=True)
    destination = c.one(NEARBY + CITIES + COUNTRIES)
    to = PLACES[destination].to
    assert to is not None
    rest: tuple[Phrase, ...] = (to,)
    if c.often(0.4):
        rest = (to, c.one(ways_to(destination)))
    draft = timed(c, verb, lambda negation: Clause(subject, verb, "", rest=rest))
    is_daily = any(phrase.words & draft.words for phrase in DAILY)
    return going(c) if is_daily and destination not in NEARBY else draft  # nobody goes to Japan every morning


def ways_to(destination: str) -> list[Phrase]:
    if destination in NEARBY:
        return BY_LAND
    overseas = {"Japon", "Canada", "États-Unis"}
    names = {"by plane", "by boat"} if destination in overseas else {"by train", "by bus", "by car", "by plane"}
    return [phrase for phrase in TRANSPORT if phrase.en in names]


WASHING = {"main": ("laver", "wash"), "visage": ("laver", "wash"), "dent": ("brosser", "brush")}


def washing_oneself(c: Chooser) -> Draft:
    """ "Elle s'est lavé les mains": the object follows, so the participle does not agree."""
    noun = NOUNS[c.one(list(WASHING))]
    fr, en = WASHING[noun.name]
    subject = c.person(agrees=True)
    owner = noun_phrase(noun, "own", noun.name != "visage" or subject.is_plural, owner=subject)
    fr_object = noun_phrase(noun, "the", noun.name != "visage").fr
    tense = c.one(["progressive", "habit", "past", "going to"])
    reflexive = "se" if subject.person in {IL, ILS} else "me"
    plural = subject.person == ILS
    base, past = en, english.past(en)
    third = base if plural else english.third_person(en)
    be = english.BE_PRESENT[subject.person]
    fr_verb, en_verb, when = {
        "progressive": (f"{reflexive} {french.present(fr, subject.person)}", f"{be} {english.ing(en)}", None),
        "habit": (f"{reflexive} {french.present(fr, subject.person)}", third, c.one(DAILY)),
        "past": (
            f"{reflexive} {french.present('être', subject.person)} {french.participle(fr)}",
            past,
            c.one([p for p in PAST if is_recent(p)]),
        ),
        "going to": (
            f"{french.present('aller', subject.person)} {reflexive} {fr}",
            f"{be} going to {en}",
            c.one([p for p in FUTURE if is_recent(p)]),
        ),
    }[tense]
    words = subject.words | {noun.key, f"verb:{fr}"} | (when.words if when else frozenset())
    tail = (when.fr, when.en) if when else ("", "")
    return Draft(
        f"{subject.fr} {fr_verb} {fr_object} {tail[0]}",
        f"{subject.en} {en_verb} {owner.en} {tail[1]}",
        words,
        subject.links,
    )


def nothing(c: Chooser) -> Draft:
    verb = BY_NAME[c.one(listed("manger boire acheter trouver comprendre casser oublier perdre voir entendre"))]
    subject = c.person()
    tense = "past" if verb.aspect == "p" or (verb.aspect != "s" and c.often(0.5)) else "simple"
    if tense == "simple" and verb.aspect == "d":
        tense = "progressive"
    clause = Clause(subject, verb, tense, negation="nothing", rest=somewhere(c, verb, 0.3))
    when = c.when(tense, verb)
    draft = statement(clause.then(when) if when else clause)
    return replace(draft, words=draft.words | {"other:rien"})


def governed(c: Chooser) -> Draft:
    governor = c.one(list(GOVERNING.values()))
    if governor.fr in {"apprendre", "savoir", "commencer", "aimer", "détester", "préférer"}:
        verb = c.one(SKILLS)
    else:
        verb = c.one(DIRECT + SKILLS + ERRANDS)
    if verb.fr == governor.fr:
        return governed(c)
    subject = c.person()
    negation = "not" if governor.fr not in {"commencer", "préférer"} and c.often(0.2) else ""
    tense = {"d": "progressive", "p": "past"}.get(governor.aspect, "simple")
    if governor.fr in {"vouloir", "pouvoir"} and c.often(0.2):
        tense = "state past"
    target = c.object_of(verb, subject, bool(negation)) if verb.objects else None
    clause = Clause(subject, verb, tense, target, negation, governor, rest=somewhere(c, verb, 0.3))
    when = c.when("past", verb) if tense == "past" and c.often(0.5) else None
    return statement(clause.then(when) if when else clause)


# What one learns, likes or starts to do, and what one has to be told to do.
SKILLS = [
    INTRANSITIVES[name]
    for name in listed("courir nager danser travailler cuisiner voyager dessiner jardiner bricoler marcher")
] + [verb for verb in TRANSITIVES if verb.fr in {"jouer", "conduire", "étudier"}]
ERRANDS = [
    INTRANSITIVES[name]
    for name in listed(
        "dormir sortir rentrer se_promener se_reposer se_baigner se_coucher se_lever se_dépêcher se_doucher"
    )
]


def any_action(
    c: Chooser, subject: NounPhrase | None, tense: str, aspects: str = "d", unsuited: Collection[str] = ()
) -> Clause:
    """Someone does something; `subject` if given, and none of the `unsuited` verbs."""
    if aspects == "s" or c.often(0.7):
        verb = c.one([v for v in TRANSITIVES if v.aspect in aspects and not v.subjects and v.fr not in unsuited])
        who = subject or c.subject_of(verb)
        return Clause(who, verb, tense, c.object_of(verb, who), rest=somewhere(c, verb, 0.3))
    special = NEEDS_PLACE | {"aboyer", "voler", "raser", "maquiller"}  # not for every subject
    names = [
        name
        for name, v in INTRANSITIVES.items()
        if v.aspect in aspects and v.fr not in special and v.fr not in unsuited
    ]
    verb = INTRANSITIVES[c.one(names)]
    who = subject or c.person(agrees=verb.takes_etre)
    return Clause(who, verb, tense, rest=somewhere(c, verb, 0.4))
