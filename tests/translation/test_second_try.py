"""A second search where the first one went round in circles."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from seq2seq.analysis.loops import find_loop
from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.translation.options import TranslationOptions
from seq2seq.translation.searching import search
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES
from tests.translation.engines.models import tokenizer
from tests.translation.translations import engine_of, kinds

GREEDY = DecodingConfig(beam_size=1)
LONG = DecodingConfig(beam_size=1, max_length_a=2.0, max_length_b=10)
CIRCLES = "le chat le chat le chat le chat"


class Told:
    """An engine that writes what it is told: one text at first, another one when nothing may come twice."""

    max_length = 50

    def __init__(self, first: str, second: str, *, ends: Sequence[bool] = (True, True)) -> None:
        self.texts, self.ends, self.asked = (first, second), ends, list[list[int]]()

    def decode(
        self, sentences: Sequence[Sentence], config: DecodingConfig, *, token_scores: bool = False
    ) -> list[list[Hypothesis]]:
        self.asked += [list(sentence.source) for sentence in sentences]
        again = config.no_repeat_ngram == 3
        (ids,) = tokenizer().encode([self.texts[again]])
        return [[Hypothesis(ids, -1.0, -1.0, self.ends[again])] for _ in sentences]


def translated(
    engine: Told, source: str = "Un chat dort.", decoding: DecodingConfig = GREEDY, **of_sentence: Any
) -> tuple[str, str]:
    """The text that comes out, and why there was a second search."""
    sentence = Sentence(tokenizer().encode([source])[0])._replace(**of_sentence)
    (found,) = search(engine, [sentence], decoding, TranslationOptions(), tokenizer())  # type: ignore[arg-type]
    return tokenizer().decode([found.hypotheses[0].tokens])[0], found.retried


def test_what_repeats_itself_is_searched_again() -> None:
    assert translated(Told(CIRCLES, "le chat dort")) == ("le chat dort", "repeated 'le chat' 4 times in a row")


@pytest.mark.parametrize("second", ["Oui Oui Oui Oui", ""])
def test_a_second_search_that_is_no_better_changes_nothing(second: str) -> None:
    assert translated(Told(CIRCLES, second)) == (CIRCLES, "")


def test_what_does_not_end_is_searched_again() -> None:
    long = "le chien de la voisine court après la balle rouge et la gare"
    retried = translated(Told(long, "le chat dort", ends=(False, True)))
    assert retried[0] == "le chat dort" and retried[1].startswith("did not end within ")
    assert translated(Told(long, "le chat", ends=(False, False))) == (long, "")
    # The user allows no more than a few tokens.
    assert translated(Told("le chat dort", "le", ends=(False, True))) == ("le chat dort", "")


def test_there_is_one_search_where_nothing_is_wrong_or_another_cannot_help() -> None:
    assert translated(Told("le chat dort", "le")) == ("le chat dort", "")
    assert translated(Told(CIRCLES, "le"), source="chat chat chat chat chat") == (CIRCLES, "")  # so does the source
    needs: list[dict[str, Any]] = [{"prefix": [7]}, {"required": [[7]]}]
    for of_sentence in needs:
        assert translated(Told(CIRCLES, "le"), **of_sentence) == (CIRCLES, "")
    for settings in ({"sampling": True}, {"no_repeat_ngram": 5}):
        assert translated(Told(CIRCLES, "le"), decoding=dataclasses.replace(GREEDY, **settings)) == (CIRCLES, "")


def test_the_second_search_reads_no_bytes() -> None:
    engine = Told(CIRCLES, "le chat dort")
    translated(engine, source="Un 😀 chat dort.")
    assert [len(source) for source in engine.asked] == [len(engine.asked[1]) + 4, len(engine.asked[1])]
    nothing_else = Told(CIRCLES, "le chat dort")
    translated(nothing_else, source="😀")
    assert nothing_else.asked[0] == nothing_else.asked[1]


def test_a_random_model_goes_round_in_circles_only_in_the_first_search(translator: Translator) -> None:
    found = translator.translate(SENTENCES, LONG, token_scores=True, alignment=True)
    assert all(kinds(each).count("retried") == 1 and "loop" not in kinds(each) for each in found)
    assert all(find_loop(each.text) is None for each in found)
    assert found[0].findings[0].message.startswith("the first translation repeated 'h' ")
    # The result is that of the rule, with its own scores and attention.
    ruled = translator.translate(
        SENTENCES, dataclasses.replace(LONG, no_repeat_ngram=3), token_scores=True, alignment=True
    )
    for each, other in zip(found, ruled, strict=True):
        assert (each.text, each.hypotheses[0].alignment) == (other.text, other.hypotheses[0].alignment)
        assert each.hypotheses[0].tokens is not None and other.hypotheses[0].tokens is not None
        assert [log_prob for _, log_prob in each.hypotheses[0].tokens] == pytest.approx(
            [log_prob for _, log_prob in other.hypotheses[0].tokens], abs=1e-4
        )
    first = engine_of(translator).decode([Sentence(ids) for ids in translator.tokenizer.encode(SENTENCES)], LONG)
    assert all(find_loop(translator.tokenizer.decode([each[0].tokens])[0]) for each in first)
