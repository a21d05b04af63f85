"""Batches that do not fit into memory are done in halves: with the same gradient, and counted."""

import logging
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from seq2seq.dataset.batches import Batch, collate
from seq2seq.errors import RunError
from seq2seq.training.loss import Loss
from seq2seq.training.pieces import Pieces
from seq2seq.vocabulary import PAD
from tests.places import made_once
from tests.training.short_of_memory import large, needs_limits, script
from tests.training.test_module import make_module
from tests.training.tiny_runs import arguments, checkpoint, command, tiny_config, train_with, values_of, write_corpus
from tests.training.two_ranks import needs_gloo, train_together

NO_TRIAL = "fitting.WorstBatch.on_train_start = lambda *_: None"
BATCH = collate([[5, 6, 7], [8, 9], [10, 11, 12, 13, 14], [15], [16]], [[5], [6, 7], [8], [9, 10, 11, 12], [13]])


class Full(torch.autograd.Function):
    """Memory that runs out in the backward pass, when some parameters have got their gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")


def pieces_of(fitting: int, place: str) -> tuple[Pieces, nn.Module, list[int]]:
    """A model whose memory suffices for so many rows; and the rows of each attempt."""
    module, attempts = make_module(), []

    def loss_of(batch: Batch) -> Loss:
        attempts.append(len(batch.src))
        if len(batch.src) <= fitting:
            return module.loss(batch)
        if place == "forward":
            raise torch.OutOfMemoryError("CUDA out of memory")
        hidden = module.model.decode(batch.tgt_in, Full.apply(module.model.encode(batch.src)), batch.src)
        return Loss(hidden.sum(), *(torch.zeros(()) for _ in range(3)))

    return Pieces(loss_of, lambda smoothed: smoothed.backward(), module.model), module.model, attempts


def gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("place", ["forward", "backward"])
@pytest.mark.parametrize("fitting", [1, 2, 4])
def test_pieces_add_up_to_the_gradient_of_the_batch(place: str, fitting: int) -> None:
    whole, model, _ = pieces_of(5, place)
    expected = whole.add_gradient(BATCH)
    expected_gradients = [2 * g for g in gradients(model)]
    halved, model, attempts = pieces_of(fitting, place)
    halved.add_gradient(BATCH)
    found = halved.add_gradient(BATCH)  # adds to what the first one left
    torch.testing.assert_close(gradients(model), expected_gradients)
    torch.testing.assert_close([*found], [*expected])
    assert halved.n_halved == 2 * {1: 4, 2: 2, 4: 1}[fitting]
    assert attempts[: len(attempts) // 2] == {1: [5, 2, 1, 1, 3, 1, 2, 1, 1], 2: [5, 2, 3, 1, 2], 4: [5, 2, 3]}[fitting]


@pytest.mark.parametrize("fitting", [2, 5])
def test_what_is_left_for_the_exchange_completes_the_gradient(fitting: int) -> None:
    """Of a batch that fits, all of it; otherwise nothing, but each parameter takes part."""
    whole, model, _ = pieces_of(5, "forward")
    expected = whole.add_gradient(BATCH)
    expected_gradients = gradients(model)
    halved, model, attempts = pieces_of(fitting, "forward")
    loss = halved.loss_to_exchange(BATCH)
    taking_part = torch.autograd.grad(loss.smoothed, list(model.parameters()), retain_graph=True)
    assert all(bool(g.any()) == (fitting == 5) for g in taking_part if g.numel())
    loss.smoothed.backward()
    torch.testing.assert_close(gradients(model), expected_gradients)
    torch.testing.assert_close([*loss], [*expected])
    attempts.clear()
    halved.loss_to_exchange(BATCH)
    assert attempts == {2: [5, 2, 3, 1, 2], 5: [5]}[fitting]


def test_a_piece_has_no_more_columns_than_it_needs() -> None:
    seen: list[Batch] = []
    pieces, _, attempts = pieces_of(3, "forward")
    loss_of = pieces.loss_of
    pieces.loss_of = lambda batch: (seen.append(batch), loss_of(batch))[1]  # type: ignore[func-returns-value]
    pieces.add_gradient(BATCH)
    assert attempts == [5, 2, 3]
    assert [(*each.src.shape, each.tgt_in.size(1), each.n_tgt_tokens) for each in seen[1:]] == [
        (2, 4, 3, 5),
        (3, 6, 5, 9),
    ]
    assert all((each.tgt_out != PAD).sum() == each.n_tgt_tokens for each in seen)


def test_other_errors_and_a_single_pair_that_is_too_large_end_it() -> None:
    pieces, model, _ = pieces_of(0, "forward")
    with pytest.raises(RunError, match=r"^a single pair of 4 source and 2 target tokens needs"):
        pieces.add_gradient(BATCH)
    pieces.backward = lambda _: model.no_such_layer  # type: ignore[assignment]
    pieces.loss_of = pieces_of(5, "forward")[0].loss_of
    with pytest.raises(AttributeError):
        pieces.add_gradient(BATCH)


def test_halving_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    pieces, _, _ = pieces_of(4, "forward")
    for _ in range(9):
        pieces.add_gradient(BATCH)
    told = [record.message.rpartition(": ")[2] for record in caplog.records if record.levelno == logging.WARNING]
    assert told == ["1", "2", "4", "8"]


class RunsOut(pl.Callback):
    def on_train_batch_end(self, *_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def test_memory_that_runs_out_elsewhere_ends_the_run_with_a_sentence(corpus: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with pytest.raises(
        RunError, match=r"^memory ran out .CUDA out of memory.*; end other programs, or start a new run"
    ):
        train_with(tiny_config(corpus, run_dir), RunsOut())


# The larger epsilon lets Adam follow the gradient, where it is small, instead of its sign alone.
SAME = large(model__dropout=0.0, optim__eps=1e-3, trainer__max_steps=1)
NO_TEST = {"data.test": "null"}

# Only the second rank runs out of memory: it asks for more than any machine has.
POOR_RANK = """
import torch
from seq2seq.training.fitting import WorstBatch
from seq2seq.training.module import TranslationModule

