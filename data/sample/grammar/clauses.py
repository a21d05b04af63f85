"""One clause, described once and written out in French and in English."""

from dataclasses import dataclass, field, replace

from . import english, french
from .adverbials import Phrase
from .phrases import IL, ILS, JE, NOUS, TU, VOUS, Link, NounPhrase
from .verbs import Verb

REFLEXIVES = {JE: "me", TU: "te", IL: "se", NOUS: "nous", VOUS: "vous", ILS: "se"}

# French tense of each English one
FRENCH_TENSES = {
    "simple": "present",
    "progressive": "present",
    "past": "perfect",
    "have": "perfect",
    "state past": "imperfect",
    "was doing": "imperfect",
    "used to": "imperfect",
    "going to": "future",
}
NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus", "not yet": "pas encore", "nothing": "rien"}


@dataclass(frozen=True)
class Clause:
    """Subject, verb and what follows.

    Attributes:
        tense: a key of FRENCH_TENSES; the English tense, which fixes the French one.
        negation: a key of NEGATIONS, or empty.
        governor: a verb that puts `verb` into the infinitive ("vouloir", "commencer à").
        clitic: the phrase that a direct pronoun stands for ("le" for "le livre").
        receiver: the phrase that an indirect pronoun stands for ("lui" for "Marie").
        middle: an adverb after the French finite verb and before the English main verb.
        rest: complements and adverbials, already in both languages.
    """

    subject: NounPhrase
    verb: Verb
    tense: str
    object: NounPhrase | None = None
    negation: str = ""
    governor: Verb | None = None
    clitic: NounPhrase | None = None
    receiver: NounPhrase | None = None
    middle: Phrase | None = None
    rest: tuple[Phrase, ...] = field(default=())

    def then(self, *phrases: Phrase) -> "Clause":
        return replace(self, rest=(*self.rest, *phrases))

    @property
    def words(self) -> frozenset[str]:
        keys = self.subject.words | {self.verb.key}
        keys |= {self.governor.key} if self.governor else set()
        for part in (self.object, self.middle, *self.rest):
            keys |= part.words if part else set()
        return keys

    @property
    def links(self) -> frozenset[Link]:
        links = self.subject.links
        target = self.object or self.clitic
        if self.object:
            links |= self.object.links
        if target and target.noun and self.verb.fr != "être":
            links |= {(self.verb.key, target.noun.key)}
        return links


# ---------------------------------------------------------------- French


def to_french(clause: Clause, inverted: bool = False) -> str:
    """Words in order, before elision; `inverted` is the question form "aimez-vous"."""
    subject, verb = clause.subject, clause.verb
    tense = FRENCH_TENSES[clause.tense]
    clitic = _french_clitic(clause)
    leading, following = clitic, ""
    if clause.governor or tense == "future":
        finite = _finite("aller", "present", subject.person)
        link = ""
        if clause.governor:
            finite, following = _governor(clause.governor, tense, subject)
            link = clause.governor.link
        following = f"{following} {link} {clitic} {verb.fr}"
        leading = ""
    elif tense == "perfect":
        finite = _finite("être" if verb.takes_etre else "avoir", "present", subject.person)
        following = _agreeing_participle(clause)
    else:
        finite = _finite(verb.fr, tense, subject.person)
    negation = NEGATIONS.get(clause.negation, "")
    finite_group = f"{finite}-{subject.fr_pronoun}" if inverted else finite
    middle = clause.middle.fr if clause.middle else ""
    words = [
        "" if inverted else subject.fr,
        "ne" if negation else "",
        leading,
        finite_group,
        negation,
        middle,
        following,
        verb.fr_rest,
        verb.link if clause.object else "",
        clause.object.fr if clause.object else "",
        *(phrase.fr for phrase in clause.rest),
    ]
    return " ".join(" ".join(words).split())


def _finite(infinitive: str, tense: str, person: int) -> str:
    return french.imperfect(infinitive, person) if tense == "imperfect" else french.present(infinitive, person)


def _governor(governor: Verb, tense: str, subject: NounPhrase) -> tuple[str, str]:
    """Finite form and participle (if any) of a governing verb."""
    if tense == "perfect":
        return french.present("avoir", subject.person), french.participle(governor.fr)
    return _finite(governor.fr, tense, subject.person), ""


