"""Lines that make patterns try the same characters again and again: the work of each rule grows with their length.

A pattern that takes the square of 100,000 characters runs into the limit, which honest work reaches a hundredth of.
"""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from seq2seq.analysis import words
from seq2seq.corpus.augmentation.aligned_places import aligned_places
from seq2seq.corpus.augmentation.marks import without_stop
from seq2seq.corpus.cleaning import measures
from seq2seq.corpus.cleaning.measures import RULES, Pair, n_letters, normal_forms_of
from seq2seq.corpus.cleaning.near import sketches
from seq2seq.corpus.cleaning.repair import repaired
from seq2seq.corpus.groups import comparable
from tests.effort import no_hang
from tests.nightly import IS_NIGHTLY

LENGTH = 100_000
LIMIT_S = 60
UNITS = [*"aé不ー1١ \u200b\ufffd.。\x07@<千Ã", "ก็", "\u0301\u0323", "\u1112\u1161", "👨\u200d", "🇫🇷", " a=b", "A. ",
         "a b ", "a.b@", "@a.", "a@a-", "http://", "www.", "<a ", "<a x=", '<a x="', ' a="b"', "\"'", "&amp", "&#1",
         "[(", "a-", "。」", "{a, ", "1,234", "1 ", "11,", "１，２３４", "1千", "Ã©"]  # fmt: skip
BEGINNINGS = ("", '<a x="', "<a", "1", "a@", "&")[: None if IS_NIGHTLY else 2]


def lines() -> Iterator[str]:
    for unit in UNITS:
        for begin in BEGINNINGS:
            yield (begin + unit * (LENGTH // len(unit)))[:LENGTH] + "!"


WORK = {rule.name: lambda text, rule=rule: rule.measure(Pair(text, "x", "en", "fr")) for rule in RULES} | {
    "normal form": normal_forms_of,
    "letters that count": n_letters,
    "comparable": comparable,
    "sketch": lambda text: sketches([text]),
    "words of the analysis": words.letter_words,
    "numbers of the analysis": words.numbers,
    "no stop": lambda text: without_stop(text, random.Random(1)),
    "aligned places": lambda text: aligned_places([text, text]),
    "repair": lambda text: list(repaired(iter([(text, "x")]), Counter())),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_the_work_grows_with_the_length_of_a_line(name):
    for line in lines():
        with no_hang(LIMIT_S):
            WORK[name](line)


def test_a_truncated_tag_with_many_attributes_comes_to_an_end():
    assert measures.tags(Pair("<a" + " abcd='e'" * 45, "x", "en", "fr")) == 0
