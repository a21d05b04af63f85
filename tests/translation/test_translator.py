"""A trained model as a function from text to text."""

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.length import length_penalty
from seq2seq.decoding.search import search
from seq2seq.errors import ConfigError, TokenizerError, TranslationError
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.result import TextHypothesis, Translation
from seq2seq.translation.stream import WINDOWS
from seq2seq.translation.translator import Translator
from seq2seq.vocabulary import EOS
from tests.translating import SENTENCES, model_content, sentences, trained_content, write_run

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
SHORT = DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=2)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def translator(run_dir: Path) -> Translator:
    return Translator.load(run_dir, device="cpu", precision="float32", threads=1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = write_run(tmp_path_factory.mktemp("trained"), trained_content())
    return Translator.load(folder, device="cpu", precision="float32", threads=1)


def texts(translations: list[Translation]) -> list[str]:
    return [translation.text for translation in translations]


def kinds(translation: Translation) -> list[str]:
    return [finding.kind for finding in translation.findings]


def engine_of(translator: Translator) -> PyTorchEngine:
    assert isinstance(translator.engine, PyTorchEngine)
    return translator.engine


# --- what comes out ---


def test_the_package_loads_a_model_and_translates_with_it(run_dir: Path, translator: Translator) -> None:
    loaded = seq2seq.load(str(run_dir), device="cpu", precision="float32", threads=1)
    assert loaded.translate(SENTENCES, beam_size=1) == translator.translate(SENTENCES, DecodingConfig(
        beam_size=1, max_length_a=1.0, max_length_b=3
    ))  # fmt: skip


def test_a_translation_is_what_the_search_finds_for_the_ids_of_the_line(translator: Translator) -> None:
    source = translator.tokenizer.encode([SENTENCES[1]])[0]
    decoding = dataclasses.replace(translator.config.decoding, n_best=2)
    with torch.inference_mode():
        src = torch.tensor([[*source, EOS]])
        (expected,) = search(engine_of(translator).models[0], src, decoding, max_length=60)
    (found,) = translator.translate([SENTENCES[1]], decoding)
    assert [each.text for each in found.hypotheses] == translator.tokenizer.decode([h.tokens for h in expected])
    assert [each.score for each in found.hypotheses] == pytest.approx([h.score for h in expected], abs=1e-5)
    assert [each.log_prob for each in found.hypotheses] == pytest.approx([h.log_prob for h in expected], abs=1e-4)
    assert found.text == found.hypotheses[0].text
    assert (found.source, found.parts) == (SENTENCES[1], [SENTENCES[1]])
    assert all((each.tokens, each.attention, each.alignment) == (None, None, None) for each in found.hypotheses)


def test_what_was_learned_is_translated(trained: Translator) -> None:
    pairs = sentences(40)
    found = texts(trained.translate([src for src, _ in pairs]))
    assert sum(text == tgt for text, (_, tgt) in zip(found, pairs, strict=True)) > 30


def test_settings_of_the_checkpoint_are_the_default(translator: Translator) -> None:
    assert translator.translate(SENTENCES) == translator.translate(
        SENTENCES, DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=3)
    )
    assert translator.translate(SENTENCES) != translator.translate(SENTENCES, DecodingConfig(beam_size=1))
    assert translator.translate(SENTENCES) == translator.translate(SENTENCES, DecodingConfig(
        beam_size=1, max_length_a=1.0, max_length_b=3
    ), beam_size=3)  # fmt: skip


@pytest.mark.parametrize("beam_size", [1, 3])
def test_neither_order_nor_text_depends_on_the_batches(translator: Translator, beam_size: int) -> None:
    lines = [" ".join(SENTENCES[: 1 + i % 3][::-1]) if i % 5 else " \t" for i in range(11)]
    decoding = dataclasses.replace(translator.config.decoding, beam_size=beam_size)
    alone = [translator.translate([line], decoding)[0].text for line in lines]
    assert len(set(alone)) > 3
    for max_batch_tokens in (1, 100, 100_000):
        decoding = dataclasses.replace(decoding, max_batch_tokens=max_batch_tokens)
        assert texts(translator.translate(lines, decoding)) == alone
    for windows in ((1,), (4,), (3, 5), (11,)):
        found = list(translator.translate_stream(lines, decoding, windows=windows))
        assert texts(found) == alone
        assert [translation.source for translation in found] == lines


def test_blank_lines_stay_blank_and_do_not_reach_the_model(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator.engine, "decode", lambda *_: pytest.fail("the model was asked"))
    blank = ["", " ", "\t\u2028\u00a0", "\u3000\x0c"]
    expected = [Translation(line, "", [TextHypothesis("", 0.0, 0.0)], []) for line in blank]
    assert translator.translate(blank, alignment=True, token_scores=True) == expected
    assert translator.translate([]) == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(any_text, max_size=4))
