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

    def forward(self, x):
        x = self.square(self.norm(x)) * 2 + x
        return self.wide(self.one(x).relu() * self.other(x)) @ self.table.T


INPUTS = torch.randn(6, 5, 8, generator=torch.Generator().manual_seed(1))  # one (5, 8) for each step


def make_optimizer(model, weight_decay=DECAY):
    matrices, others = parameters_of(model)
    groups = [{"params": weights, "momentum": MOMENTUM, "weight_decay": weight_decay} for weights in matrices]
    return MuonWithAdamW([*groups, {"params": others}], lr=LR, fused=True, weight_decay=0.0)


def train(model, optimizer, inputs=INPUTS):
    for x in inputs:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def test_steps_are_those_of_torch():
    torch.manual_seed(0)
    model = Layers()
    plain = copy.deepcopy(model)
    matrices = [plain.square.weight, plain.one.weight, plain.other.weight, plain.wide.weight]
    theirs = torch.optim.Muon(matrices, lr=LR, momentum=MOMENTUM, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw")
    rest = [plain.table, plain.one.bias, plain.other.bias, *plain.norm.parameters()]
    adamw = torch.optim.AdamW(rest, lr=LR, weight_decay=0.0)
    ours = make_optimizer(model)
    for _ in range(6):
        for p, q in zip(model.parameters(), plain.parameters(), strict=True):
            p.grad = q.grad = torch.randn_like(p)
        for optimizer in (ours, theirs, adamw):
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


def test_its_state_continues_bit_by_bit():
    torch.manual_seed(0)
    whole = Layers()
    part = copy.deepcopy(whole)
    train(whole, make_optimizer(whole))

    optimizer = make_optimizer(part)
    train(part, optimizer, INPUTS[:3])
    rest = copy.deepcopy(part)
    continued = make_optimizer(rest)
    continued.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    train(rest, continued, INPUTS[3:])
    for weight, expected in zip(rest.parameters(), whole.parameters(), strict=True):
        assert torch.equal(weight, expected)


def test_a_schedule_moves_the_rate_of_all():
    model = Layers()
    optimizer = make_optimizer(model, weight_decay=0.0)
    optimizer.load_state_dict(optimizer.state_dict())  # as when a run is resumed
    before = copy.deepcopy(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.0)
    train(model, optimizer, INPUTS[:1])
    assert schedule.get_last_lr() == [0.0] * len(optimizer.param_groups)
    for p, q in zip(model.parameters(), before.parameters(), strict=True):
        assert torch.equal(p, q)


def test_frozen_weights_are_left_out():
    model = Layers()
    model.one.requires_grad_(False)
    model.table.requires_grad_(False)
    matrices, others = parameters_of(model)
    trained = {p for weights in matrices for p in weights} | set(others)
    assert trained == set(model.parameters()) - {model.one.weight, model.one.bias, model.table}
