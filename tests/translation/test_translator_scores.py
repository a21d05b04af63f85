"""Scores of tokens and of given translations, and attention."""

import dataclasses
import random
from math import inf

import pytest

from seq2seq.translation.translator import Translator
from tests.translating import sentences
from tests.translation.translations import kinds, texts

# --- scores of tokens, attention ---


def test_translations_as_long_as_the_model_can_write_have_scores_and_attention(translator: Translator) -> None:
    (found,) = translator.translate(
        ["Un chat"], beam_size=1, max_length_a=0.0, max_length_b=200, token_scores=True, alignment=True
    )
    (best,) = found.hypotheses
    assert best.tokens is not None and best.attention is not None
    assert len(best.tokens) == 59 and "cut" in kinds(found)  # the last one leaves no room for the end
    assert 0 > sum(log_prob for _, log_prob in best.tokens) > best.log_prob
    assert best.attention[0].weights.shape[0] == len(best.attention[0].tgt_pieces) == 59


def test_attention_has_a_row_for_each_piece_and_no_row_above_1(trained: Translator) -> None:
    lines = [src for src, _ in sentences(5)]
    for line, found in zip(lines, trained.translate(lines, alignment=True, n_best=2), strict=True):
        assert len(found.hypotheses) == 2
        for each in found.hypotheses:
            assert each.attention is not None and each.alignment is not None
            ((src_pieces, tgt_pieces, weights),) = each.attention
            assert src_pieces == trained.tokenizer.pieces(trained.tokenizer.encode([line])[0])
            assert trained.tokenizer.decode([trained.tokenizer.encode([each.text])[0]]) == [each.text]
            assert weights.shape == (len(tgt_pieces), len(src_pieces))
            assert (weights >= 0).all() and (weights.sum(-1) <= 1 + 1e-5).all()
            assert all(0 <= src < len(line.split()) for src, _ in each.alignment)
            assert [tgt for _, tgt in sorted(each.alignment, key=lambda pair: pair[1])] == list(
                range(len(each.text.split()))
            )


# --- scores of given translations ---


def test_own_translations_are_scored_as_the_search_scored_them(trained: Translator) -> None:
    lines = ["", *(src for src, _ in sentences(7)), " "]
    found = trained.translate(lines, normalization="gnmt", alpha=0.6)
    decoding = dataclasses.replace(trained.config.decoding, normalization="gnmt", alpha=0.6, max_batch_tokens=40)
    scored = list(trained.score(((line, each.text) for line, each in zip(lines, found, strict=True)), decoding))
    assert [each.text for each in scored] == texts(found)
    for each, translation in zip(scored, found, strict=True):
        assert each.log_prob == pytest.approx(translation.hypotheses[0].log_prob, abs=1e-3)
        assert each.score == pytest.approx(translation.hypotheses[0].score, abs=1e-3)
        assert each.tokens is not None
        assert sum(log_prob for _, log_prob in each.tokens) == pytest.approx(each.log_prob, abs=1e-5)


def test_pairs_that_cannot_be_scored_have_a_reason_and_stop_no_other(translator: Translator) -> None:
    pairs = {
        ("Oui !", " "): "one side is blank",
        ("", "Oui !"): "one side is blank",
        ("\u3000", ""): "",
        ("Oui !", "\u200b"): "it has only characters that the model does not read",
        ("é" * 40, "Oui"): "it has 81 tokens, and the model scores at most 59",
        ("Oui. Non.", "é" * 40): "it has 81 tokens, and the model scores at most 59",
        ("Oui !", "Oui !"): "",
    }
    scored = list(translator.score(pairs))
    assert [(each.source, each.text) for each in scored] == list(pairs)
    assert [each.reason for each in scored] == list(pairs.values())
    for each in scored:
        assert (each.score == each.log_prob == -inf) == bool(each.reason)
    assert scored[2].score == 0
    assert scored[-1].score == pytest.approx(next(translator.score([("Oui !", "Oui !")])).score, abs=1e-5)


def test_a_corpus_of_any_text_gets_a_score_for_each_line(translator: Translator) -> None:
    drawn = random.Random(3)
    lines = [
        "".join(drawn.choices("Un chat. é\t\u200b\x01😀!?", k=drawn.choice([0, 1, 9, 30, 400]))) for _ in range(60)
    ]
    scored = list(translator.score(zip(lines, lines[::-1], strict=True)))
    assert len(scored) == 60
    assert all(each.score <= 0 for each in scored)
