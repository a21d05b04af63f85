import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.corpus.cleaning.near import N_VALUES, NearIndex, pair_sketches, sketches
from seq2seq.corpus.groups import comparable


def jaccard(a, b):
    sets = [{text[i : i + 5] for i in range(len(text) - 4)} for text in map(comparable, (a, b))]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def sentence(draw, n=14):
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 8))) for _ in range(n))


def changed(text, n, draw):
    words = text.split()
    for place in draw.sample(range(len(words)), n):
        words[place] = "".join(draw.choices("qrstuvwxyz", k=6))
    return " ".join(words)


def test_the_share_of_equal_values_is_the_jaccard_similarity():
    draw = random.Random(5)
    texts = [sentence(draw) for _ in range(400)]
    others = [changed(text, draw.randint(0, 6), draw) for text in texts]
    estimated = (sketches(texts) == sketches(others)).mean(axis=1)
    exact = np.array([jaccard(*pair) for pair in zip(texts, others, strict=True)])
    assert abs((estimated - exact).mean()) < 0.01
    assert np.sqrt(((estimated - exact) ** 2).mean()) < 1.2 * np.sqrt((exact * (1 - exact)).mean() / N_VALUES)


def test_case_punctuation_and_spaces_do_not_count_and_short_texts_have_a_sketch():
    found = sketches(["L'été arrive enfin !", "LÉTÉ, arrive... enfin", "a", "", "b"])
    assert (found[0] == found[1]).all()
    assert len({row.tobytes() for row in found[1:]}) == 4


def test_a_sketch_does_not_depend_on_its_neighbours():
    texts = ["un chat dort ici", "x", "deux chiens courent"]
    assert np.array_equal(sketches(texts), np.concatenate([sketches([text]) for text in texts]))


def test_near_texts_are_found_and_others_are_not():
    draw = random.Random(3)
    texts = [sentence(draw, 20) for _ in range(500)]
    index = NearIndex(0.8)
    index.add(sketches(texts))
    near = [text + " q" for text in texts]
    far = [changed(text, 8, draw) for text in texts]
    assert min(map(jaccard, texts, near)) > 0.9 and max(map(jaccard, texts, far)) < 0.65
    assert index.has_like(sketches(near)).mean() > 0.98
    assert index.has_like(sketches(far)).mean() < 0.02
    assert index.has_like(sketches(texts)).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 40))
def test_blocks_change_nothing_and_what_stays_stays_again(seed, size):
    draw = random.Random(seed)
    texts = [sentence(draw, 25) for _ in range(5)]
    for _ in range(28):  # also what is like a text that goes, and not like the one that stays
        texts.append(changed(draw.choice(texts), draw.randint(0, 1), draw))
    found = sketches(texts)
    one_by_one, in_blocks, again = NearIndex(0.8), NearIndex(0.8), NearIndex(0.8)
    expected = np.concatenate([one_by_one.add_new(found[i : i + 1]) for i in range(len(found))])
    actual = np.concatenate([in_blocks.add_new(found[i : i + size]) for i in range(0, len(found), size)])
    assert np.array_equal(actual, expected)
    assert again.add_new(found[expected]).all()


def test_a_pair_is_near_only_if_both_sides_are():
    src, tgt = "un deux trois quatre cinq", "one two three four five"
    index = NearIndex(0.8)
    index.add(pair_sketches([(src, tgt)]))
    assert index.has_like(pair_sketches([(src, tgt), (src, "other words"), (tgt, src)])).tolist() == [
        True,
        False,
        False,
    ]
    assert not (sketches(["le même texte"]) == sketches(["le même texte"], kind=1)).any()


def test_one_other_character_of_twenty_is_nearly_the_same_in_chinese_too():
    text = "今天天气很好所以我们一起去公园散步了两个小时"
    index = NearIndex(0.7)
    index.add(sketches([text]))
    assert index.has_like(sketches([text.replace("好", "坏"), text[:6] + "就留在家里看了一整天的电视剧"])).tolist() == [
        True,
        False,
    ]


def test_nothing_is_near_in_an_empty_index():
    index = NearIndex(0.8)
    assert not index.has_like(sketches(["a b c d e f"])).any()
    assert index.add_new(sketches([])).shape == (0,)


def test_an_index_takes_the_bytes_that_it_says():
    draw = random.Random(1)
    index = NearIndex(0.8)
    for _ in range(5):
        index.add_new(sketches([sentence(draw) for _ in range(2_000)]))
    held = sum(run.nbytes for band in index._bands for run in band._runs) / 10_000
    assert held == pytest.approx(48, rel=0.01)
    assert index._values.dtype == np.uint8 and index._values.shape[1] == 36
