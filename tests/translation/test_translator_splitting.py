"""Lines of several sentences, and lines that are too long for the model: split, and put together again."""

import dataclasses
import random
import re

import pytest

from seq2seq.translation.translator import Translator
from tests.translating import sentences
from tests.translation.translations import SHORT, kinds, of_length, texts

SPACES = ["  ", " ", "\t", "\u00a0", "\u3000 "]


def paragraph(seed: int, n: int) -> str:
    """Sentences of the lexicon with all kinds of spaces between them."""
    drawn = random.Random(seed)
    sources = [src for src, _ in sentences(99, seed=seed) if src.count(" ") >= 2][:n]  # two words are no sentence
    return "".join(f"{src}{drawn.choice(SPACES)}" for src in sources).rstrip()


def test_never_splitting_leaves_the_line_to_the_model(trained: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is too long for the model. Other ways of splitting take sentences apart that fit together, too."""
    line = paragraph(1, 2)

    def n_parts() -> list[int]:
        return [len(trained.translate([line], split=split)[0].parts) for split in ("auto", "always", "never")]

    assert n_parts() == [2, 2, 2]
    monkeypatch.setattr(trained.config.data, "max_sentence_tokens", 40)
    assert n_parts() == [2, 2, 1]
    assert trained.translate([line], split="never")[0].parts == [line]


def test_a_sentence_longer_than_in_training_is_cut_and_says_so(translator: Translator) -> None:
    fits, longer, longest = translator.translate(
        [of_length(translator, n) for n in (40, 41, 999)], SHORT, normalize="never"
    )
    assert len(fits.parts) == 1 and "split" not in kinds(fits)
    assert len(longer.parts) == 2 and "split" in kinds(longer)
    (message,) = (finding.message for finding in longer.findings if finding.kind == "split")
    assert message == "a sentence of more than 40 tokens was cut into parts (1 cuts), each translated by itself"
    assert len(longest.parts) > 24
    assert "".join(longest.parts) == longest.source


def test_a_split_line_is_its_parts_translated_alone(trained: Translator) -> None:
    line = paragraph(2, 3)
    (split,) = trained.translate([line], n_best=3)
    alone = trained.translate(split.parts, n_best=3)
    weights = [len(trained.tokenizer.encode([part])[0]) for part in split.parts]
    for rank, joined in enumerate(split.hypotheses):
        chosen = [
            next(each for each in part.hypotheses if each.text == text)
            for part, text in zip(alone, re.split(r"(?<=\.)\s+", joined.text), strict=True)
        ]
        assert rank > 0 or chosen == [part.hypotheses[0] for part in alone]
        assert joined.log_prob == pytest.approx(sum(each.log_prob for each in chosen), abs=1e-3)
        mean = sum(each.score * weight for each, weight in zip(chosen, weights, strict=True)) / sum(weights)
        assert joined.score == pytest.approx(mean, abs=1e-4)


def test_the_tokens_of_a_split_line_are_those_of_all_its_sentences(trained: Translator) -> None:
    (found,) = trained.translate([paragraph(4, 4)], token_scores=True)
    best = found.hypotheses[0]
    assert best.tokens is not None
    assert [piece for piece, _ in best.tokens].count("</s>") == len(found.parts) == 4
    assert sum(log_prob for _, log_prob in best.tokens) == pytest.approx(best.log_prob, abs=1e-3)


def test_a_line_of_several_sentences_is_scored_in_one_piece(
    trained: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [paragraph(seed, n) for seed, n in enumerate([1, 2, 2])]
    monkeypatch.setattr(trained.config.data, "max_sentence_tokens", 40)
    found = trained.translate(lines, split="never")
    scored = trained.score((line, each.text) for line, each in zip(lines, found, strict=True))
    for each, given in zip(found, scored, strict=True):
        assert given.log_prob == pytest.approx(each.hypotheses[0].log_prob, abs=1e-3)
        assert given.score == pytest.approx(each.hypotheses[0].score, abs=1e-3)


def test_alignments_of_parts_count_the_words_of_the_line(trained: Translator) -> None:
    line = paragraph(5, 4)
    (found,) = trained.translate([f"  {line}"], alignment=True)
    best = found.hypotheses[0]
    assert best.alignment is not None and best.attention is not None
    assert len(best.attention) == len(found.parts) == 4
    assert sorted(tgt for _, tgt in best.alignment) == list(range(len(best.text.split())))
    # Where the words of each part are is known without any attention.
    starts = [sum(len(part.split()) for part in found.parts[:i]) for i in range(5)]
    translated = texts(trained.translate(found.parts))
    tgt_starts = [sum(len(text.split()) for text in translated[:i]) for i in range(5)]
    for src, tgt in best.alignment:
        (part,) = (i for i in range(4) if tgt_starts[i] <= tgt < tgt_starts[i + 1])
        assert starts[part] <= src < starts[part + 1]


@pytest.mark.parametrize("split", ["auto", "never"])
def test_white_space_before_a_line_moves_no_link(trained: Translator, split: str) -> None:
    line = paragraph(8, 1)
    plain, indented = trained.translate([line, f"      {line}"], alignment=True, split=split)
    assert indented.hypotheses[0].alignment == plain.hypotheses[0].alignment
    assert len({src for src, _ in plain.hypotheses[0].alignment or []}) > 1


def test_a_part_inside_a_word_is_aligned_with_that_word(translator: Translator) -> None:
    (found,) = translator.translate([f"Oui {'é' * 60} !"], alignment=True, beam_size=1, normalize="never")
    alignment = found.hypotheses[0].alignment
    assert alignment is not None
    assert len(found.parts) > 2
    assert {src for src, _ in alignment} <= {0, 1, 2}


@pytest.mark.parametrize("text", ["\x01 {}", "\u200b\u200b. Ah {}", "{} \x01 {}", "\x01", "{}. \u200b. {}"])
def test_parts_that_the_tokenizer_leaves_nothing_of_are_left_out(translator: Translator, text: str) -> None:
    line = text.format("é" * 200, "é" * 200)
    (found,) = translator.translate([line], SHORT, token_scores=True, alignment=True)
    assert found.source == line
    assert all(translator.tokenizer.encode([part])[0] for part in found.parts)


def test_a_line_that_the_model_does_not_read_says_so(translator: Translator) -> None:
    invisible, blank = translator.translate(["\u200b\x01\u200b", " \u3000 "], SHORT)
    assert (invisible.text, blank.text) == ("", "")
    assert [finding.kind for finding in invisible.findings] == ["empty"]
    assert blank.findings == []


@pytest.mark.parametrize("prefix", ["Gas", "Bas. Gas"])
def test_a_prefix_begins_the_first_part_and_leaves_the_others_alone(trained: Translator, prefix: str) -> None:
    (free,), (found,) = (trained.translate([paragraph(6, 3)], prefixes=[begin]) for begin in ("", prefix))
    others = " ".join(texts(trained.translate(free.parts[1:]))).split()
    assert found.text.startswith(prefix) and len(found.parts) == 3
    assert found.text.split()[-len(others) :] == free.text.split()[-len(others) :] == others


def test_sampling_draws_the_same_for_a_sentence_in_a_line(trained: Translator) -> None:
    decoding = dataclasses.replace(trained.decoding, sampling=True, seed=3)
    line = paragraph(7, 2)
    (found,) = trained.translate([line], decoding)
    assert found.text.split(".")[0] == trained.translate([found.parts[0]], decoding)[0].text.split(".")[0]
