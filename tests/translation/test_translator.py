"""A trained model as a function from text to text."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import torch

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.decoding.search import search
from seq2seq.errors import ConfigError, TokenizerError, TranslationError
from seq2seq.translation.options import (
    DecodingSettings,
    EngineOptions,
    EngineSettings,
    TextSettings,
    TranslationOptions,
)
from seq2seq.translation.result import TextHypothesis, Translation
from seq2seq.translation.translator import Translator
from seq2seq.vocabulary import EOS
from tests.translating import SENTENCES
from tests.translation.translations import LINE_ENDS, SHORT, engine_of, kinds, texts

# --- what comes out ---


def test_a_translation_is_what_the_search_finds_for_the_ids_of_the_line(translator: Translator) -> None:
    source = translator.tokenizer.encode([SENTENCES[2]])[0]
    decoding = dataclasses.replace(translator.config.decoding, n_best=2)
    with torch.inference_mode():
        src = torch.tensor([[*source, EOS]])
        (expected,) = search(engine_of(translator).models[0], src, decoding, max_length=60)
    (found,) = translator.translate([SENTENCES[2]], decoding)
    assert [each.text for each in found.hypotheses] == translator.tokenizer.decode([h.tokens for h in expected])
    assert [each.score for each in found.hypotheses] == pytest.approx([h.score for h in expected], abs=1e-5)
    assert [each.log_prob for each in found.hypotheses] == pytest.approx([h.log_prob for h in expected], abs=1e-4)
    assert found.text == found.hypotheses[0].text
    assert (found.source, found.parts) == (SENTENCES[2], [SENTENCES[2]])
    assert all((each.tokens, each.attention, each.alignment) == (None, None, None) for each in found.hypotheses)


def test_settings_of_the_checkpoint_are_the_default(translator: Translator) -> None:
    lines = [SENTENCES[0], SENTENCES[2]]
    assert translator.translate(lines) == translator.translate(
        lines, DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=3)
    )
    assert translator.translate(lines) != translator.translate(lines, DecodingConfig(beam_size=1))
    assert translator.translate(lines) == translator.translate(lines, DecodingConfig(
        beam_size=1, max_length_a=1.0, max_length_b=3
    ), beam_size=3)  # fmt: skip


def test_neither_order_nor_text_depends_on_the_batches(translator: Translator) -> None:
    lines = [" ".join(SENTENCES[: 1 + i % 3][::-1]) if i % 5 else " \t" for i in range(6)]
    decoding = dataclasses.replace(translator.config.decoding, beam_size=2, max_length_a=0.0, max_length_b=6)
    assert {len(each.parts) for each in translator.translate(lines, decoding)} == {0, 1, 2, 3}
    alone = [translator.translate([line], decoding)[0].text for line in lines]
    assert len(set(alone)) > 3
    for max_batch_tokens in (1, 100):
        decoding = dataclasses.replace(decoding, max_batch_tokens=max_batch_tokens)
        assert texts(translator.translate(lines, decoding)) == alone


def test_blank_lines_stay_blank_and_do_not_reach_the_model(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator.engine, "decode", lambda *_: pytest.fail("the model was asked"))
    blank = ["", " ", "\t\u2028\u00a0", "\u3000\x0c"]
    expected = [Translation(line, "", [TextHypothesis("", 0.0, 0.0, tokens=[], alignment=[])], []) for line in blank]
    assert translator.translate(blank, alignment=True, token_scores=True) == expected
    assert translator.translate([]) == []


@pytest.mark.parametrize("end", LINE_ENDS)
def test_what_could_end_a_line_becomes_a_space(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [f"A{end}cat" for _ in ids])
    assert texts(translator.translate(["Un chat"])) == ["A cat"]


# --- prefixes ---


def test_prefixes_that_do_not_fit_are_refused(translator: Translator) -> None:
    for prefixes in (["Le"] * 3, ["Le"] * 5, []):
        with pytest.raises(TranslationError, match="not as many prefixes as lines"):
            translator.translate(SENTENCES, SHORT, prefixes=prefixes)
    with pytest.raises(TranslationError, match=r"the prefix of line 2 has \d+ tokens, and the model writes at most 60"):
        translator.translate(SENTENCES[:2], SHORT, prefixes=["", "Un chat " * 40])


def test_a_prefix_of_a_line_that_is_not_translated_is_told(translator: Translator) -> None:
    found = translator.translate(["https://a.org", "https://a.org", ""], SHORT, prefixes=["Le", "", "Le"])
    told = ["so its prefix is left out" in str(each.findings) for each in found]
    assert told == [True, False, True]


def test_an_error_of_the_caller_s_own_lines_is_not_taken_for_one_of_prefixes(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield "Oui !"
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        translator.translate(lines(), SHORT, prefixes=["Le"] * 2)


# --- what is found in translations ---


def test_translations_that_were_cut_or_are_empty_are_marked(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cut,) = translator.translate(["Oui !"], DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=1))
    assert [finding.message for finding in cut.findings if finding.kind == "cut"] == [
        "the translation was cut off after 1 tokens"
    ]
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [" " for _ in ids])
    (empty,) = translator.translate(["Oui !"])
    assert "empty" in kinds(empty)


# --- typography ---


def test_french_typography_changes_all_alternatives(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("abcdefgh")  # no text comes twice
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [f"L'eau {next(letters)} ?" for _ in ids])
    (found,) = translator.translate(["Oui !"], n_best=2, typography="fr")
    assert found.text == found.hypotheses[0].text
    assert [each.text[:6] + each.text[-2:] for each in found.hypotheses] == ["L’eau \u202f?"] * 2


# --- sampling ---


def test_samples_depend_on_the_seed_and_the_place_of_the_line_only(translator: Translator) -> None:
    lines = ["Oui !"] * 6
    sampled = dataclasses.replace(translator.decoding, sampling=True, seed=5, beam_size=1)
    drawn = texts(translator.translate(lines, sampled))
    assert len(set(drawn)) > 3
    assert texts(translator.translate(lines, sampling=True, seed=5, beam_size=1)) == drawn
    one_by_one = dataclasses.replace(sampled, max_batch_tokens=1)
    assert texts(translator.translate_stream(lines, one_by_one)) == drawn
    assert texts(translator.translate_stream(lines[2:], sampled, first_number=2)) == drawn[2:]
    assert texts(translator.translate(lines, sampled, seed=6)) != drawn


def test_no_text_comes_twice_and_further_ones_take_its_place(translator: Translator) -> None:
    n_found = set()
    for beam_size, sampling in ((4, False), (8, False), (4, True)):
        found = translator.translate(SENTENCES, n_best=4, beam_size=beam_size, sampling=sampling)
        for each in found:
            written = [hypothesis.text for hypothesis in each.hypotheses]
            assert len(set(written)) == len(written)
            assert "\ufffd" not in "".join(written)
            assert each.text == written[0]
        n_found.add(sum(len(each.hypotheses) for each in found))
    assert 4 * len(SENTENCES) in n_found


# --- what is refused ---


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("Un chat dort.", "lines is one string; pass a list with a string for each line"),
        (b"Un chat dort.", "lines is of the type bytes; pass a list"),
        (None, "lines is of the type NoneType; pass a list"),
        (["Oui.", b"Non."], r"lines\[1\]=b'Non.' is of the type bytes; give a string"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(translator: Translator, lines: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        translator.translate(lines)


def test_there_are_as_many_translations_as_lines(translator: Translator) -> None:
    assert [each.source for each in translator.translate(line for line in ("Oui.", "", "Non."))] == ["Oui.", "", "Non."]
    with pytest.raises(TypeError, match=r"lines\[1\]=None is of the type NoneType; give a string"):
        translator.translate(["Oui.", None, "Non."])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"beam_size": 0}, ConfigError, "^beam_size=0 is below 1"),
        ({"beam_size": "5"}, TypeError, "beam_size='5' is of the type str; give a whole number"),
        ({"beam_size": True}, TypeError, "beam_size=True is of the type bool; give a whole number"),
        ({"alpha": float("nan")}, ConfigError, "^alpha=nan is not a number"),
        ({"sampling": 1}, TypeError, "sampling=1 is of the type int; give True or False"),
        ({"normalize": None}, TypeError, "normalize=None is of the type NoneType; give a string"),
        ({"split": "now and then"}, ConfigError, "split='now and then' is not one of auto, always, never"),
        ({"typography": "klingon"}, ConfigError, "typography='klingon' is not one of fr"),
        ({"keep": "urls"}, TypeError, "keep is one string; pass a list with the kinds of things"),
        ({"terms": ["chat"]}, TypeError, r"terms=\['chat'\] is of the type list; give a dict"),
        ({"terms": {"chat": 3}}, TypeError, r"terms\['chat'\]=3 is of the type int; give a string"),
        ({"prefixes": [3]}, TypeError, r"prefixes\[0\]=3 is of the type int"),
        ({"decoding": {"beam_size": 3}}, TypeError, "decoding=.* is not of the type DecodingConfig"),
        ({"nbest": 2}, TypeError, r"there is no argument nbest; did you mean n_best\?$"),
        ({"device": "cpu"}, TypeError, r"there is no argument device; did you mean device\? It is an argument of load"),
    ],
)
def test_arguments_that_cannot_be_are_named_as_they_were_given(
    translator: Translator, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        translator.translate(["Oui."], **settings)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("Oui.", "Yes."), ("Non.", None)], r"pairs\[1\]\[1\]=None is of the type NoneType; give a string"),
        (["ab"], r"pairs\[0\]='ab' is no pair; give a source and a translation"),
        (None, "pairs is of the type NoneType; pass a list"),
    ],
)
def test_what_is_no_pair_of_strings_is_refused(translator: Translator, pairs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        list(translator.score(pairs))


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [
        ([], {}, ConfigError, "no model is named; give the path of one, or of several"),
        ([None], {}, TypeError, "path=None is of the type NoneType; give a string or a Path"),
        ("RUN", {"threads": "5"}, TypeError, "threads='5' is of the type str; give a whole number"),
        ("RUN", {"worker": 1}, TypeError, r"there is no argument worker; did you mean workers\?$"),
        ("RUN", {"bemsize": 3}, TypeError, r"bemsize; did you mean beam_size\? It is an argument of translate\(\)"),
        ("RUN", {"colour": 3}, TypeError, "colour; choose from weights, attention, engine, device, precision, "),
        ("RUN", {"workers": -1}, ConfigError, "workers=-1 is below 0"),
        ("RUN", {"weights": 1.0}, TypeError, "weights is of the type float; pass a list with a number for each model"),
        ("RUN", {"weights": ["1"]}, TypeError, "weights='1' is of the type str; give a number"),
    ],
)
def test_a_model_that_cannot_be_loaded_so(
    random_run: Path, path: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        seq2seq.load(random_run if path == "RUN" else path, **options)


def test_threads_share_a_translator(random_run: Path) -> None:
    texts = [SENTENCES * 3, SENTENCES[::-1] * 3]
    with seq2seq.load(str(random_run), device="cpu") as translator, ThreadPoolExecutor(2) as threads:
        together = list(threads.map(translator.translate, texts))
        assert together == list(map(translator.translate, texts))


def test_settings_that_cannot_work_are_refused_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"decoding\.n_best=3 is above"):
        translator.translate_stream([], DecodingConfig(beam_size=2, n_best=3))


def test_settings_by_name_are_those_of_the_configuration() -> None:
    assert get_type_hints(DecodingSettings) == get_type_hints(DecodingConfig)
    assert set(get_type_hints(TextSettings)) == set(get_type_hints(TranslationOptions))
    assert set(get_type_hints(EngineSettings)) <= set(get_type_hints(EngineOptions))


def test_half_a_surrogate_pair_is_refused(translator: Translator) -> None:
    with pytest.raises(TokenizerError, match=r"lines\[1\]=.* has half a surrogate pair"):
        translator.translate(["Oui.", "\ud800"])
