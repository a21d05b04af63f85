"""What translations lose without parts of a model that has learned a lexicon."""

from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.decoding.search import decode_ids
from seq2seq.evaluation.scores import corpus_scores
from seq2seq.inspection.ablating import ablate, parts
from seq2seq.model.ablation import without_head, without_layer
from seq2seq.model.transformer import Transformer
from tests.translating import sentences

PAIRS = sentences(12)


@pytest.fixture(scope="module")
def trained(trained_run: Path) -> TrainedModel:
    return TrainedModel.read(trained_run)


@pytest.fixture(scope="module")
def model(trained: TrainedModel) -> Transformer:
    return trained.build().eval()


def bleu_and_chrf(trained: TrainedModel, model: Transformer) -> tuple[float, float]:
    sources = trained.tokenizer.encode([src for src, _ in PAIRS])
    found = decode_ids(model, sources, trained.config.decoding, torch.device("cpu"), model.config.max_length)
    texts = trained.tokenizer.decode([best.tokens for best, *_ in found])
    scores = corpus_scores(texts, [tgt for _, tgt in PAIRS])
    return scores["bleu"].score, scores["chrf"].score


def test_every_head_sublayer_and_layer_is_a_part(model: Transformer) -> None:
    names = [(part.kind, part.name) for part in parts(model)]
    heads = [f"{kind} 1.{head}" for kind in ("encoder", "decoder", "cross") for head in (1, 2, 3, 4)]
    assert [name for kind, name in names if kind == "head"] == heads
    assert [name for kind, name in names if kind == "sublayer"] == [
        *("encoder 1 self_attention", "encoder 1 feed_forward"),
        *("decoder 1 self_attention", "decoder 1 cross_attention", "decoder 1 feed_forward"),
    ]
    assert [name for kind, name in names if kind == "layer"] == ["encoder 1", "decoder 1"]


def test_losses_are_those_of_translating_without_the_part(trained: TrainedModel, model: Transformer) -> None:
    sources = trained.tokenizer.encode([src for src, _ in PAIRS])
    told: list[str] = []
    found = ablate(model, sources, [[tgt] for _, tgt in PAIRS], trained.tokenizer, trained.config, told.append)
    bleu, chrf = bleu_and_chrf(trained, model)
    assert [found.bleu, found.chrf] == pytest.approx([bleu, chrf])
    assert found.n_sentences == 12
    assert bleu > 90
    with without_head(model.decoder.layers[0].cross_attention, 2):
        without = bleu_and_chrf(trained, model)
    loss = found.of("head")["cross 1.3"]
    assert [loss.bleu, loss.chrf] == pytest.approx([bleu - without[0], chrf - without[1]])
    with without_layer(model.encoder.layers[0]):
        without = bleu_and_chrf(trained, model)
    loss = found.of("layer")["encoder 1"]
    assert [loss.bleu, loss.chrf] == pytest.approx([bleu - without[0], chrf - without[1]])
    everything = found.of("sublayer")["decoder 1 cross_attention"]  # the target without its source
    assert everything.bleu > 80
    assert everything.bleu_low <= everything.bleu <= everything.bleu_high
    assert told[0] == "ablation: 0%" and told[-1] == "ablation: scoring"
    assert bleu_and_chrf(trained, model) == (bleu, chrf)  # all is on again
