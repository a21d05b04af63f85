"""The exponential average of the weights of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from torch import nn

from seq2seq.training.module import TranslationModule
from seq2seq.training.sharded import Weights, split_as, whole


class ExponentialAverage(pl.Callback):
    """ema <- d * ema + (1 - d) * weights after each optimizer step, in float32.

    d rises from 0.1 to `decay` as (1 + n) / (10 + n), so that the random start is soon forgotten.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.n_updates = 0
        self.weights: Weights = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        own = {name: p.detach() for name, p in _model(pl_module).named_parameters()}
        if not self.weights:
            self.weights = {name: p.clone().float() for name, p in own.items()}
        if {name: w.shape for name, w in self.weights.items()} != {name: p.shape for name, p in own.items()}:
            raise ValueError("the average is of other weights")
        self.weights = {name: split_as(w.to(pl_module.device), own[name]) for name, w in self.weights.items()}

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        self.n_updates = pl_module.n_steps
        decay = min(self.decay, (1 + self.n_updates) / (10 + self.n_updates))
        current = [p.detach().float() for p in _model(pl_module).parameters()]
        torch._foreach_lerp_(list(self.weights.values()), current, 1 - decay)

    @contextmanager
    def in_place_of_weights(self, model: nn.Module) -> Iterator[None]:
        """Inside the block, `model` has the averaged weights; after it, its own again."""
        own = {name: p.detach().clone() for name, p in model.named_parameters()}
        model.load_state_dict(self.weights, strict=False)  # buffers are no weights
        try:
            yield
        finally:
            model.load_state_dict(own, strict=False)

    def go_back(self, weights: Weights) -> None:
        """Have the average that it had at an earlier step. The number of updates follows the steps, which go on."""
        own = {name: weights[name].detach().to(w.device, torch.float32, copy=True) for name, w in self.weights.items()}
        self.weights = {name: split_as(own[name], w) for name, w in self.weights.items()}

    def whole_weights(self) -> Weights:
        """If they are split, all processes have to ask for them."""
        return {name: whole(w) for name, w in self.weights.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.whole_weights(), "n_updates": self.n_updates}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.weights, self.n_updates = dict(state_dict["weights"]), int(state_dict["n_updates"])


def _model(module: pl.LightningModule) -> nn.Module:
    assert isinstance(module.model, nn.Module)
    return module.model
