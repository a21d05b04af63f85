"""A model for each of eight scripts, from text files to what users do with it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.characters import has_spaces, has_spaces_between_sentences, split_words
from seq2seq.evaluation.scores import bleu_tokens
from seq2seq.translation.text.kept import KINDS
from seq2seq.translation.translator import Translator
from tests.places import ROOT, made_once
from tests.toy_languages import LANGUAGES, Language
from tests.training.tiny_runs import arguments, command
from tests.translating import Cli

N_HELD_OUT = 60  # half of them is the test set
URL = "https://example.org/a?b=1"


@dataclass
class Learned:
    """A model that has learned to translate between a language and English."""

    language: Language
    is_from_english: bool
    folder: Path

    @property
    def cli(self) -> Cli:
        return Cli(self.folder / "run")

    def pair(self, who: int, do: int, what: int, when: int, *, asks: bool = False) -> tuple[str, str]:
        """A source and its translation, of words by their numbers."""
        source, english = self.language.sentence(who, do, what, when, asks=asks)
        return (english, source) if self.is_from_english else (source, english)

    def translated(self, text: str, *options: object) -> str:
        (line,) = self.cli.lines(text, *options)
        return line


MODELS = [
    pytest.param((code, is_from_english), marks=[] if (code, is_from_english) == ("zh", False) else pytest.mark.nightly)
    for is_from_english in (False, True)
    for code in LANGUAGES
    if code != "fr" or not is_from_english  # only for the page below
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda each: f"en-{each[0]}" if each[1] else f"{each[0]}-en")
def learned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    code, is_from_english = request.param
    language = LANGUAGES[code]
    name = f"en-{code}" if is_from_english else f"{code}-en"
    return Learned(
        language, is_from_english, made_once(tmp_path_factory, name, lambda folder: train(folder, language, name))
    )


def train(folder: Path, language: Language, direction: str) -> None:
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    pairs = language.pairs(1500 + N_HELD_OUT)
    splits = {"valid": pairs[:30], "test": pairs[30:N_HELD_OUT], "train": pairs[N_HELD_OUT:]}
    for split, part in splits.items():
        for code, side in zip((language.code, "en"), zip(*part, strict=True), strict=True):
            (corpus / f"{split}.{code}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    src, tgt = direction.split("-")
    changes = {
        "data.src_lang": src,
        "data.tgt_lang": tgt,
        "data.max_sentence_tokens": 60,
        "tokenizer.vocab_size": 420,
        "tokenizer.normalization": "identity",  # docs/text.md says why
        "batch.max_tokens": 768,
        "model.d_model": 64,
        "model.n_heads": 4,
        "model.d_ff": 128,
        "model.dropout": 0.0,
        "optim.schedule": "cosine",
        "optim.lr": 8e-3,
        "optim.warmup_steps": 30,
        "trainer.max_epochs": 6,
        "trainer.patience": 0,
        "trainer.val_every_n_steps": 1000,  # only at the end
        "trainer.average_last": 0,
    }
    done = command(*arguments(corpus, folder / "run", changes), timeout=300)
    assert done.returncode == 0, done.stderr


# --- it has learned ---


def test_sentences_that_training_had_not_are_translated(learned: Learned) -> None:
    scores = json.loads((learned.folder / "run/scores.json").read_text())["test"]
    assert min(scores["bleu"]["score"], scores["chrf"]["score"]) > 90, scores
    target = learned.language.code if learned.is_from_english else "en"
    assert f"|tok:{bleu_tokens(target)}" in scores["bleu"]["signature"]
    assert (bleu_tokens(target) == "13a") == has_spaces(target)
    source = "en" if learned.is_from_english else learned.language.code
    text = (learned.folder / f"corpus/test.{source}").read_text(encoding="utf-8")
    expected = (learned.folder / f"run/hypotheses/test.{target}").read_text(encoding="utf-8").split("\n")[:-1]
    assert learned.cli.lines(text) == expected
    references = (learned.folder / f"corpus/test.{target}").read_text(encoding="utf-8").split("\n")[:-1]
    assert sum(one == other for one, other in zip(expected, references, strict=True)) >= 24  # of 30


def test_the_right_translation_has_a_better_score_than_another(learned: Learned, tmp_path: Path) -> None:
    pairs = [learned.pair(who, do, what, when) for who, do, what, when in [(0, 1, 2, 3), (4, 3, 2, 1), (7, 0, 5, 9)]]
    scores = []
    for name, targets in (("right", pairs), ("wrong", [*pairs[1:], pairs[0]])):
        given = tmp_path / name
        given.write_text("".join(f"{target}\n" for _, target in targets), encoding="utf-8")
        lines = learned.cli.lines("".join(f"{source}\n" for source, _ in pairs), "--score", given)
        scores.append([float(line.split("\t")[0]) for line in lines])
    assert all(right > wrong + 1 for right, wrong in zip(*scores, strict=True)), scores


# --- what users do ---


def test_two_sentences_on_a_line_are_two_translations(learned: Learned) -> None:
    if learned.language.code == "th" and not learned.is_from_english:
        pytest.skip("Thai has no stops: a line is a sentence")
    (one, first), (other, second) = learned.pair(0, 2, 0, 1), learned.pair(1, 1, 3, 8, asks=True)
    source_language, target_language = ("en", learned.language.code)[:: 1 if learned.is_from_english else -1]
    between = " " if has_spaces_between_sentences(source_language) else ""
    joined = " " if has_spaces_between_sentences(target_language) else ""
    assert learned.translated(f"{one}{between}{other}") == f"{first}{joined}{second}"


@pytest.mark.parametrize("thing", ["unknown", URL, "%d", "{name}", "😀"])
def test_what_stands_beside_letters_comes_through_once(learned: Learned, thing: str) -> None:
    source, target = learned.pair(0, 2, 0, 1)
    if thing == "unknown":
        thing = "Ж" if learned.is_from_english else learned.language.unknown
    object_ = "bread" if learned.is_from_english else learned.language.what[0]
    space = "" if is_unspaced(learned) else " "
    found = learned.translated(source.replace(object_, f"{thing}{space}{object_}"), "--keep", "all")
    assert found.count(thing) == 1
    assert "".join(found.replace(thing, "").split()) == "".join(target.split())


def is_unspaced(learned: Learned) -> bool:
    return not learned.is_from_english and not has_spaces(learned.language.code)


def test_numbers_are_kept(learned: Learned) -> None:
    source, target = learned.pair(2, 0, 5, 6)
    status, out, err = learned.cli("--keep", "numbers", stdin=f"{source}\n")
    assert (status, out.strip()) == (0, target)
    assert "7" in source and "warning" not in err


def test_terms_stand_as_the_glossary_says(learned: Learned, tmp_path: Path) -> None:
    """The word for bread becomes that for fish."""
    source, _ = learned.pair(0, 2, 0, 1)
    what = learned.language.what
    term, wanted = ("bread", what[4]) if learned.is_from_english else (what[0], "fish")
    (tmp_path / "terms.tsv").write_text(f"{term}\t{wanted}\n", encoding="utf-8")
    status, out, err = learned.cli("--terms", tmp_path / "terms.tsv", "--beam-size", 6, stdin=f"{source}\n")
    assert status == 0, err
    assert "terms of the glossary that were found: 1\n" in err
    assert out.count(wanted) == 1
    if learned.is_from_english and not has_spaces(learned.language.code):
        assert len(out.split()) == 1


def test_words_are_aligned_with_theirs(learned: Learned) -> None:
    source, target = learned.pair(0, 2, 0, 1)
    line, _, pairs = learned.translated(source, "--alignment").partition(" ||| ")
    assert line == target
    found = {(int(i), int(j)) for i, j in (pair.split("-") for pair in pairs.split())}
    words = split_words(source), split_words(target)
    assert all(len({pair[side] for pair in found}) > len(words[side]) // 3 for side in (0, 1)), pairs
    if not learned.is_from_english:  # the attention of the others is no alignment, in models as small as these
        bread = units_of(source, learned.language.what[0])
        assert any(i in bread and words[1][j] == "bread" for i, j in found), (pairs, bread)


def units_of(text: str, part: str) -> set[int]:
    """The numbers of the words, or characters where there are no spaces, in which a part of the text stands."""
    start, place, found = text.index(part), 0, set()
    for i, word in enumerate(split_words(text)):
        place = text.index(word, place)
        if place < start + len(part) and start < place + len(word):
            found.add(i)
        place += len(word)
    return found


# --- the page that says what happens to each kind of text ---

PAGE = (ROOT / "docs/text.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 8]
WITH: dict[str, Any] = {
    "": {},
    "`--keep all`": {"keep": KINDS},
    "`--terms`": {"terms": {"面包": "fish"}, "beam_size": 6},
}


def test_each_row_of_the_page_is_as_run(learned: Learned) -> None:
    if learned.is_from_english:
        return
    mine = [row for row in ROWS if row.startswith(f"| `{learned.language.code}` |")]
    assert mine
    with seq2seq.load(learned.folder / "run", device="cpu", precision="float32", threads=1) as translator:
        assert [as_run(translator, row) for row in mine] == mine


def as_run(translator: Translator, row: str) -> str:
    """A row as it should be."""
    code, kind, options, text, *_ = (cell.strip() for cell in row.strip("|").split("|"))
    line = re.sub(r"\\u([0-9A-F]{4})", lambda match: chr(int(match[1], 16)), text.strip("`"))
    (found,) = translator.translate([line], **WITH[options])
    read = " ".join(f"`{part}`" for part in found.parts) or "nothing"
    said = ", ".join(finding.kind for finding in found.findings)
    return f"| {code} | {kind} | {options} | {text} | {read} | `{found.text}` | {said} |"
