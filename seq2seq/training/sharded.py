"""Weights, gradients and the optimizer's state split over the processes of a run, and whole again where that is needed.

PyTorch calls it fully sharded data parallelism (FSDP2; Zhao et al. 2023). A process keeps some rows of each parameter.
The rows of a layer are put together before it is used, and its gradients are summed and split after that. What is saved
is whole, so a checkpoint does not know how many processes have written it, and any number of them can go on from it.
"""

import copy
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import DDPStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from seq2seq.model.transformer import Transformer

Weights = dict[str, Tensor]


def whole(tensor: Tensor) -> Tensor:
    """All rows of a tensor. If it is split, all processes have to ask for it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def split_as(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's rows of a whole tensor that all processes have; the tensor itself if `like` is not split."""
    if not isinstance(like, DTensor) or isinstance(tensor, DTensor):
        return tensor
    mesh, placements = like.device_mesh, like.placements
    return distribute_tensor(tensor.to(like.device), mesh, placements, src_data_rank=None)


def whole_weights(model: nn.Module) -> Weights:
    """The state of a model, whole. If it is split, all processes have to ask for it."""
    return {name: whole(weight) for name, weight in model.state_dict().items()}


class Sharded(DDPStrategy):
    """For Lightning's Trainer. Where DDP would wrap the model, this splits it."""

    def configure_ddp(self) -> None:
        assert self.lightning_module is not None
        model = self.lightning_module.model
        assert isinstance(model, Transformer)
        self._skeleton = _without_weights(model)
        _split(model, self.root_device.type, self.world_size)

    def whole_model(self, weights: Mapping[str, Tensor] | None = None) -> Transformer:
        """A model of its own that is not split. All processes have to ask for it.

        In a search, each process takes as many steps as its own sentences need, so none may wait for the others.

        Args:
            weights: whole ones in place of its own.
        """
        assert self.lightning_module is not None
        model = copy.deepcopy(self._skeleton)
        split = self.lightning_module.model
        assert isinstance(split, Transformer)
        own = {name: weight.detach() for name, weight in whole_weights(split).items()}
        model.load_state_dict(own | dict(weights or {}), assign=True)
        return model

    def put_together(self, module: pl.LightningModule, ema: Any) -> None:
        """Make the model whole for good, and the average of its weights. All processes have to ask for it."""
        if ema is not None:
            ema.weights = ema.whole_weights()
        module.model = self.whole_model()

    # --- what is saved and loaded is whole ---

    def lightning_module_state_dict(self) -> dict[str, Any]:
        return {name: self._kept(weight) for name, weight in super().lightning_module_state_dict().items()}

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        content = optimizer.state_dict()
        state = {
            number: {name: self._kept(value) if isinstance(value, Tensor) else value for name, value in of_one.items()}
            for number, of_one in content["state"].items()
        }
        return content | {"state": state}

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        assert self.lightning_module is not None
        own = self.lightning_module.state_dict()
        weights = {name: split_as(weight, own[name]) for name, weight in checkpoint["state_dict"].items()}
        self.lightning_module.load_state_dict(weights, strict)

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        for optimizer, content in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            state = {
                number: {
                    name: split_as(value, parameters[number]) if value.shape == parameters[number].shape else value
                    for name, value in of_one.items()
                }
                for number, of_one in content["state"].items()
            }
            optimizer.load_state_dict(content | {"state": state})

    def _kept(self, tensor: Tensor) -> Tensor:
        """The whole tensor in the process that writes it; nothing in the others."""
        found = whole(tensor)
        return found.cpu() if self.is_global_zero else found.new_empty(0)


def split_by(trainer: pl.Trainer) -> Sharded | None:
    """What has split the model of this Trainer; None if it is whole."""
    return trainer.strategy if isinstance(trainer.strategy, Sharded) else None


def _split(model: Transformer, device: str, n: int) -> None:
    """Split each layer as one unit, and what is left of the model (embeddings, last norms) as another."""
    mesh = init_device_mesh(device, (n,))
    # The decoder asks for keys and values before it calls a layer (`CrossAttention.keys_values`).
    across = [layer.cross_attention for layer in model.decoder.layers]
    keys_values = [linear for attention in across for linear in (attention.to_k, attention.to_v)]
    for unit in (*model.encoder.layers, *keys_values, *model.decoder.layers, model):
        fully_shard(unit, mesh=mesh)
    for method in ("encode", "decode"):  # training calls these, not `forward`
        register_fsdp_forward_method(model, method)


def _without_weights(model: Transformer) -> Transformer:
    """A copy that takes no memory for weights until it gets some. It keeps what is no weight, such as positions."""
    shapes = {id(p): nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in model.parameters()}
    return copy.deepcopy(model, memo=dict(shapes))  # so that no weight is copied
