"""The French of the sample corpus is right. The checks read the text."""

import re

from tests.data.sample_corpus import (
    ADJECTIVES,
    ALL_EN,
    ALL_FR,
    ASPIRATE,
    ETRE_PARTICIPLES,
    FORMS_OF,
    LEXICON,
    MEN,
    VOWEL,
    WOMEN,
    agrees,
    bigrams,
    matching,
)


def test_articles_agree_in_gender_and_number() -> None:
    articles = {
        **dict.fromkeys(["le", "un", "ce", "cet", "du", "au"], ("m", False)),
        **dict.fromkeys(["la", "une", "cette", "ma", "ta", "sa"], ("f", False)),
    }
    checked = 0
    for first, second, line in bigrams(ALL_FR):
        known = LEXICON.get(second)
        if known and first in articles:
            assert articles[first] == known, line
            checked += 1
        if known and first in {
            "les",
            "des",
            "ces",
            "mes",
            "tes",
            "ses",
            "nos",
            "vos",
            "leurs",
            "aux",
            "deux",
            "dix",
        }:
            assert known[1], line
            checked += 1
    assert checked > 5_000


def test_adjectives_agree_with_the_noun_beside_them() -> None:
    before = {form for row in ADJECTIVES[-7:] for form in row}
    checked = 0
    for first, second, line in bigrams(ALL_FR):
        noun, adjective = (second, first) if first in before else (first, second)
        known = LEXICON.get(noun)
        if known and adjective in FORMS_OF and (adjective in before) == (adjective == first):
            assert agrees(adjective, *known), line
            checked += 1
    assert checked > 1_000


def test_predicates_agree_with_the_subject() -> None:
    degree = r"(?:très |trop |assez |vraiment |un peu |plus |moins |aussi |pas )?"
    pattern = re.compile(rf"^(?:\w+'|\w+ )?([\w]+) (?:n')?(?:est|sont|était|étaient) {degree}{degree}([\w]+)\b")
    genders = LEXICON | dict.fromkeys(MEN, ("m", False)) | dict.fromkeys(WOMEN, ("f", False))
    genders |= {"Il": ("m", False), "Elle": ("f", False)}
    checked = 0
    for line in ALL_FR:
        found = pattern.match(line)
        if found and found[1] in genders and found[2] in FORMS_OF:
            assert agrees(found[2], *genders[found[1]]), line
            checked += 1
    assert checked > 150


def test_reasons_and_relatives_agree_with_the_subject() -> None:
    for pronoun, gender, is_plural in (("il", "m", 0), ("elle", "f", 0), ("ils", "m", 1), ("elles", "f", 1)):
        for line in ALL_FR:
            found = re.search(rf"parce qu'{pronoun} (?:est|était|sont|étaient) (\w+)\.", line)
            if found and found[1] in FORMS_OF:
                assert agrees(found[1], gender, bool(is_plural)), line


def test_vowels_are_elided() -> None:
    assert matching(rf"(?<![\w-])(?:le|la|je|me|te|se|ne|de|que|est-ce que) {VOWEL}", ALL_FR) == []
    assert matching(r"\bsi ils?\b|\bce (?:est|était)\b|\bce (?!a|y)[aeioéê]\w+", ALL_FR) == []


def test_only_vowels_are_elided() -> None:
    assert matching(rf"\b(?:[ldnjmtsc]|qu)'(?!{VOWEL})", ALL_FR, unless=r"s'il") == []
    assert matching(rf"\b(?:[ldnjmtsc]|qu)'{ASPIRATE}", ALL_FR) == []
    assert matching(rf"\b(?:cet|bel|nouvel|vieil) (?!{VOWEL})", ALL_FR) == []
    assert matching(rf"\b(?:un|le|ce|mon|ton|son|notre|votre|leur) (?:beau|nouveau|vieux) {VOWEL}", ALL_FR) == []
    assert matching(rf"\b(?:ma|ta|sa) {VOWEL}", ALL_FR) == []


def test_prepositions_contract_with_the_article() -> None:
    assert matching(r"\b(?:à|de) les?\b", ALL_FR) == []
    assert matching(rf"\b(?:au|du) {VOWEL}", ALL_FR) == []
    assert matching(r"\b(?:de|d'|du|des) (?:de|du|des)\b", ALL_FR) == []


