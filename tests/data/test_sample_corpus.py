"""The bundled sample corpus is what its README says: its files, and what both languages share."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.data.sample_corpus import (
    ALL_EN,
    ALL_FR,
    EN,
    FR,
    GENERATED,
    MEN,
    SAMPLE,
    SPLITS,
    WOMEN,
    lines_of,
    matching,
    words_of,
)

# ---------------------------------------------------------------- files


@pytest.mark.parametrize(("split", "n_pairs"), SPLITS.items())
def test_each_split_has_its_number_of_aligned_lines(split: str, n_pairs: int) -> None:
    assert len(FR[split]) == len(EN[split]) == n_pairs


@pytest.mark.parametrize("name", GENERATED)
def test_files_are_plain_utf8_lines(name: str) -> None:
    raw = (SAMPLE / name).read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    assert len(raw) < 1_000_000
    assert not re.search("[\u00a0\u202f\u2019\ufeff]", raw.decode("utf-8"))


def test_sentences_have_3_to_25_words_and_no_stray_spaces() -> None:
    for line in ALL_FR + ALL_EN:
        assert 3 <= len(line.split()) <= 25, line
        assert line == " ".join(line.split()), line
        assert line[0].isupper(), line
    assert 7 <= sum(len(words_of(line)) for line in ALL_FR) / len(ALL_FR) <= 10


def test_no_sentence_occurs_twice_in_either_language() -> None:
    assert len(set(ALL_FR)) == len(ALL_FR)
    assert len(set(ALL_EN)) == len(ALL_EN)


def test_every_word_of_valid_and_test_occurs_three_times_in_training() -> None:
    for side in (FR, EN):
        counts = Counter(word for line in side["train"] for word in words_of(line))
        held = {word for line in side["valid"] + side["test"] for word in words_of(line)}
        assert {word: counts[word] for word in held if counts[word] < 3} == {}


def test_training_uses_at_least_400_lemmas() -> None:
    rows = [line.split("\t") for line in lines_of("lemmas.tsv")[1:]]
    rows = [row for row in rows if row[1] in {"noun", "verb", "adjective", "adverb"}]
    owners = Counter(form for row in rows for form in row[3].split(","))
    text = "\n".join(" " + " ".join(words_of(line)) + " " for line in FR["train"])
    seen = [
        lemma
        for lemma, _, _, forms in rows
        if any(owners[form] == 1 and f" {' '.join(words_of(form))} " in text for form in forms.split(","))
    ]
    assert len(seen) >= 400


def test_novel_sentences_combine_words_that_never_meet_in_training() -> None:
    pairs = [
        (set(first.split(",")), set(second.split(",")))
        for _, first, _, second in (line.split("\t") for line in lines_of("held_out.tsv")[1:])
    ]
    for line in FR["train"] + FR["valid"]:
        words = set(words_of(line))
        assert not any(words & first and words & second for first, second in pairs), line
    known = {word for line in FR["train"] for word in words_of(line)}
    tags = lines_of("test.tags")
    assert Counter(tags) == {"seen": 370, "novel": 130}
    for line, tag in zip(FR["test"], tags, strict=True):
        words = set(words_of(line))
        assert any(words & first and words & second for first, second in pairs) == (tag == "novel"), line
        assert words <= known, line


def test_generating_again_gives_the_same_bytes(tmp_path: Path) -> None:
    # Another hash seed: nothing may depend on the order of a set
    subprocess.run(
        [sys.executable, str(SAMPLE / "generate.py"), "--out", str(tmp_path)],
        check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "12345"},
    )  # fmt: skip
    for name in GENERATED:
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes(), name


def test_readme_states_the_checksum_of_every_file() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    for name in GENERATED:
        assert f"{hashlib.sha256((SAMPLE / name).read_bytes()).hexdigest()}  {name}" in readme, name


# ---------------------------------------------------------------- both languages


def test_punctuation_agrees() -> None:
    for fr, en in zip(ALL_FR, ALL_EN, strict=True):
        assert fr[-1] == en[-1], (fr, en)
        assert fr[-1] in ".?!", fr
        assert [fr.count(mark) for mark in ".?!"] == [en.count(mark) for mark in ".?!"], (fr, en)
    assert matching(r"[^ ][?!]|\s[.,]|,\S", ALL_FR) == []
    assert matching(r"\s[?!.,]|,\S", ALL_EN) == []


def test_no_word_is_doubled() -> None:
    # "nous nous lavons", and the French article after a partitive never
    assert matching(r"\b(?!nous\b|vous\b)(\w+) \1\b", ALL_FR) == []
    assert matching(r"\b(\w+) \1\b", ALL_EN) == []
    assert matching(r"\b(\w+) (?:et|and) \1\b", ALL_FR + ALL_EN) == []


def test_names_are_the_same_on_both_sides() -> None:
    names = re.compile(rf"\b(?:{'|'.join(MEN + WOMEN)})\b")
    for fr, en in zip(ALL_FR, ALL_EN, strict=True):
        assert sorted(names.findall(fr)) == sorted(names.findall(en)), (fr, en)
