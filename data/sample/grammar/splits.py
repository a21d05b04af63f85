"""Dividing the sentences into train, valid and test, with some word pairs kept out of training."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from . import french
from .adjectives import ADJECTIVES, PREPOSED_BEFORE_VOWEL
from .choices import Chooser
from .drafts import Sentence
from .nouns import NOUNS
from .patterns import draw
from .phrases import Link

N_TRAIN, N_VALID, N_TEST, N_NOVEL = 12_000, 500, 500, 130
MIN_COUNT = 3  # in train, of every word form of valid and test, on either side
LENGTHS = range(3, 26)


@dataclass(frozen=True)
class Corpus:
    train: list[Sentence]
    valid: list[Sentence]
    test: list[Sentence]
    novel: set[str]  # French sides of the test sentences that combine words anew
    held_out: list[Link]


def tokens(text: str) -> list[str]:
    """Lower-case words; an elided word is a word of its own."""
    return re.findall(r"[\w-]+", text.lower().replace("'", " "))


def forms(key: str) -> frozenset[str]:
    """Every written form of a French noun, adjective or verb; of any other word, its name."""
    kind, _, name = key.partition(":")
    if kind == "noun" and name in NOUNS:
        return frozenset({name, NOUNS[name].fr_plural})
    if kind == "adjective":
        adjective = next(a for a in ADJECTIVES if a.name == name)
        inflected = {adjective.form(gender, number) for gender in "mf" for number in (False, True)}
        return frozenset(inflected | {PREPOSED_BEFORE_VOWEL.get(name, name)})
    if kind == "verb" and name not in {"pleuvoir", "sonner", "éclater"}:
        return frozenset(form for form in french.all_forms(name))
    return frozenset({name})


def unique_sentences(chooser: Chooser) -> Iterator[Sentence]:
    """Draw for ever, without repeating a sentence in either language.

    Raises:
        ValueError: a sentence has two translations, so the grammar is ambiguous.
    """
    english_of: dict[str, str] = {}
    french_of: dict[str, str] = {}
    while True:
        sentence = draw(chooser)
        english_before = english_of.setdefault(sentence.fr, sentence.en)
        french_before = french_of.setdefault(sentence.en, sentence.fr)
        if (english_before, french_before) != (sentence.en, sentence.fr):
            raise ValueError(
                f"{sentence.fr!r} = {sentence.en!r}, but also {french_before!r} = {english_before!r}; "
                "make the difference visible in both languages"
            )
        sides = sentence.fr, sentence.en
        if french_of[sentence.en] is sentence.fr and all(len(side.split()) in LENGTHS for side in sides):
            yield sentence


def choose_held_out(pool: list[Sentence], rng: Random) -> list[Link]:
    """Word pairs to keep out of training, until they occur in enough sentences to choose from.

    A pair is common enough to be natural, rare enough to be spared, and made of words that are frequent
    without it and that cannot be mistaken for another word.
    """
    link_counts = Counter(link for sentence in pool for link in sentence.links)
    word_counts = Counter(word for sentence in pool for word in sentence.words)
    owners = Counter(form for word in word_counts for form in forms(word))
    candidates = [
        link
        for link, count in sorted(link_counts.items())
        if 2 <= count <= 15
        and all(word_counts[word] >= 50 for word in link)
        and all(owners[form] == 1 and " " not in form for word in link for form in forms(word))
    ]
    rng.shuffle(candidates)
    chosen: list[Link] = []
    n_sentences = 0
    while n_sentences < 3 * N_NOVEL:
        chosen.append(candidates.pop())
        n_sentences += link_counts[chosen[-1]]
    return sorted(chosen)


def divide(seed: int) -> Corpus:
    rng = Random(seed)
    source = unique_sentences(Chooser(rng))
    pool = [next(source) for _ in range(N_TRAIN + 8 * (N_VALID + N_TEST))]
    held_out = choose_held_out(pool, rng)
    allowed, novel = _separate(pool, held_out)
    train, rest = allowed[:N_TRAIN], allowed[N_TRAIN:]
    counts_fr = Counter(word for sentence in train for word in tokens(sentence.fr))
    counts_en = Counter(word for sentence in train for word in tokens(sentence.en))

    def known(sentence: Sentence) -> bool:
        common_fr = all(counts_fr[word] >= MIN_COUNT for word in tokens(sentence.fr))
        return common_fr and all(counts_en[word] >= MIN_COUNT for word in tokens(sentence.en))

    rest, novel = [s for s in rest if known(s)], [s for s in novel if known(s)]
    n_seen = N_TEST - N_NOVEL
    valid, seen, chosen = rest[:N_VALID], rest[N_VALID : N_VALID + n_seen], rng.sample(novel, N_NOVEL)
    test = seen + chosen
    rng.shuffle(test)
    assert (len(train), len(valid), len(test)) == (N_TRAIN, N_VALID, N_TEST)
    return Corpus(train, valid, test, {sentence.fr for sentence in chosen}, held_out)


def _separate(pool: Iterable[Sentence], held_out: list[Link]) -> tuple[list[Sentence], list[Sentence]]:
    """Sentences without a held-out pair, and those that use one; where the two merely meet, neither."""
    pairs = [(forms(first), forms(second)) for first, second in held_out]
    allowed, novel = [], []
    for sentence in pool:
        present = set(tokens(sentence.fr))
        if not sentence.links.isdisjoint(held_out):
            novel.append(sentence)
        elif not any(present & first and present & second for first, second in pairs):
            allowed.append(sentence)
    return allowed, novel