def _french_clitic(clause: Clause) -> str:
    if clause.verb.is_reflexive:
        return REFLEXIVES[clause.subject.person]
    if clause.clitic:
        return clause.clitic.fr_direct_clitic
    return clause.receiver.fr_indirect_clitic if clause.receiver else ""


def _agreeing_participle(clause: Clause) -> str:
    """With être the participle agrees with the subject, with avoir only with an object before it."""
    source = clause.subject if clause.verb.takes_etre else clause.clitic
    if source is None:
        return french.participle(clause.verb.fr)
    assert source.gender, f"{source.fr!r} has no gender to agree with"
    return french.participle(clause.verb.fr, source.gender, source.is_plural)


# ---------------------------------------------------------------- English

MODALS = {"can", "must"}


def to_english(clause: Clause, question: bool = False, asks_subject: bool = False) -> str:
    """Statement order, or with `question` the auxiliary first; "who" as subject keeps statement order."""
    auxiliary, main = _english_verb(clause, question and not asks_subject)
    negation = {"not": "not", "not yet": "not", "nothing": "not"}.get(clause.negation, "")
    adverb = clause.negation if clause.negation in {"never", "no longer"} else ""
    if auxiliary == "can" and negation and not question:
        auxiliary, negation = "cannot", ""
    before_main = " ".join([negation, adverb, clause.middle.en if clause.middle else ""])
    if question and not asks_subject:
        start = f"{auxiliary} {clause.subject.en} {before_main} {main}"
    else:
        start = f"{clause.subject.en} {auxiliary} {before_main} {main}"
    tail = [phrase.en for phrase in clause.rest] + ["yet" if clause.negation == "not yet" else ""]
    after = ["anything" if clause.negation == "nothing" else "", *tail]
    return " ".join(" ".join([start, *after]).split())


def _english_verb(clause: Clause, question: bool) -> tuple[str, str]:
    """The auxiliary (may be empty) and the rest of the verb group with its object."""
    finite = clause.governor or clause.verb
    person = clause.subject.person
    needs_do = question or clause.negation in {"not", "nothing"}
    be, was = english.BE_PRESENT[person], english.BE_PAST[person]
    tense = clause.tense
    if finite.en in MODALS:
        return (finite.en_past if tense == "state past" else finite.en), _with_object(clause, "base")
    if tense == "progressive":
        return be, _group(clause, "ing")
    if tense == "was doing":
        return was, _group(clause, "ing")
    if tense == "going to":
        return be, "going to " + _group(clause, "base")
    if tense == "have":
        return ("has" if person == IL else "have"), _group(clause, "participle")
    if tense == "used to":
        return "", "used to " + _group(clause, "base")
    if finite.en.startswith("be_") or finite.en == "be":
        _, particle = finite.english_form("base")
        predicate = " ".join([particle, clause.object.en if clause.object else ""])
        return (be if tense == "simple" else was), predicate.strip()
    if tense == "simple":
        if needs_do:
            return ("does" if person == IL else "do"), _group(clause, "base")
        return "", _group(clause, "third" if person == IL else "base")
    if needs_do:
        return "did", _group(clause, "base")
    return "", _group(clause, "past")


def _group(clause: Clause, form: str) -> str:
    """The verb in `form`, or the governor in `form` and the verb in the infinitive."""
    if clause.governor is None:
        return _with_object(clause, form)
    head, particle = clause.governor.english_form(form)
    return " ".join(f"{head} {particle} {clause.governor.en_link} {_with_object(clause, 'base')}".split())


def _with_object(clause: Clause, form: str) -> str:
    head, particle = clause.verb.english_form(form)
    if clause.clitic:
        pronoun = clause.clitic.en_object_pronoun
        return f"{head} {pronoun} {particle}" if clause.verb.is_separable else f"{head} {particle} {pronoun}"
    receiver = clause.receiver.en_object_pronoun if clause.receiver else ""
    return f"{head} {particle} {receiver} {clause.object.en if clause.object else ''}".strip()