WorstBatch.on_train_start = lambda *_: None
loss_of = TranslationModule.loss

def loss(self, batch):
    if rank == 1 and len(batch.src) > 20:
        torch.empty(1 << 60)
    return loss_of(self, batch)

TranslationModule.loss = loss
"""


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a run that had enough memory. A step has all pairs, however many ranks share them."""

    def make(folder: Path) -> None:
        train_with(
            tiny_config(write_corpus(folder / "corpus", n_train=200), folder / "run", SAME | {"data.test": None})
        )

    return made_once(tmp_path_factory, "rich", make)


def assert_same_weights(run_dir: Path, rich: Path) -> None:
    found, expected = checkpoint(run_dir), checkpoint(rich / "run")
    for key, weight in expected["state_dict"].items():
        torch.testing.assert_close(found["state_dict"][key], weight, rtol=1e-3, atol=1e-5)


@pytest.mark.nightly
@needs_limits
def test_a_run_short_of_memory_learns_what_it_would_have_learned(rich: Path, tmp_path: Path) -> None:
    train = script(tmp_path, memory=420, patch=NO_TRIAL, only="0")
    done = command(*arguments(rich / "corpus", tmp_path / "run", SAME | NO_TEST), script=train)
    assert done.returncode == 0, done.stderr
    assert "memory ran out for a batch of" in done.stderr
    assert_same_weights(tmp_path / "run", rich)
    losses, expected = (values_of(folder / "run", "train/loss") for folder in (tmp_path, rich))
    assert losses == pytest.approx(expected, rel=1e-4)
    halved, none = (values_of(folder / "run", "train/halved_batches") for folder in (tmp_path, rich))
    assert halved[1] >= 2 and checkpoint(tmp_path / "run")["halved_batches"] == halved[1]
    assert not none


@needs_gloo
def test_a_rank_short_of_memory_still_exchanges_gradients_once_a_step(rich: Path, tmp_path: Path) -> None:
    keys = SAME | NO_TEST | {"trainer.devices": 2, "trainer.strategy": "ddp"}
    done = train_together(tmp_path, *arguments(rich / "corpus", tmp_path / "run", keys), before=POOR_RANK)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("memory ran out for a batch of") >= 1
    assert_same_weights(tmp_path / "run", rich)