def test_every_line_of_any_text_gives_one_line(translator: Translator, lines: list[str]) -> None:
    found = translator.translate(lines, DecodingConfig(beam_size=1, max_length_a=0.0, max_length_b=4))
    assert [translation.source for translation in found] == lines
    for line, translation in zip(lines, found, strict=True):
        assert len(translation.text.splitlines()) <= 1
        assert line.strip() or not translation.text


@pytest.mark.parametrize("end", LINE_ENDS)
def test_what_could_end_a_line_becomes_a_space(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: [f"A{end}cat" for _ in ids])
    assert texts(translator.translate(["Un chat"])) == ["A cat"]


# --- windows and workers ---


class Taps:
    """Lines that say how many of them were taken."""

    def __init__(self, n_lines: int) -> None:
        self.n_lines = n_lines
        self.n_taken = 0

    def __iter__(self) -> Iterator[str]:
        for number in range(self.n_lines):
            self.n_taken += 1
            yield f"Oui {number} !"


def n_threads() -> int:
    return threading.active_count()


def test_a_dialogue_takes_no_line_before_the_one_before_is_answered(translator: Translator) -> None:
    lines = Taps(5)
    for n_given, window in enumerate(translator.translate_windows(lines, SHORT, windows=(1,)), start=1):
        assert len(window) == 1
        assert lines.n_taken == n_given


