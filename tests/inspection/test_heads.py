"""Heads on real text: alignments against counting by hand, and figures that batches do not change."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seq2seq.analysis.alignment import word_alignment, words_of_pieces
from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.dataset.batches import collate
from seq2seq.inspection.head_figures import FIGURES
from seq2seq.inspection.head_study import HeadRequest, study_heads
from seq2seq.inspection.heads import AlignedHeads, look_at_heads, readable
from seq2seq.inspection.link_scores import Reference
from seq2seq.model.transformer import Transformer
from seq2seq.vocabulary import BOS, EOS
from tests.translating import sentences, write_run

PAIRS = sentences(9)
DIAGONAL = [Reference(*({(i, i) for i in range(len(src.split()))},) * 2) for src, _ in PAIRS]


@pytest.fixture(scope="module")
def trained(trained_run: Path) -> TrainedModel:
    return TrainedModel.read(trained_run)


@pytest.fixture(scope="module")
def model(trained: TrainedModel) -> Transformer:
    return trained.build().eval()


def looked_at(
    trained: TrainedModel, model: Transformer, tag: Sequence[int] = (), batch_tokens: int = 2048
) -> tuple[dict[str, dict[str, np.ndarray]], AlignedHeads]:
    return look_at_heads(model, trained.tokenizer, PAIRS, tag, DIAGONAL, batch_tokens)


def count_right(trained: TrainedModel, model: Transformer, head: int, tag: Sequence[int] = ()) -> tuple[int, int]:
    """How many links a head proposes, and how many of them are on the diagonal, pair by pair."""
    n_links = n_right = 0
    for src, tgt in PAIRS:
        src_ids, tgt_ids = trained.tokenizer.encode([src, tgt])
        batch = collate([[*tag, *src_ids]], [tgt_ids])
        with torch.inference_mode():
            weights = model.attention_weights(batch.src, batch.tgt_in).cross[0][0, head].numpy()
        words = [words_of_pieces(text, trained.tokenizer.offsets(text)) for text in (src, tgt)]
        links = word_alignment(weights[:-1, len(tag) : -1], *words)
        n_links += len(links)
        n_right += sum(i == j for i, j in links)
    return n_links, n_right


def test_links_of_a_head_are_the_words_that_it_looks_at_most(trained: TrainedModel, model: Transformer) -> None:
    _, found = looked_at(trained, model)
    n_links, n_right = count_right(trained, model, head=2)
    assert 0 < n_right < n_links
    assert found.precision[0, 2] == pytest.approx(n_right / n_links)
    assert found.error_rate[0, 2] == pytest.approx(1 - 2 * n_right / (2 * n_links))
    layer, head = found.best
    assert found.error_rate[layer, head] == found.error_rate.min()


def test_shares_of_the_ends_and_marks_are_those_of_their_columns(trained: TrainedModel, model: Transformer) -> None:
    figures, _ = looked_at(trained, model)
    ends = marks = rows = 0.0
    for src, tgt in PAIRS:
        src_ids, tgt_ids = trained.tokenizer.encode([src, tgt])
        batch = collate([src_ids], [tgt_ids])
        with torch.inference_mode():
            weights = model.attention_weights(batch.src, batch.tgt_in)
        decoder, pieces = weights.decoder[0][0, 1], trained.tokenizer.pieces(batch.tgt_in[0].tolist())
        rows += len(decoder)
        ends += decoder[:, [i in (BOS, EOS) for i in batch.tgt_in[0].tolist()]].sum().item()
        marks += decoder[:, [piece in (".", "▁.") for piece in pieces]].sum().item()
    assert figures["decoder"]["ends"][0, 1] == pytest.approx(ends / rows)
    assert marks > 0
    assert figures["decoder"]["punctuation"][0, 1] == pytest.approx(marks / rows)
    assert (figures["decoder"]["next"] == 0).all()


def test_the_size_of_batches_changes_nothing(trained: TrainedModel, model: Transformer) -> None:
    one_by_one, together = (looked_at(trained, model, batch_tokens=n) for n in (1, 2048))
    for kind, figures in together[0].items():
        for name, values in figures.items():
            np.testing.assert_allclose(values, one_by_one[0][kind][name], atol=1e-5)
    np.testing.assert_allclose(together[1].error_rate, one_by_one[1].error_rate, atol=1e-9)


def test_tags_are_ends_and_no_words(tagged_run: Path) -> None:
    trained = TrainedModel.read(tagged_run)
    model = trained.build().eval()
    tag = trained.tokenizer.tag("t")
    figures, found = looked_at(trained, model, tag)
    for head in range(4):
        n_links, n_right = count_right(trained, model, head, tag)
        assert found.precision[0, head] == pytest.approx(n_right / n_links)
    src_ids, tgt_ids = trained.tokenizer.encode(PAIRS[0])
    one, _ = look_at_heads(model, trained.tokenizer, PAIRS[:1], tag, DIAGONAL[:1])
    batch = collate([[*tag, *src_ids]], [tgt_ids])
    with torch.inference_mode():
        weights = model.attention_weights(batch.src, batch.tgt_in).encoder[0][0, 0]
    assert one["encoder"]["ends"][0, 0] == pytest.approx(weights[:, [0, -1]].sum(1).mean().item(), abs=1e-6)
    assert set(figures["encoder"]) == set(FIGURES)


def test_a_test_set_is_read_with_its_tag_and_other_text_with_the_one_that_is_asked_for(
    tagged_run: Path, tmp_path: Path
) -> None:
    files = tmp_path / "x.fr", tmp_path / "x.en"
    for file, lines in zip(files, zip(*PAIRS, strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines))
    model = read_checkpoint(tagged_run / "checkpoints/model.ckpt").model
    data = model.config["data"] | {"dir": str(tmp_path), "test": {"news": {"source": "x", "tag": "t"}}}
    run = write_run(tmp_path / "run", dataclasses.replace(model, config={**model.config, "data": data}))
    cases: list[dict[str, Any]] = [{}, {"tag": "t"}, {"files": files}, {"files": files, "tag": "t"}]
    shown = [
        study_heads(HeadRequest(model=run, **how), lambda _: None).figures["encoder"]["ends"][0, 0] for how in cases
    ]
    assert shown[0] == shown[1] == shown[3] != shown[2]


def test_pairs_that_cannot_be_read_are_left_out(trained: TrainedModel, model: Transformer) -> None:
    pairs = [("Ba.", "Bas."), ("", "Bas."), ("Ba.", " "), ("Ba. " * 40, "Bas."), ("Ba.", "Bas. " * 40), PAIRS[0]]
    assert readable(model, trained.tokenizer, pairs, 0) == [0, 5]
    n = len(trained.tokenizer.encode([PAIRS[0][0]])[0])
    assert readable(model, trained.tokenizer, [PAIRS[0]], model.config.max_length - 1 - n) == [0]
    assert readable(model, trained.tokenizer, [PAIRS[0]], model.config.max_length - n) == []
