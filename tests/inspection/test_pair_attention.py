"""Where the heads look: the model's own weights, for each token that it read and wrote."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import seq2seq
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
from seq2seq.errors import ConfigError, TokenizerError, TranslationError
from seq2seq.inspection.attention_kinds import KINDS
from seq2seq.inspection.pair_attention import PairAttention, Tokens, View, pair_attention, tokens_of
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.translator import Translator
from seq2seq.vocabulary import BOS, EOS
from tests.translating import model_content, write_run
from tests.translation.engines.models import tokenizer


def load(run: Path, precision: str = "float32") -> Translator:
    return seq2seq.load(run, device="cpu", precision=precision, threads=1)


@pytest.fixture(scope="module")
def translator(trained_run: Path) -> Translator:
    return load(trained_run)


@pytest.fixture(scope="module")
def rotary_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `random_run`, with rotary positions, word dropout and another number of layers on each side."""
    content = model_content()
    sizes = ModelConfig(
        d_model=24, n_heads=3, d_ff=48, n_encoder_layers=3, n_decoder_layers=2, positions="rotary", max_length=600,
        dropout=0.3, attention_dropout=0.3, word_dropout=0.5,
    )  # fmt: skip
    config = RunConfig(model=sizes, decoding=DecodingConfig(beam_size=2, max_length_a=1.0, max_length_b=3))
    config.tokenizer.vocab_size = 320
    config.trainer.max_steps = 1
    pieces = Tokenizer(content.tokenizer)
    torch.manual_seed(5)
    model = Transformer(sizes, pieces.vocab_size)
    return write_run(tmp_path_factory.mktemp("rotary"), SavedModel.of(config, pieces, model.state_dict()))


