"""Tags that say what kind of text a line is."""

from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis
from seq2seq.translation.engines import Sentence
from seq2seq.translation.translator import Translator
from tests.translating import sentences
from tests.translation.translations import SHORT, engine_of, kinds


@pytest.fixture(scope="module")
def tagged(tagged_run: Path) -> Translator:
    return seq2seq.load(tagged_run, device="cpu", precision="float32", threads=1)


@pytest.mark.parametrize(("tag", "begin"), [("", []), ("t", [4]), ("z", [5])])
def test_each_source_and_each_part_of_one_begins_with_the_tag(
    tagged: Translator, monkeypatch: pytest.MonkeyPatch, tag: str, begin: list[int]
) -> None:
    asked: list[Sentence] = []
    decode = tagged.engine.decode

    def watched(batch: list[Sentence], decoding: DecodingConfig, **options: Any) -> list[list[Hypothesis]]:
        asked.extend(batch)
        return decode(batch, decoding, **options)

    monkeypatch.setattr(tagged.engine, "decode", watched)
    line = " ".join(src for src, _ in sentences(4)).lower().replace(".", "")  # one sentence, which is too long
    short, blank, long = tagged.translate(["ba bi.", " ", line], tag=tag)
    assert (short.parts, blank.parts, len(long.parts) > 2) == (["ba bi."], [], True)
    ids = tagged.tokenizer.encode([*short.parts, *long.parts])
    assert sorted(list(sentence.source) for sentence in asked) == sorted(begin + of_part for of_part in ids)
    assert "split" in kinds(long)


def test_a_tag_takes_a_place_of_the_longest_source(tagged: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagged.config.data, "max_sentence_tokens", 100)  # the model reads 48, its end included
    line = "ba " * 22 + "ba."
    ids = tagged.tokenizer.encode([line])[0]
    assert len(ids) == 47
    assert len(tagged.translate([line], SHORT)[0].parts) == 1
    assert len(tagged.translate([line], SHORT, tag="z")[0].parts) == 2
    assert len(tagged.translate([line.removesuffix(".")], SHORT, tag="z")[0].parts) == 1


def test_alignment_and_attention_are_of_the_words_without_the_tag(tagged: Translator) -> None:
    lines = [src for src, _ in sentences(10)]
    vocabulary = tagged.tokenizer.pieces(range(tagged.tokenizer.vocab_size))
    n_diagonal = n_words = 0
    for line, found in zip(lines, tagged.translate(lines, alignment=True, tag="z"), strict=True):
        (best, *_) = found.hypotheses
        assert best.attention is not None and best.alignment is not None
        for part, (src_pieces, tgt_pieces, weights) in zip(found.parts, best.attention, strict=True):
            source = tagged.tokenizer.encode([part])[0]
            assert src_pieces == tagged.tokenizer.pieces(source)
            target = [vocabulary.index(piece) for piece in tgt_pieces]
            (expected,) = engine_of(tagged).attention([[5, *source]], [target])
            assert weights == pytest.approx(expected[:, 1:], abs=1e-5)
        n_diagonal += sum(src == tgt for src, tgt in best.alignment)
        n_words += len(best.alignment)
        assert {src for src, _ in best.alignment} <= set(range(len(line.split())))
    assert n_diagonal > 0.5 * n_words  # word n translates word n


def test_scores_are_those_of_the_tagged_source(tagged: Translator) -> None:
    lines = [src for src, _ in sentences(6)]
    found = tagged.translate(lines, tag="t", token_scores=True)
    pairs = [(each.source, each.text) for each in found]
    scored = list(tagged.score([*pairs, ("", "")], tag="t"))
    assert [each.log_prob for each in scored] == pytest.approx(
        [*(each.hypotheses[0].log_prob for each in found), 0.0], abs=1e-3
    )
    assert all(other.log_prob < each.log_prob for each, other in zip(scored, tagged.score(pairs), strict=False))
