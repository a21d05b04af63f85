"""Muon against torch's own, which takes one matrix at a time."""

import copy

import pytest
import torch
from torch import nn

from seq2seq.config import ModelConfig
from seq2seq.model.transformer import Transformer
from seq2seq.training.optimizer import MuonWithAdamW, orthogonal, parameters_of

LR, MOMENTUM, DECAY = 0.02, 0.9, 0.3


class Layers(nn.Module):
    """Matrices of all kinds: wide, tall, square, two of one shape; and what is left to AdamW."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(11, 8))
        self.square = nn.Linear(8, 8, bias=False)
        self.one, self.other = nn.Linear(8, 20), nn.Linear(8, 20)
        self.wide = nn.Linear(20, 8, bias=False)
        self.norm = nn.LayerNorm(8)


def test_steps_are_those_of_torch():
    """With a rate that falls, as a schedule has it."""
    torch.manual_seed(0)
    model = Layers()
    plain = copy.deepcopy(model)
    matrices = [plain.square.weight, plain.one.weight, plain.other.weight, plain.wide.weight]
    theirs = torch.optim.Muon(matrices, lr=LR, momentum=MOMENTUM, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw")
    rest = [plain.table, plain.one.bias, plain.other.bias, *plain.norm.parameters()]
    adamw = torch.optim.AdamW(rest, lr=LR, weight_decay=0.0)
    by_shape, others = parameters_of(model)
    groups = [{"params": weights, "momentum": MOMENTUM, "weight_decay": DECAY} for weights in by_shape]
    ours = MuonWithAdamW([*groups, {"params": others}], lr=LR, fused=True, weight_decay=0.0)
    for n in range(1, 7):
        for p, q in zip(model.parameters(), plain.parameters(), strict=True):
            p.grad = q.grad = torch.randn_like(p)
        for optimizer in (ours, theirs, adamw):
            for group in optimizer.param_groups:
                group["lr"] = LR / n
            optimizer.step()
    for weight, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(weight, expected, rtol=0, atol=LR / 50)  # bf16 products, summed in another order


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 40, 12), (2, 12, 40)])
def test_steps_have_all_directions_of_the_gradient_at_one_length(shape):
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    matrices[0] *= 1e-4
    u, s, v = torch.linalg.svd(matrices, full_matrices=False)
    found = u.mT @ orthogonal(matrices) @ v.mT
    lengths = found.diagonal(dim1=1, dim2=2)
    is_clear = s > 0.02 * s.amax(1, keepdim=True)  # what is weaker takes more rounds
    assert is_clear.float().mean() > 0.9
    assert lengths[is_clear].min() > 0.65 and lengths.max() < 1.25
    assert (found - lengths.diag_embed()).abs().max() < 1e-3


def test_a_gradient_of_zero_moves_nothing():
    assert not orthogonal(torch.zeros(2, 5, 3)).any()


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_every_linear_layer_of_the_transformer_is_meant_and_nothing_else(activation):
    model = Transformer(ModelConfig(d_model=8, n_heads=2, d_ff=16, activation=activation), vocab_size=50)
    names: dict[torch.Tensor, str] = {p: name for name, p in model.named_parameters()}
    matrices, others = parameters_of(model)
    found = [names[p] for weights in matrices for p in weights]
    assert sorted(found) == sorted(name for p, name in names.items() if p.dim() == 2 and "embeddings" not in name)
    assert sorted(names[p] for p in others) == sorted(set(names.values()) - set(found))
    assert all(len({p.shape for p in weights}) == 1 for weights in matrices)


def test_frozen_weights_are_left_out():
    model = Layers()
    model.one.requires_grad_(False)
    model.table.requires_grad_(False)
    matrices, others = parameters_of(model)
    trained = {p for weights in matrices for p in weights} | set(others)
    assert trained == set(model.parameters()) - {model.one.weight, model.one.bias, model.table}