def test_indefinite_articles_become_de_after_a_negation() -> None:
    # être, and verbs and nouns that bring their own "de"
    keep = r"\b(?:n'est|n'étai|ce n'|jou|occup|besoin|peur|rêv|descend|avant)"
    negated = r"\bn(?:e|')[ ]?[\w ]+? (?:pas|plus|jamais)(?: encore)?(?: \w+(?:é|i|u|is|it|ert|eint))?"
    assert matching(rf"{negated} (?:un|une|des|du|de la|de l')\b", ALL_FR, unless=keep) == []
    assert len(matching(rf"{negated} d(?:e |')\w+", ALL_FR)) > 50


def test_des_becomes_de_before_an_adjective() -> None:
    adjectives = "|".join(row[i] for row in ADJECTIVES[-7:] for i in (2, 3))
    keep = r"occup|descend|peur"  # here "des" is "de les"
    assert matching(rf"(?<! )\bdes (?:{adjectives})\b", ALL_FR) == []
    found = matching(rf"(?:é|i|u|is|e|ent|ons|ez|er|ir|re) des (?:{adjectives}) ", ALL_FR, unless=keep)
    assert found == []


def test_verbs_of_movement_take_etre_and_agree() -> None:
    assert matching(rf"\b(?:ai|as|a|avons|avez|ont|j'ai)(?: \w+)? {ETRE_PARTICIPLES}e?s?\b", ALL_FR) == []
    checked = 0
    for line in ALL_FR:
        found = re.match(rf"(\w+) (?:n')?est (?:pas )?({ETRE_PARTICIPLES}e?s?)\b", line)
        if found and found[1] in MEN + WOMEN + ["Il", "Elle"]:
            assert found[2].endswith("e") == (found[1] in [*WOMEN, "Elle"]), line
            checked += 1
        found = re.match(rf"Les (\w+) (?:ne )?sont (?:pas )?({ETRE_PARTICIPLES}e?s?)\b", line)
        if found and LEXICON.get(found[1]):
            ending = "es" if LEXICON[found[1]][0] == "f" else "s"
            assert re.search(rf"[éiu]{ending}$", found[2]), line
            checked += 1
    assert checked > 60


def test_reflexive_participles_agree_with_the_subject() -> None:
    checked = 0
    for line in ALL_FR:
        found = re.match(r"(\w+) (?:ne )?s'est (?:pas |jamais |déjà |encore )*(\w+)\b(?! les? )", line)
        if found and found[1] in MEN + WOMEN + ["Il", "Elle"]:
            assert found[2].endswith("e") == (found[1] in [*WOMEN, "Elle"]), line
            checked += 1
    assert checked > 60


def test_participles_agree_with_a_direct_object_before_them() -> None:
    negations = r"(?:pas )?"
    checked = 0
    for line in ALL_FR:
        for found in re.finditer(rf"\bles (?:ai|as|a|avons|avez|ont) {negations}(\w+)", line):
            assert found[1].endswith("s"), line
            checked += 1
        found_noun = re.match(
            r"(?:La|Le|L'|Cette|Ce|Cet|Ma|Sa|Mon|Son) ?(\w+)(?: \w+)? \? .*"
            r"\bl'(?:ai|as|a|avons|ont) (?:pas )?(\w+)",
            line,
        )
        found_noun = found_noun or re.match(
            r"(?:La |Le |L')(\w+) qu(?:e |')[\w' ]+? (?:ai|a|ont|avons) (\w+) est ", line
        )
        if found_noun and found_noun[1] in LEXICON:
            assert found_noun[2].endswith("e") == (LEXICON[found_noun[1]][0] == "f"), line
            checked += 1
    assert checked > 150


def test_the_possessive_of_a_subject_shows_in_english() -> None:
    owner = rf"(?:{'|'.join(WOMEN)}|Elle) [^,?]*\b(?:son|sa|ses) [^,?]*$"
    checked = 0
    for fr, en in zip(ALL_FR, ALL_EN, strict=True):
        if re.match(owner, fr) and not re.search("qui|pendant|quand|parce", fr):
            assert re.search(r"\bher\b", en), (fr, en)
            assert not re.search(r"\bhis\b", en), (fr, en)
            checked += 1
    assert checked > 100
