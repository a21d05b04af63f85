"""How large the weights, their gradients and their updates are in each part of the model."""

from collections.abc import Iterable

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from seq2seq.training.callbacks.counters import Counters
from seq2seq.training.module import TranslationModule
from seq2seq.training.sharded import whole

STEPS_BETWEEN = 100  # a step that is measured takes a copy of the weights, and makes the host wait for a GPU

# What the name of a parameter contains, from the first that fits: `encoder.layers.0.self_attention.to_q.weight`.
_KINDS = {
    "norm": "norms",
    "self_attention": "self_attention",
    "cross_attention": "cross_attention",
    "feed_forward": "feed_forward",
}


def part_of(name: str) -> str:
    """The part of the model that a parameter belongs to, such as `decoder_cross_attention`."""
    half = name.split(".")[0]
    kind = next((kind for word, kind in _KINDS.items() if word in name), "")
    return f"{half}_{kind}" if kind else half


class Norms(pl.Callback):
    """Logs Euclidean norms of each part at every 100th step: its weights, their gradient, and what the step changed.

    The gradient is that of all ranks, before it is clipped. An update that is 0.001 of its weights is usual; one of 0.1
    is a learning rate that is too high. The copy of the weights lives from the end of the backward pass to the end of
    the step, when the memory of the activations is free.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.before: list[Tensor] = []
        self.gradients: dict[str, Tensor] = {}

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if pl_module.n_steps % STEPS_BETWEEN == 0:
            names, weights = _weights(pl_module)
            self.before = [weight.detach().clone() for weight in weights]
            self.gradients = _norms_of_parts(
                names, (torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights)
            )

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TranslationModule)
        if not self.before:
            return
        names, weights = _weights(pl_module)
        updates = torch._foreach_sub([weight.detach() for weight in weights], self.before)
        self.before = []
        found = {
            "weight_norm": _norms_of_parts(names, weights),
            "grad_norm": self.gradients,
            "update_norm": _norms_of_parts(names, updates),
        }
        values = torch.stack([norm for norms in found.values() for norm in norms.values()]).tolist()
        keys = [f"{kind}/{part}" for kind, norms in found.items() for part in norms]
        self.counters.log_row(pl_module, dict(zip(keys, values, strict=True)))


def _weights(module: TranslationModule) -> tuple[list[str], list[nn.Parameter]]:
    names, weights = zip(*module.model.named_parameters(), strict=True)
    return list(names), list(weights)


@torch.no_grad()
def _norms_of_parts(names: list[str], tensors: Iterable[Tensor]) -> dict[str, Tensor]:
    norms: dict[str, list[Tensor]] = {}
    for name, norm in zip(names, torch._foreach_norm(list(tensors)), strict=True):
        norms.setdefault(part_of(name), []).append(whole(norm).float())
    return {part: torch.stack(found).norm() for part, found in norms.items()}
