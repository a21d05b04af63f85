"""Scores and weights against numbers worked out by hand, and what the introductions to attention say of them.

The example is "baseball bat" with the axes sports, animal and other: Q = K = V = [[2, 0, 0], [1, 1, 0]].
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.attention import Attend
from seq2seq.model.variants.choice import heads
from seq2seq.model.variants.scores import AddedScores, Explicit, MultipliedScores, hard, soft

BASEBALL_BAT = torch.tensor([[2.0, 0, 0], [1, 1, 0]])
NOTHING_HIDDEN = torch.zeros(1, 1)


def close(actual: Tensor, expected: list[list[float]], within: float = 1e-4) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float32), atol=within, rtol=0)


def weights_of(head: Attend, q: Tensor, k: Tensor, mask: Tensor = NOTHING_HIDDEN) -> Tensor:
    """(..., T, S)"""
    recorded: list[Tensor] = []
    head(q, k, k, mask, 0.0, weights=recorded)
    return recorded[0]


def on_the_example(mask: Tensor = NOTHING_HIDDEN, **keys: Any) -> tuple[Tensor, Tensor]:
    """Outputs (T, K) and weights (T, S) of one head of three numbers."""
    head = heads(ModelConfig(d_model=3, n_heads=1, **keys))
    if isinstance(head, Explicit) and isinstance(head.scores, AddedScores):
        head.scores.u.data.fill_(1.0)
    x = BASEBALL_BAT[None]
    outputs, weights = head(x, x, x, mask, 0.0), weights_of(head, x, x, mask)
    torch.testing.assert_close(weights @ x, outputs)
    return outputs[0].detach(), weights[0].detach()


def test_scores_of_the_example() -> None:
    x = BASEBALL_BAT
    close(MultipliedScores(1.0)(x, x), [[4, 2], [2, 2]])
    close(MultipliedScores(1 / math.sqrt(3))(x, x), [[2.3094, 1.1547], [1.1547, 1.1547]])
    added = AddedScores(n_heads=1, d_head=3, beta=1.0)
    added.u.data.fill_(1.0)
    close(added(x[None], x[None])[0].detach(), [[0.9993, 1.7566], [1.7566, 1.9281]])


def test_the_bat_is_pulled_towards_sports() -> None:
    outputs, weights = on_the_example()
    close(weights, [[0.7604, 0.2396], [0.5, 0.5]])
    close(outputs, [[1.7604, 0.2396, 0], [1.5, 0.5, 0]])
    entropy_bits = -(weights[0] * weights[0].log2()).sum()
    assert entropy_bits.item() == pytest.approx(0.794, abs=1e-3)


def test_with_a_causal_mask_the_baseball_sees_itself_alone() -> None:
    outputs, weights = on_the_example(masks.additive(masks.causal(2, torch.device("cpu"))))
    close(weights, [[1, 0], [0.5, 0.5]])
    close(outputs, [[2, 0, 0], [1.5, 0.5, 0]])


def test_unscaled_scores_make_the_larger_weight_larger() -> None:
    outputs, weights = on_the_example(attention="unscaled")
    close(weights, [[0.8808, 0.1192], [0.5, 0.5]])
    close(outputs, [[1.8808, 0.1192, 0], [1.5, 0.5, 0]])


def test_additive_scores_find_the_bat_more_alike() -> None:
    outputs, weights = on_the_example(attention="additive")
    close(weights, [[0.3192, 0.6808], [0.4573, 0.5427]])
    close(outputs, [[1.3192, 0.6808, 0], [1.4573, 0.5427, 0]])


@pytest.mark.parametrize("attention", ["scaled", "unscaled"])
def test_hard_attention_takes_one_value_and_the_first_of_equals(attention: str) -> None:
    outputs, weights = on_the_example(attention=attention, hard_attention=True)
    close(weights, [[1, 0], [1, 0]], within=0)
    close(outputs, [[2, 0, 0], [2, 0, 0]], within=0)


@pytest.mark.parametrize(
    ("beta", "first_row"),
    [(0.0, 0.5), (0.1, 0.5498), (1 / math.sqrt(3), 0.7604), (1.0, 0.8808), (5.0, 1.0)],
)
def test_beta_goes_from_equal_weights_to_hard_ones(beta: float, first_row: float) -> None:
    temperature = 1 / beta if beta else math.inf
    outputs, weights = on_the_example(attention="unscaled", temperature=temperature)
    close(weights, [[first_row, 1 - first_row], [0.5, 0.5]])
    close(outputs, [[1 + first_row, 1 - first_row, 0], [1.5, 0.5, 0]])


def test_a_temperature_divides_scores_of_every_kind() -> None:
    q, k = torch.randn(2, 1, 5, 4)
    for attention in ("scaled", "unscaled", "additive"):
        warm = heads(ModelConfig(d_model=4, n_heads=1, attention=attention, temperature=2.5))
        plain = heads(ModelConfig(d_model=4, n_heads=1, attention=attention))
        if isinstance(warm, Explicit) and isinstance(plain, Explicit):
            warm.load_state_dict(plain.state_dict())
        logs = [weights_of(head, q, k).log() for head in (warm, plain)]
        differences = [row - row[..., :1] for row in logs]  # without what softmax divides by
        torch.testing.assert_close(differences[0] * 2.5, differences[1], atol=1e-4, rtol=1e-4)


def test_hard_weights_have_the_gradient_of_soft_ones() -> None:
    torch.manual_seed(0)
    scores, values = torch.randn(5, 7, requires_grad=True), torch.randn(5, 7)
    gradients = [torch.autograd.grad((weigh(scores) * values).sum(), scores)[0] for weigh in (hard, soft)]
    assert gradients[0].abs().max() > 0.01
    torch.testing.assert_close(*gradients)
    assert torch.equal(hard(scores), hard(scores.detach()))
    assert torch.equal(hard(scores).detach(), torch.nn.functional.one_hot(scores.argmax(-1), 7).float())


def test_additive_scores_are_those_of_bahdanau_with_the_projections_as_matrices() -> None:
    torch.manual_seed(0)
    scores = AddedScores(n_heads=3, d_head=4, beta=0.7)
    q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)
    expected = torch.stack(
        [
            torch.stack([sum(u * torch.tanh(x + y) for u, x, y in zip(head, a, b, strict=True)) for b in keys])
            for head, queries, keys in ((scores.u.view(3, 4)[h], q[n, h], k[n, h]) for n in range(2) for h in range(3))
            for a in queries
        ]
    ).view(2, 3, 5, 7)
    torch.testing.assert_close(scores(q, k), 0.7 * expected)


def test_additive_scores_begin_about_as_large_as_scaled_products() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 4, 200, 64)
    assert 0.3 < AddedScores(4, 64, 1.0)(q, k).std() < 1.2
