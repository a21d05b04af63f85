"""The bundled sample corpus is what its README says."""

import hashlib
import re
from collections import Counter

from tests.places import ROOT

SAMPLE = ROOT / "data" / "sample"
SPLITS = {"train": 12_000, "valid": 500, "test": 500}


def lines_of(name: str) -> list[str]:
    return (SAMPLE / name).read_text(encoding="utf-8").splitlines()


def words_of(line: str) -> list[str]:
    return re.findall(r"[\w-]+", line.lower())


FR, EN = ({split: lines_of(f"{split}.{language}") for split in SPLITS} for language in ("fr", "en"))


def test_no_file_has_changed() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    stated = dict(reversed(line.split("  ")) for line in re.findall(r"^[0-9a-f]{64}  .+$", readme, re.MULTILINE))
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in SAMPLE.iterdir()}
    files.pop("README.md")
    assert stated == files


def test_lines_are_aligned_and_no_sentence_occurs_twice() -> None:
    for side in (FR, EN):
        assert {split: len(lines) for split, lines in side.items()} == SPLITS
        sentences = [line for lines in side.values() for line in lines]
        assert len(set(sentences)) == len(sentences)


def test_every_word_of_valid_and_test_occurs_three_times_in_training() -> None:
    for side in (FR, EN):
        counts = Counter(word for line in side["train"] for word in words_of(line))
        held = {word for line in side["valid"] + side["test"] for word in words_of(line)}
        assert {word: counts[word] for word in held if counts[word] < 3} == {}


def test_novel_sentences_combine_words_that_never_meet_in_training() -> None:
    pairs = [
        (set(first.split(",")), set(second.split(",")))
        for _, first, _, second in (line.split("\t") for line in lines_of("held_out.tsv")[1:])
    ]
    for line in FR["train"] + FR["valid"]:
        words = set(words_of(line))
        assert not any(words & first and words & second for first, second in pairs), line
    tags = lines_of("test.tags")
    assert Counter(tags) == {"seen": 370, "novel": 130}
    for line, tag in zip(FR["test"], tags, strict=True):
        words = set(words_of(line))
        assert any(words & first and words & second for first, second in pairs) == (tag == "novel"), line