def assert_distributions(pair: PairAttention) -> None:
    """Each row sums to one, in pieces and in words, and no token looks at what comes later."""
    for kind in KINDS:
        view = pair.view(kind)
        assert view.weights.dtype == np.float32
        assert view.weights.shape[2:] == (len(view.queries.pieces), len(view.keys.pieces))
        for weights in (view.weights, view.in_words()):
            assert weights.min() >= 0
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert np.all(np.triu(pair.weights.decoder, 1) == 0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("tgt", ["Le chien dort.", "Oui"])
def test_the_weights_are_those_that_the_model_uses(rotary_run: Path, precision: str, tgt: str) -> None:
    translator = load(rotary_run, precision)
    src = "Le chat court après la balle."
    pair = pair_attention(translator, src, tgt)
    assert_distributions(pair)
    assert pair.weights.encoder.shape[:2] == (3, 3) and pair.weights.cross.shape[:2] == (2, 3)
    model = TrainedModel.read(rotary_run).build().eval()
    src_ids, tgt_ids = translator.tokenizer.encode([src, pair.tgt])
    with torch.no_grad():
        plain = model.attention_weights(torch.tensor([[*src_ids, EOS]]), torch.tensor([[BOS, *tgt_ids]]))
    tolerance = 1e-5 if precision == "float32" else 0.02
    for found, layers in zip(pair.weights, plain, strict=True):
        np.testing.assert_allclose(found, torch.cat(layers).numpy(), atol=tolerance)
    assert (pair.tgt_in.pieces[0], pair.tgt_out.pieces[-1], pair.src_tokens.pieces[-1]) == ("<s>", "</s>", "</s>")
    assert pair.tgt_in.pieces[1:] == pair.tgt_out.pieces[:-1] == translator.tokenizer.pieces(tgt_ids)
    assert (pair.src, pair.tgt, pair.is_given) == (src, tgt, True)


def test_the_models_own_translation_has_the_attention_of_its_search(translator: Translator) -> None:
    (translation,) = translator.translate(["Ba do ke ki fe la."], alignment=True)
    for tgt in (None, translation.text):  # a given translation that is the model's own has the same weights, too
        pair = pair_attention(translator, translation.source, tgt)
        assert (pair.tgt, pair.is_given) == (translation.text, tgt is not None)
        (searched,) = translation.hypotheses[0].attention or []
        assert (searched.src_pieces, searched.tgt_pieces) == (pair.src_tokens.pieces[:-1], pair.tgt_out.pieces[:-1])
        np.testing.assert_allclose(pair.weights.cross[0].mean(0)[:-1, :-1], searched.weights, atol=1e-5)


def test_a_tag_is_a_word_of_its_own(tagged_run: Path) -> None:
    translator = load(tagged_run)
    pair = pair_attention(translator, "Ba do ke.", tag="z")
    assert_distributions(pair)
    assert pair.src_tokens.words == ["<tag:z>", "Ba", "do", "ke.", "</s>"]
    assert pair.tgt_in.words == ["<s>", "Baz", "Doz", "Kez."] and pair.tgt_out.words == ["Baz", "Doz", "Kez.", "</s>"]
    assert pair.view("encoder").in_words().shape == (1, 4, 5, 5)
    with pytest.raises(TokenizerError, match="no tag 'x'"):
        pair_attention(translator, "Ba.", tag="x")


def test_a_word_is_looked_at_by_the_sum_of_its_pieces_and_looks_by_their_mean() -> None:
    queries = Tokens(["▁Un", "▁ch", "at", "</s>"], ["Un", "chat", "</s>"], [0, 1, 1, 2])
    keys = Tokens(["<s>", "▁A", "▁c", "a", "t"], ["<s>", "A", "cat"], [0, 1, 2, 2, 2])
    weights = np.array([[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.1, 0.2, 0.4, 0, 0.3], [0, 0, 0.25, 0.5, 0.25]])
    found = View(queries, keys, weights.astype(np.float32)[None, None]).in_words()
    np.testing.assert_allclose(found[0, 0], np.array([[1, 0, 0], [0.3, 0.35, 0.35], [0, 0, 1]]), atol=1e-6)


def test_pieces_that_are_no_words_keep_rows_whole(translator: Translator) -> None:
    # A space that does not break, a character of four bytes, and one that joins with the letter before it.
    pair = pair_attention(translator, "\u00a0 ba 🙂 e\u0301", "\u3000 👩\u200d🚀 \u200b", normalize="never")
    assert_distributions(pair)
    assert pair.src_tokens.words[:2] == ["ba", "🙂"] and len(pair.src_tokens.pieces) > 8


@given(text=st.text(st.characters(exclude_categories=["Cs"])), after=st.sampled_from([[], [EOS]]))
def test_each_token_of_any_text_has_a_word_and_each_word_a_token(text: str, after: list[int]) -> None:
    (ids,) = tokenizer().encode([text])
    found = tokens_of(tokenizer(), ids, before=[BOS], after=after)
    assert len(found.word_of) == len(found.pieces) == len(ids) + 1 + len(after)
    assert found.word_of == sorted(found.word_of)
    assert sorted(set(found.word_of)) == list(range(len(found.words)))
    assert all(found.words) and found.words[0] == "<s>"


def test_notes_say_what_the_model_read_and_what_translating_does_otherwise(translator: Translator) -> None:
    assert pair_attention(translator, "Ba do.").notes == []
    emoji = pair_attention(translator, "Ba do 🙂.")
    assert emoji.notes == [f"The model read: {emoji.src}"] and "🙂" not in emoji.src
    long = pair_attention(translator, " ".join(["ba"] * 20))
    assert len(long.notes) == 1 and "split into" in long.notes[0] and long.src == " ".join(["ba"] * 20)
    assert_distributions(long)


def test_what_cannot_be_looked_at_is_refused(translator: Translator, trained_run: Path) -> None:
    with pytest.raises(TranslationError, match=r"the source ' ' has nothing that the model reads; give it at least"):
        pair_attention(translator, " ")
    with pytest.raises(TranslationError, match="the translation '' has nothing that the model reads"):
        pair_attention(translator, "Ba.", "")
    with pytest.raises(TranslationError, match=r"the source has \d+ tokens, and the model has positions for 47"):
        pair_attention(translator, "ba " * 48)
    with pytest.raises(TranslationError, match=r"the translation has \d+ tokens, and the model has positions for 47"):
        pair_attention(translator, "Ba.", "Bas " * 48)
    with pytest.raises(TokenizerError, match="half a surrogate"):
        pair_attention(translator, "Ba \ud800")
    with pytest.raises(ConfigError, match="an ensemble has its own answer to where its heads look; give one model"):
        pair_attention(seq2seq.load([trained_run, trained_run], device="cpu"), "Ba.")


def test_ctranslate2_does_not_tell_where_its_heads_look(exported_model: Path) -> None:
    with pytest.raises(ConfigError, match="CTranslate2 does not tell where its heads look; use engine=torch"):
        pair_attention(seq2seq.load(exported_model, device="cpu"), "Ba.")
