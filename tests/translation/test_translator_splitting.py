"""Lines that are too long for the model: split, and put together again."""

import re

import pytest

from seq2seq.decoding.length import length_penalty
from seq2seq.translation.translator import Translator
from tests.translating import sentences
from tests.translation.translations import SHORT, kinds, of_length, texts


def test_lines_longer_than_in_training_are_split_and_say_so(translator: Translator) -> None:
    fits, longer, longest = translator.translate([of_length(translator, n) for n in (40, 41, 999)], SHORT)
    assert len(fits.parts) == 1 and "split" not in kinds(fits)
    assert len(longer.parts) == 2 and "split" in kinds(longer)
    (message,) = (finding.message for finding in longer.findings if finding.kind == "split")
    assert re.match(r"4[12] tokens are more than the 40 that the model takes, ", message)
    assert message.endswith("translated in 2 parts")
    assert len(longest.parts) > 24
    assert "".join(longest.parts) == longest.source


def test_a_split_line_is_its_parts_translated_alone(trained: Translator) -> None:
    pairs = sentences(9, seed=2)
    line = "  ".join(src for src, _ in pairs[:4])
    short, split, after = trained.translate([pairs[7][0], line, pairs[8][0]], n_best=2)
    assert (len(short.parts), len(after.parts)) == (1, 1)
    assert len(split.parts) > 1
    assert " ".join(split.parts).split() == line.split()
    alone = trained.translate(split.parts, n_best=2)
    assert split.text == " ".join(texts(alone))
    for rank, joined in enumerate(split.hypotheses):
        of_parts = [translation.hypotheses[rank] for translation in alone]
        assert joined.text == " ".join(each.text for each in of_parts)
        assert joined.log_prob == pytest.approx(sum(each.log_prob for each in of_parts), abs=1e-3)


def test_the_score_of_a_split_line_is_that_of_all_its_tokens(trained: Translator) -> None:
    line = " ".join(src for src, _ in sentences(4))
    (found,) = trained.translate([line], token_scores=True, normalization="length", alpha=0.5)
    best = found.hypotheses[0]
    assert best.tokens is not None
    assert [piece for piece, _ in best.tokens].count("</s>") == len(found.parts) > 1
    assert sum(log_prob for _, log_prob in best.tokens) == pytest.approx(best.log_prob, abs=1e-3)
    assert best.score == pytest.approx(best.log_prob / length_penalty(len(best.tokens), "length", 0.5))


def test_alignments_of_parts_count_the_words_of_the_line(trained: Translator) -> None:
    line = " ".join(src for src, _ in sentences(4))
    (found,) = trained.translate([f"  {line}"], alignment=True)
    best = found.hypotheses[0]
    assert best.alignment is not None and best.attention is not None
    assert len(best.attention) == len(found.parts) > 1
    n_source, n_target = len(line.split()), len(best.text.split())
    assert sorted(tgt for _, tgt in best.alignment) == list(range(n_target))
    # Where the words of each part are is known without any attention.
    starts = [sum(len(part.split()) for part in found.parts[:i]) for i in range(len(found.parts) + 1)]
    translated = [trained.translate([part])[0].text for part in found.parts]
    tgt_starts = [sum(len(text.split()) for text in translated[:i]) for i in range(len(translated) + 1)]
    for src, tgt in best.alignment:
        (part,) = (i for i in range(len(found.parts)) if tgt_starts[i] <= tgt < tgt_starts[i + 1])
        assert starts[part] <= src < starts[part + 1]
    assert starts[-1] == n_source
    assert {src for src, _ in best.alignment} & set(range(starts[-2], n_source))


def test_a_part_inside_a_word_is_aligned_with_that_word(translator: Translator) -> None:
    (found,) = translator.translate([f"Oui {'é' * 60} !"], alignment=True, beam_size=1)
    alignment = found.hypotheses[0].alignment
    assert alignment is not None
    assert len(found.parts) > 2
    assert {src for src, _ in alignment} <= {0, 1, 2}


@pytest.mark.parametrize("text", ["\x01 {}", "\u200b\u200b. Ah {}", "{} \x01 {}", "\x01"])
def test_parts_that_the_tokenizer_leaves_nothing_of_are_left_out(translator: Translator, text: str) -> None:
    line = text.format("é" * 200, "é" * 200)
    (found,) = translator.translate([line], SHORT, token_scores=True, alignment=True)
    assert found.source == line
    assert all(translator.tokenizer.encode([part])[0] for part in found.parts)


def test_a_prefix_is_that_of_the_first_part(translator: Translator) -> None:
    line = "Un chat dort. " * 20
    (found,) = translator.translate([line], prefixes=["gare la balle"], beam_size=1)
    (without,) = translator.translate([line], beam_size=1)
    assert len(found.parts) > 1
    assert found.text.startswith("gare la balle")
    last = translator.translate([found.parts[-1]], beam_size=1)[0].text
    assert found.text.endswith(last) and without.text.endswith(last)
