"""Choosing by consensus, with a real search."""

import dataclasses
from statistics import fmean

import pytest
from sacrebleu.metrics.chrf import CHRF

from seq2seq.errors import ConfigError
from seq2seq.translation.engines import Sentence
from seq2seq.translation.translator import Translator
from tests.translating import sentences

LINES = [src for src, _ in sentences(6, seed=5)]


@pytest.mark.parametrize("sampling", [False, True])
def test_the_translation_is_the_one_that_is_most_like_the_others(trained: Translator, sampling: bool) -> None:
    decoding = dataclasses.replace(trained.decoding, sampling=sampling, temperature=2.0, seed=4)
    many = dataclasses.replace(decoding, n_best=8, beam_size=8)
    ids = trained.tokenizer.encode(LINES)
    every = trained.engine.decode([Sentence(each, number=i) for i, each in enumerate(ids)], many)
    chosen = trained.translate(LINES, decoding, mbr=8, n_best=2)
    chrf = CHRF()
    for all_of_line, best in zip(every, chosen, strict=True):
        candidates = trained.tokenizer.decode([each.tokens for each in all_of_line])
        utilities = [
            fmean(chrf.sentence_score(text, [other]).score for j, other in enumerate(candidates) if j != i)
            for i, text in enumerate(candidates)
        ]
        assert best.text in candidates
        assert best.hypotheses[0].score == pytest.approx(max(utilities), abs=1e-6)
        assert best.hypotheses[1].score <= best.hypotheses[0].score
        assert len(best.hypotheses) == 2


def test_too_few_candidates_are_refused_before_any_line_is_read(trained: Translator) -> None:
    for settings in ({"mbr": 1}, {"mbr": 3, "n_best": 4, "beam_size": 4}):
        with pytest.raises(ConfigError, match="are too few to choose"):
            trained.translate([], **settings)  # type: ignore[arg-type]
