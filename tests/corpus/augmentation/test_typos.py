import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.characters import CHARACTER
from seq2seq.corpus.augmentation.typos import with_typo

SENTENCE = "Aujourd'hui, les élèves n'ont pas vu le château d'Émile à 14h30."
words = ["élève", "CHÂTEAU", "aaaa", "ab", "12h", "l'eau-forte", "www.abcd.fr,", "мороз", "दुनिया", "e\u0301le\u0300ve"]
texts = st.text() | st.lists(st.sampled_from(words)).map(" ".join)


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Damerau and Levenshtein's distance in its restricted form, by the textbook's table."""
    d = [[i + j for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]


@given(texts, st.integers())
def test_a_text_with_a_typo_is_one_edit_away(text: str, seed: int) -> None:
    changed = with_typo(text, random.Random(seed))
    assert changed == text or distance(CHARACTER.findall(text), CHARACTER.findall(changed)) == 1


@given(st.text(alphabet="aéßЖ", min_size=4, max_size=9), st.integers())
def test_a_long_word_always_gets_a_typo_and_keeps_its_first_letter(word: str, seed: int) -> None:
    changed = with_typo(word, random.Random(seed))
    assert changed != word
    assert changed[0] == word[0]


def test_every_kind_of_slip_happens_and_no_other() -> None:
    changed = {with_typo("acte", random.Random(seed)) for seed in range(2000)}
    swapped = {"atce", "acet"}
    left_out = {"ate", "ace", "act"}
    doubled = {"accte", "actte", "actee"}
    neighbours = {2: "xvdf", 3: "ryfg", 4: "wrsd"}
    replaced = {"acte"[: place - 1] + key + "acte"[place:] for place, keys in neighbours.items() for key in keys}
    assert changed == swapped | left_out | doubled | replaced


@pytest.mark.parametrize(
    ("word", "typos"),
    [
        ("दुनिया", {"दुयानि", "दुया", "दुनि", "दुनिनिया", "दुनियाया"}),
        ("ab\u0302\u0302", {"a", "ab\u0302\u0302b\u0302\u0302", *(f"a{key}" for key in "vghn")}),
        ("e\u0302\u0302\u0302", {"e\u0302\u0302\u0302"}),  # one letter has no slip
    ],
)
def test_a_letter_keeps_its_marks(word: str, typos: set[str]) -> None:
    assert {with_typo(word, random.Random(seed)) for seed in range(300)} == typos


def test_a_capital_is_replaced_by_a_capital_and_an_accent_has_the_keys_of_its_letter() -> None:
    changed = {with_typo("ÉÉÉÉ", random.Random(seed)) for seed in range(500)}
    assert set("".join(changed)) == set("ÉWRSD")


def test_all_words_of_a_sentence_have_their_turn() -> None:
    hit = Counter[str]()
    for seed in range(400):
        changed = with_typo(SENTENCE, random.Random(seed))
        hit.update(before for before, after in zip(SENTENCE.split(), changed.split(), strict=True) if before != after)
    assert set(hit) == {"Aujourd'hui,", "élèves", "château", "d'Émile"}
    assert min(hit.values()) > 50


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Il va à la mer.",
        "https://example.com/chemin www.exemple.fr jean.dupont@exemple.fr exemple.fr",
        "abcd1 mp3player 1234 12:30:45",
        "{utilisateur} %(nombre)s $CHEMIN <strong> &nbsp; snake_case #sujet C:\\dossier",
    ],
)
def test_what_has_to_be_exact_and_short_words_have_no_typos(text: str) -> None:
    assert {with_typo(text, random.Random(seed)) for seed in range(50)} == {text}
