"""A classifier on top of an encoder. Shapes: B 2 sentences, S 5 tokens, D 12, C 3 labels."""

import pytest
import torch
import torch.nn.functional as F

from seq2seq.config import ClassifyConfig, ModelConfig
from seq2seq.model.classifier import POOLS, Classifier
from seq2seq.model.labels import label_log_probs
from seq2seq.model.transformer import Transformer
from seq2seq.vocabulary import EOS, PAD

SIZES = ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1, max_length=30, dropout=0.3)
SRC = torch.tensor([[7, 5, 9, 11, EOS], [8, 6, EOS, PAD, PAD]])


def classifier(encoder: str = "fresh", pool: str = "mean", sizes: ModelConfig = SIZES) -> Classifier:
    torch.manual_seed(1)
    return Classifier(sizes, ClassifyConfig(encoder=encoder, pool=pool), vocab_size=17, n_labels=3)


def test_its_weights_are_as_many_as_in_the_textbook_example() -> None:
    """One layer of width 32 with two heads, 50,002 words, two answers. Our attention has no bias of 32 at its end."""
    sizes = ModelConfig(
        d_model=32, n_heads=2, d_ff=128, n_encoder_layers=1, n_decoder_layers=1, norm="post", max_length=200
    )
    model = Classifier(sizes, ClassifyConfig(encoder="fresh", pool="max"), vocab_size=50_002, n_labels=2)
    counts = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    assert counts["embeddings"] == 1_600_064
    layer = model.encoder.layers[0]
    assert sum(p.numel() for p in layer.self_attention.parameters()) == 4_128 - 32
    assert sum(p.numel() for p in layer.feed_forward.parameters()) == 8_352
    assert counts["to_labels"] == 66
    assert model.n_parameters == 1_612_738 - 32


def test_pools_are_those_worked_out_by_hand() -> None:
    scores = torch.tensor([[[1.0, -9.0], [3.0, -5.0], [100.0, 100.0]]])
    is_token = torch.tensor([[True, True, False]])
    assert {name: pool(scores, is_token).tolist() for name, pool in POOLS.items()} == {
        "mean": [[2.0, -7.0]],
        "max": [[3.0, -5.0]],  # of each label on its own
        "first": [[1.0, -9.0]],
    }


@pytest.mark.parametrize("pool", POOLS)
def test_padding_changes_no_logit_and_gets_no_gradient(pool: str) -> None:
    model = classifier(pool=pool).eval()
    alone = model(SRC[1:, :3])
    torch.testing.assert_close(model(SRC)[1:], alone)
    F.cross_entropy(model(SRC), torch.tensor([0, 2])).backward()
    gradient = model.embeddings.source.grad
    assert gradient is not None
    assert gradient[PAD].abs().max() == 0
    assert gradient[EOS].abs().max() > 0


def test_the_mean_of_scores_is_the_score_of_the_mean() -> None:
    model = classifier().eval()
    memory = model.encode(SRC)
    mean = torch.stack([memory[0].mean(0), memory[1, :3].mean(0)])
    torch.testing.assert_close(model(SRC), model.to_labels(mean))


def test_a_frozen_encoder_has_no_dropout_and_no_gradient() -> None:
    model = classifier("frozen").train()
    torch.testing.assert_close(model.encode(SRC), model.encode(SRC), rtol=0, atol=0)
    model(SRC).sum().backward()
    assert {name for name, p in model.named_parameters() if p.grad is not None} == {
        "to_labels.weight",
        "to_labels.bias",
    }
    loose = classifier().train()
    assert not torch.equal(loose.encode(SRC), loose.encode(SRC))


@pytest.mark.parametrize("embeddings", ["shared", "decoder", "separate"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_it_takes_the_encoder_of_a_translation_model(embeddings: str, positions: str) -> None:
    sizes = ModelConfig(
        d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1, max_length=30,
        embeddings=embeddings, positions=positions,
    )  # fmt: skip
    torch.manual_seed(5)
    other = Transformer(sizes, vocab_size=17).eval()
    model = classifier(sizes=sizes).eval()
    assert not torch.allclose(model.encode(SRC), other.encode(SRC))
    model.take_encoder(other)
    torch.testing.assert_close(model.encode(SRC), other.encode(SRC), rtol=0, atol=0)


def test_texts_of_all_lengths_in_batches_of_any_size_get_the_same_labels() -> None:
    model = classifier()
    sources = [[7, 5, 9], [8], [6, 6, 6, 6, 9, 10, 11], [], [12, 4]]
    assert model.training
    one_by_one = torch.cat([label_log_probs(model, [source], max_tokens=1) for source in sources])
    torch.testing.assert_close(label_log_probs(model, sources, max_tokens=1000), one_by_one)
    torch.testing.assert_close(label_log_probs(model, sources, max_tokens=9), one_by_one)
    torch.testing.assert_close(one_by_one.exp().sum(1), torch.ones(5))
    assert model.training, "what it was before"


def test_an_encoder_of_another_width_than_the_decoder_has_that_of_its_own() -> None:
    sizes = ModelConfig(
        d_model=16, d_encoder=12, n_heads=2, d_ff=20, n_encoder_layers=1, n_decoder_layers=1, max_length=30,
        embeddings="decoder",
    )  # fmt: skip
    model = classifier(sizes=sizes).eval()
    model.take_encoder(Transformer(sizes, vocab_size=17))
    assert model.encode(SRC).shape == (2, 5, 12)
    assert model(SRC).shape == (2, 3)
