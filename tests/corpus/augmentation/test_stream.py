import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.corpus.augmentation import AUGMENTATIONS, augmented
from tests.places import ROOT

ROWS = [
    [src.rstrip("\n"), tgt.rstrip("\n")]
    for src, tgt in zip((ROOT / "data/sample/test.fr").open(), (ROOT / "data/sample/test.en").open(), strict=True)
][:100]
ONE_LINE = [augmentation for augmentation in AUGMENTATIONS.values() if augmentation.n_lines == 1]
SOURCE_ONLY = ("accents", "quotes", "stop", "typos", "spaces")
sentences = st.text(alphabet=st.characters(exclude_characters="\n", exclude_categories=["Cs"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", AUGMENTATIONS)
@settings(max_examples=25)
@given(rows=st.lists(st.lists(sentences, min_size=1, max_size=3), min_size=1, max_size=5), seed=st.integers(0, 9))
def test_each_row_stays_one_line_and_blank_texts_stay_blank(name: str, rows: list[list[str]], seed: int) -> None:
    rows = [row for row in rows if len(row) == len(rows[0])]
    found = list(augmented(rows, AUGMENTATIONS[name], seed))
    n_lines = AUGMENTATIONS[name].n_lines
    assert len(found) == -(-len(rows) // n_lines)
    assert all(len(row) == len(rows[0]) and not any("\n" in text for text in row) for row in found)
    if n_lines == 1:
        for before, after in zip(rows, found, strict=True):
            assert [bool(text.strip()) for text in after] == [bool(text.strip()) for text in before]
            assert before[0].strip() or after == before


@pytest.mark.parametrize("name", SOURCE_ONLY)
def test_only_the_source_changes_where_it_says_so(name: str) -> None:
    found = list(augmented(ROWS, AUGMENTATIONS[name], 1))
    assert [row[1:] for row in found] == [row[1:] for row in ROWS]
    assert [row[0] for row in found] != [row[0] for row in ROWS]


@pytest.mark.parametrize("name", [name for name in AUGMENTATIONS if name not in SOURCE_ONLY])
def test_the_others_change_both_sides(name: str) -> None:
    found = list(augmented(ROWS, AUGMENTATIONS[name], 1))
    for side in (0, 1):
        assert [row[side] for row in found] != [row[side] for row in ROWS][: len(found)]


@pytest.mark.parametrize("augmentation", ONE_LINE, ids=lambda augmentation: augmentation.name)
def test_a_sentence_is_augmented_alike_wherever_it_stands(augmentation) -> None:
    found = list(augmented(ROWS, augmentation, 1))
    assert list(augmented(ROWS[::-1], augmentation, 1)) == found[::-1]
    assert list(augmented(ROWS[40:50], augmentation, 1)) == found[40:50]


@pytest.mark.parametrize("name", ["typos", "spaces", "emoji", "urls", "numbers", "placeholders"])
def test_another_seed_is_another_augmentation(name: str) -> None:
    one, other = (list(augmented(ROWS, AUGMENTATIONS[name], seed)) for seed in (1, 2))
    assert sum(a != b for a, b in zip(one, other, strict=True)) > len(ROWS) / 2


def test_lines_are_joined_by_their_numbers_and_the_last_group_may_be_smaller() -> None:
    rows = [["1.", "one"], ["2.", "two"], ["", ""], ["4.", "four"], ["5.", "five"]]
    assert list(augmented(rows, AUGMENTATIONS["join"], 1)) == [["1. 2.", "one two"], ["4.", "four"], ["5.", "five"]]
    assert list(augmented(rows, AUGMENTATIONS["join3"], 1)) == [["1. 2.", "one two"], ["4. 5.", "four five"]]


def test_a_stream_is_read_as_it_is_needed() -> None:
    endless = augmented(iter(lambda: ["Il pleut."], None), AUGMENTATIONS["stop"], 1)
    assert next(endless) == ["Il pleut"]


def test_other_processes_write_the_same() -> None:
    code = (
        "from seq2seq.corpus.augmentation import AUGMENTATIONS, augmented\n"
        "rows = [[line.rstrip('\\n')] for line in open('data/sample/test.fr', encoding='utf-8')][:100]\n"
        "print(ascii([[*augmented(rows, augmentation, 1)] for augmentation in AUGMENTATIONS.values()]))"
    )
    env = os.environ | {"PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    here = [list(augmented([row[:1] for row in ROWS], augmentation, 1)) for augmentation in AUGMENTATIONS.values()]
    assert done.stdout == f"{here!a}\n"