def test_a_stream_is_read_only_a_few_windows_ahead(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        return [found] * len(batch)

    found = translator.engine.decode([Sentence([7])], SHORT)[0]
    monkeypatch.setattr(translator.engine, "decode", decode)
    lines = Taps(12_000)
    n_given = most_ahead = 0
    for window in translator.translate_windows(lines, SHORT):
        most_ahead = max(most_ahead, lines.n_taken - n_given)
        n_given += len(window)
    assert n_given == lines.n_taken == 12_000
    assert most_ahead <= 3 * WINDOWS[-1]
    assert WINDOWS[0] <= 256  # so that the first line comes early


def test_the_sizes_of_windows_are_those_that_are_asked_for(translator: Translator) -> None:
    windows = translator.translate_windows([*SENTENCES, *SENTENCES, "Oui !"], SHORT, windows=(1, 2, 3))
    assert [[translation.source for translation in window] for window in windows] == [
        [SENTENCES[0]], SENTENCES[1:3], [SENTENCES[3], *SENTENCES[:2]], [*SENTENCES[2:], "Oui !"]
    ]  # fmt: skip


def test_several_workers_keep_the_order(run_dir: Path, translator: Translator) -> None:
    lines = [" ".join(SENTENCES[i % 4 :]) for i in range(25)]
    several = Translator.load(run_dir, device="cpu", precision="float32", threads=3, workers=3)
    options: dict[str, Any] = {"max_batch_tokens": 60, "windows": (7,), "alignment": True, "token_scores": True}
    found, expected = several.translate(lines, **options), translator.translate(lines, **options)
    assert texts(found) == texts(expected)
    assert [each.hypotheses[0].alignment for each in found] == [each.hypotheses[0].alignment for each in expected]
    assert [each.hypotheses[0].score for each in found] == pytest.approx(
        [each.hypotheses[0].score for each in expected], abs=1e-5
    )


def test_an_error_in_a_worker_reaches_the_caller_and_ends_the_threads(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = translator.engine.decode

    def breaks(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        if any(sentence.number == 5 for sentence in batch):
            raise RuntimeError("the sixth line")
        return decode(batch, config)

    monkeypatch.setattr(translator.engine, "decode", breaks)
    before = n_threads()
    stream = translator.translate_stream(SENTENCES * 3, SHORT, windows=(2,))
    assert [next(stream).source for _ in SENTENCES] == SENTENCES
    with pytest.raises(RuntimeError, match="the sixth line"):
        next(stream)
    assert n_threads() == before


def test_a_stream_that_is_closed_early_searches_no_further(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_searched = 0
    decode = translator.engine.decode

    def counts(batch: list[Sentence], config: DecodingConfig) -> list[list[Any]]:
        nonlocal n_searched
        n_searched += len(batch)
        return decode(batch, config)

    monkeypatch.setattr(translator.engine, "decode", counts)
    before = n_threads()
    stream = translator.translate_windows(
        SENTENCES * 50, dataclasses.replace(SHORT, max_batch_tokens=1), windows=(1, 90)
    )
    next(stream)
    stream.close()
    assert n_threads() == before
    assert n_searched < 180


def test_progress_counts_the_lines_that_reach_the_model(translator: Translator) -> None:
    counts: list[int] = []
    lines = [*SENTENCES, "", "Un chat dort. " * 20]  # the last is several parts of one line
    list(translator.translate_stream(lines, SHORT, windows=(2,), on_batch=counts.append))
    assert sum(counts) == 5


# --- prefixes ---


def test_each_translation_begins_with_its_own_prefix(translator: Translator) -> None:
    prefixes = ["Le chien", "", "Oui", "gare la balle"]
    for windows in ((4,), (1,), (3,)):
        found = texts(translator.translate(SENTENCES, prefixes=prefixes, windows=windows))
        assert all(text.startswith(prefix) for text, prefix in zip(found, prefixes, strict=True))
        assert found[1] == translator.translate([SENTENCES[1]])[0].text
        assert found[1:] != texts(translator.translate(SENTENCES))[1:]


def test_prefixes_that_do_not_fit_are_refused(translator: Translator) -> None:
    for prefixes in (["Le"] * 3, ["Le"] * 5, []):
        with pytest.raises(TranslationError, match="not as many prefixes as lines"):
            translator.translate(SENTENCES, SHORT, prefixes=prefixes)
    with pytest.raises(TranslationError, match=r"the prefix of line 2 has \d+ tokens, and the model writes at most 60"):
        translator.translate(SENTENCES[:2], SHORT, prefixes=["", "Un chat " * 40])


def test_an_error_of_the_caller_s_own_lines_is_not_taken_for_one_of_prefixes(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield "Oui !"
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        translator.translate(lines(), SHORT, prefixes=["Le"] * 2)  # type: ignore[arg-type]


# --- lines that are split ---


def of_length(translator: Translator, n_tokens: int) -> str:
    """A line of unknown characters: two byte pieces each, after a first space, and a third byte for one euro sign."""
    line = "é" * ((n_tokens - 1) // 2) if n_tokens % 2 else "é" * ((n_tokens - 4) // 2) + "€"
    assert len(translator.tokenizer.encode([line])[0]) == n_tokens
    return line


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


# --- tags ---


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = write_run(tmp_path_factory.mktemp("tagged"), trained_content("t", "z"))
    return Translator.load(folder, device="cpu", precision="float32", threads=1)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("tag", ["", "t", "z"])
def test_a_tag_decides_how_it_is_translated(tagged: Translator, tag: str, beam_size: int) -> None:
    pairs = sentences(40)
    found = texts(tagged.translate([src for src, _ in pairs], beam_size=beam_size, tag=tag))
    expected = [tgt.replace("s", tag or "s") for _, tgt in pairs]
    assert sum(text == tgt for text, tgt in zip(found, expected, strict=True)) > 20
    ends = "".join(word[-1] for text in found for word in text.removesuffix(".").split())
    assert ends.count(tag or "s") > 0.95 * len(ends)


@pytest.mark.parametrize(("tag", "begin"), [("", []), ("t", [4]), ("z", [5])])
def test_each_source_and_each_part_of_one_begins_with_the_tag(
    tagged: Translator, monkeypatch: pytest.MonkeyPatch, tag: str, begin: list[int]
) -> None:
    asked: list[Sentence] = []
    decode = tagged.engine.decode

    def watched(batch: list[Sentence], decoding: DecodingConfig) -> list[list[Hypothesis]]:
        asked.extend(batch)
        return decode(batch, decoding)

    monkeypatch.setattr(tagged.engine, "decode", watched)
    line = " ".join(src for src, _ in sentences(4))
    short, blank, long = tagged.translate(["ba bi.", " ", line], tag=tag)
    assert (short.parts, blank.parts, len(long.parts) > 2) == (["ba bi."], [], True)
    ids = tagged.tokenizer.encode([*short.parts, *long.parts])
    assert sorted(list(sentence.source) for sentence in asked) == sorted(begin + of_part for of_part in ids)
    (finding,) = (finding for finding in long.findings if finding.kind == "split")
    assert finding.message.startswith(f"{sum(map(len, ids[1:]))} tokens are more than the 14 ")


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


def test_an_unknown_tag_is_refused_before_any_work(tagged: Translator, trained: Translator) -> None:
    with pytest.raises(TokenizerError, match=r"no tag 'x', only t, z; choose one"):
        tagged.translate([], tag="x")
    with pytest.raises(TokenizerError, match=r"no tag 't', or any other; leave the tag out"):
        trained.translate([], tag="t")
    with pytest.raises(TokenizerError, match=r"no tag 'x', only t, z"):
        list(tagged.score([], tag="x"))


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


def test_good_translations_are_not_marked(trained: Translator) -> None:
    src, _ = next(pair for pair in sentences(40) if trained.translate([pair[0]])[0].text == pair[1])
    assert trained.translate([src])[0].findings == []


# --- scores of tokens, attention, typography ---


def test_scores_of_tokens_sum_to_that_of_the_translation(trained: Translator) -> None:
    lines = [src for src, _ in sentences(6)]
    for found in trained.translate(lines, token_scores=True, n_best=3):
        for each in found.hypotheses:
            assert each.tokens is not None
            assert sum(log_prob for _, log_prob in each.tokens) == pytest.approx(each.log_prob, abs=1e-3)
            assert each.tokens[-1][0] == "</s>"
            assert "".join(piece for piece, _ in each.tokens[:-1]).replace("▁", " ").strip() == each.text


def test_translations_as_long_as_the_model_can_write_have_scores_and_attention(translator: Translator) -> None:
    (found,) = translator.translate(
        ["Un chat"], beam_size=1, max_length_a=0.0, max_length_b=200, token_scores=True, alignment=True
    )
    (best,) = found.hypotheses
    assert best.tokens is not None and best.attention is not None
    assert len(best.tokens) == 60 and "cut" in kinds(found)
    assert sum(log_prob for _, log_prob in best.tokens) == pytest.approx(best.log_prob, abs=1e-3)
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


def test_french_typography_changes_all_alternatives(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator.tokenizer, "decode", lambda ids: ["L'eau ?" for _ in ids])
    (found,) = translator.translate(["Oui !"], n_best=2, typography="fr")
    assert found.text == "L’eau\u202f?"
    assert {each.text for each in found.hypotheses} == {"L’eau\u202f?"}
    assert translator.translate(["Oui !"])[0].text == "L'eau ?"


# --- sampling ---


def test_samples_depend_on_the_seed_and_the_place_of_the_line_only(translator: Translator) -> None:
    lines = ["Oui !"] * 6
    options: dict[str, Any] = {"sampling": True, "seed": 5, "beam_size": 1}
    drawn = texts(translator.translate(lines, **options))
    assert len(set(drawn)) > 3
    assert texts(translator.translate(lines, **options, max_batch_tokens=1, windows=(4,))) == drawn
    assert texts(translator.translate(lines[2:], **options, first_number=2)) == drawn[2:]
    assert texts(translator.translate(lines, **{**options, "seed": 6})) != drawn


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


def test_a_wrong_translation_scores_below_the_right_one(trained: Translator) -> None:
    (a, a_translated), (b, b_translated) = sentences(2, seed=4)
    right = trained.score([(a, a_translated), (b, b_translated)])
    wrong = trained.score([(a, b_translated), (b, a_translated)])
    assert all(better.score > worse.score + 1 for better, worse in zip(right, wrong, strict=True))


def test_pairs_that_cannot_be_scored_are_refused_with_their_line(translator: Translator) -> None:
    pairs = [("Oui !", "Oui !")] * 300
    for bad, message in {
        ("Oui !", " "): "line 301: one of source and translation is blank",
        ("", "Oui !"): "line 301: one of source and translation is blank",
        ("é" * 40, "Oui"): "line 301 has 81 tokens, and the model scores at most 59; split it",
        ("Oui", "é" * 40): "line 301 has 81 tokens",
    }.items():
        with pytest.raises(TranslationError, match=message):
            list(translator.score([*pairs, bad]))
    with pytest.raises(TranslationError, match="line 8: one of"):
        list(translator.score([("Oui !", "")], first_number=7))


# --- what is refused ---


@pytest.mark.parametrize("method", ["translate", "translate_windows"])
def test_one_string_is_not_a_list_of_lines(translator: Translator, method: str) -> None:
    function: Callable[[str], object] = getattr(translator, method)
    with pytest.raises(TypeError, match="one string"):
        function("Un chat dort.")


def test_settings_that_cannot_work_are_refused_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"decoding\.n_best=3 is above"):
        translator.translate_windows([], DecodingConfig(beam_size=2, n_best=3))
    with pytest.raises(ConfigError, match="typography='klingon' is not one of fr"):
        translator.translate_windows([], typography="klingon")


def test_half_a_surrogate_pair_is_refused(translator: Translator) -> None:
    with pytest.raises(TokenizerError, match="surrogate"):
        translator.translate(["\ud800"])


def test_running_out_of_memory_names_what_to_lower(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(engine_of(translator).models[0], "start", run_out)
    with pytest.raises(TranslationError, match=r"not enough memory on cpu for decoding\.max_batch_tokens=8192"):
        translator.translate(["Oui !"])
