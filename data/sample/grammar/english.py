"""English word forms: plurals, verb forms, comparatives, and a/an."""

from itertools import pairwise

VOWELS = "aeiou"
DOUBLED = {
    "run",
    "swim",
    "cut",
    "put",
    "sit",
    "get",
    "win",
    "stop",
    "forget",
    "plan",
    "begin",
    "hot",
    "big",
    "sad",
    "chat",
    "travel",
}

BE_PRESENT = ("am", "are", "is", "are", "are", "are")
BE_PAST = ("was", "were", "was", "were", "were", "were")


def plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    return verb + "es" if verb.endswith("o") else plural(verb)


def ing(verb: str) -> str:
    if verb in DOUBLED:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith(("ee", "be")):
        return verb[:-1] + "ing"
    return verb + "ing"


def past(verb: str) -> str:
    """Regular past; the verb table writes the irregular ones out."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in DOUBLED else verb) + "ed"


def comparative(adjective: str) -> str:
    """tall -> taller, heavy -> heavier, careful -> more careful."""
    if adjective == "good":
        return "better"
    if adjective in DOUBLED:
        return adjective + adjective[-1] + "er"
    if adjective.endswith("y") and len(adjective) <= 6:
        return adjective[:-1] + "ier"
    if len(adjective) <= 5:
        return adjective + ("r" if adjective.endswith("e") else "er")
    return "more " + adjective


def with_articles(words: str) -> str:
    """Turn each "a" into "an" where the next word starts with a vowel sound."""
    tokens = words.split()
    for i, (word, following) in enumerate(pairwise(tokens)):
        starts_with_vowel = following[0] in VOWELS and not following.startswith(("useful", "one"))
        if word == "a" and (starts_with_vowel or following == "hour"):
            tokens[i] = "an"
    return " ".join(tokens)


def sentence(words: str, mark: str) -> str:
    text = with_articles(words)
    return text[0].upper() + text[1:] + mark
