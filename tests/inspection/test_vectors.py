"""Vectors of text against `Transformer.encode` and pooling by hand.

Shapes: S source tokens, D 32
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import seq2seq
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.decoding.search import pad_sources
from seq2seq.errors import ConfigError
from seq2seq.inspection import vectors as vectors_module
from seq2seq.inspection.vectors import VectorOptions, line_vectors
from seq2seq.translation.translator import Translator
from tests.translating import SENTENCES

LONG = " ".join(SENTENCES * 6)


@pytest.fixture(scope="module")
def translator(random_run: Path) -> Translator:
    return seq2seq.load(random_run, device="cpu", precision="float32", workers=1)


def states_by_hand(run: Path, line: str, layer: int | None = None) -> np.ndarray:
    """The states of the pieces of a line, (S, D), without eos. The model has one layer, and norms after sublayers."""
    trained = TrainedModel.read(run)
    model = trained.build().eval()
    ids = trained.tokenizer.encode([line])
    with torch.inference_mode():
        src = pad_sources(ids, 60)
        if layer == 0:
            positions = model.positions(0, src.size(1))
            states = model.embeddings.source[src] * 32**0.5 + positions
        else:
            states = model.encode(src)
    found: np.ndarray = states[0, : len(ids[0])].numpy()
    return found


@pytest.mark.parametrize("layer", [None, 0, 1])
def test_pieces_have_the_states_of_the_encoder(layer: int | None, translator: Translator, random_run: Path) -> None:
    found = list(line_vectors(translator, SENTENCES, VectorOptions(unit="piece", layer=layer)))
    for line, each in zip(SENTENCES, found, strict=True):
        expected = states_by_hand(random_run, line, layer)
        np.testing.assert_allclose(each.vectors, expected, atol=1e-5)
        assert each.places.tolist() == list(range(len(expected)))
        assert each.names == translator.tokenizer.pieces(translator.tokenizer.encode([line])[0])
        assert each.vectors.dtype == np.float32


@pytest.mark.parametrize(("pool", "reduce"), [("mean", np.mean), ("max", np.max)])
def test_sentences_and_words_are_pooled_from_their_pieces(
    pool: str, reduce, translator: Translator, random_run: Path
) -> None:
    line = "Le chien  court. "
    states = states_by_hand(random_run, line)
    pieces = translator.tokenizer.pieces(translator.tokenizer.encode([line])[0])
    begins = [i for i, piece in enumerate(pieces) if piece.startswith("▁")]
    (sentence,) = line_vectors(translator, [line], VectorOptions(pool=pool))
    np.testing.assert_allclose(sentence.vectors, reduce(states, axis=0)[None], atol=1e-5)
    (words,) = line_vectors(translator, [line], VectorOptions(unit="word", pool=pool))
    assert (words.names, words.places.tolist()) == (["Le", "chien", "court."], [0, 1, 2])
    assert len(begins) == 3
    expected = [reduce(states[a:b], axis=0) for a, b in zip(begins, [*begins[1:], None], strict=True)]
    np.testing.assert_allclose(words.vectors, np.stack(expected), atol=1e-5)


def test_each_line_has_one_row_as_a_sentence_and_blank_ones_are_zeros(translator: Translator) -> None:
    lines = ["Oui !", "", "  \t", "Un chat dort."]
    found = list(line_vectors(translator, lines))
    assert [each.text for each in found] == lines
    assert [each.vectors.shape for each in found] == [(1, 32)] * 4
    assert [bool(each.vectors.any()) for each in found] == [True, False, False, True]
    assert [len(each.vectors) for each in line_vectors(translator, lines, VectorOptions(unit="word"))] == [2, 0, 0, 3]


def test_a_line_that_is_too_long_is_read_in_windows(translator: Translator, random_run: Path) -> None:
    ids = translator.tokenizer.encode([LONG])[0]
    assert len(ids) > 80
    (whole,) = line_vectors(translator, [LONG], VectorOptions(unit="piece"))
    assert len(whole.vectors) == len(ids)
    model = TrainedModel.read(random_run).build().eval()
    with torch.inference_mode():  # `data.max_sentence_tokens` of this model is 40
        second = model.encode(pad_sources([ids[40:80]], 60))[0, :40].numpy()
    np.testing.assert_allclose(whole.vectors[40:80], second, atol=1e-5)


@settings(max_examples=15)
@given(lines=st.lists(st.sampled_from([*SENTENCES, "", LONG]), max_size=9), size=st.sampled_from([1, 60, 300]))
def test_order_is_kept_and_batches_change_nothing(translator: Translator, lines: list[str], size: int) -> None:
    alone = {line: next(line_vectors(translator, [line], VectorOptions(unit="word"))).vectors for line in set(lines)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors_module, "_BATCH_TOKENS", size)
        patch.setattr(vectors_module, "_WINDOW", 4)
        found = list(line_vectors(translator, iter(lines), VectorOptions(unit="word")))
    assert [each.text for each in found] == lines
    for each in found:
        np.testing.assert_allclose(each.vectors, alone[each.text], atol=1e-5)


def test_tags_are_read_and_have_no_row(tagged_run: Path) -> None:
    translator = seq2seq.load(tagged_run, device="cpu", precision="float32", workers=1)
    plain, tagged = (
        next(line_vectors(translator, ["Ba da."], VectorOptions(unit="piece", tag=tag))) for tag in ("", "t")
    )
    assert plain.names == tagged.names and plain.vectors.shape == tagged.vectors.shape
    assert not np.allclose(plain.vectors, tagged.vectors)
    trained = TrainedModel.read(tagged_run)
    ids = trained.tokenizer.encode(["Ba da."])[0]
    with torch.inference_mode():
        states = trained.build().eval().encode(pad_sources([[*trained.tokenizer.tag("t"), *ids]], 40))
    np.testing.assert_allclose(tagged.vectors, states[0, 1 : 1 + len(ids)].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "letter"}, "unit='letter' is not one of sentence, word, piece"),
        ({"pool": "min"}, "pool='min' is not one of mean, max"),
        ({"layer": 2}, "layer=2: the encoder has 1 layers; give 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused(options, message: str, translator: Translator) -> None:
    with pytest.raises(ConfigError) as refusal:
        line_vectors(translator, ["Oui"], VectorOptions(**options))
    assert message in str(refusal.value)


def test_an_ensemble_gives_no_vectors(random_run: Path) -> None:
    both = seq2seq.load([random_run, random_run], device="cpu", precision="float32", workers=1)
    with pytest.raises(ConfigError, match=r"each model of an ensemble has its own answer .*; give one model"):
        line_vectors(both, ["Oui"])


def test_one_string_is_no_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="lines is one string"):
        line_vectors(translator, "Oui")
