"""Scores and weights against numbers worked out by hand, and what the introductions to attention say of them.

The example is "baseball bat" with the axes sports, animal and other: Q = K = V = [[2, 0, 0], [1, 1, 0]].
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model.attention import Attend
from seq2seq.model.variants.choice import heads
from seq2seq.model.variants.scores import AddedScores, Explicit, hard, soft

BASEBALL_BAT = torch.tensor([[2.0, 0, 0], [1, 1, 0]])
NOTHING_HIDDEN = torch.zeros(1, 1)


def close(actual: Tensor, expected: list[list[float]], within: float = 1e-4) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float32), atol=within, rtol=0)


def weights_of(head: Attend, q: Tensor, k: Tensor) -> Tensor:
    """(..., T, S)"""
    recorded: list[Tensor] = []
    head(q, k, k, NOTHING_HIDDEN, 0.0, weights=recorded)
    return recorded[0]


def on_the_example(**keys: Any) -> tuple[Tensor, Tensor]:
    """Outputs (T, K) and weights (T, S) of one head of three numbers."""
    head = heads(ModelConfig(d_model=3, n_heads=1, **keys))
    if isinstance(head, Explicit) and isinstance(head.scores, AddedScores):
        head.scores.u.data.fill_(1.0)
    x = BASEBALL_BAT[None]
    outputs, weights = head(x, x, x, NOTHING_HIDDEN, 0.0), weights_of(head, x, x)
    torch.testing.assert_close(weights @ x, outputs)
    return outputs[0].detach(), weights[0].detach()


def test_the_bat_is_pulled_towards_sports() -> None:
    outputs, weights = on_the_example()
    close(weights, [[0.7604, 0.2396], [0.5, 0.5]])
    close(outputs, [[1.7604, 0.2396, 0], [1.5, 0.5, 0]])
    entropy_bits = -(weights[0] * weights[0].log2()).sum()
    assert entropy_bits.item() == pytest.approx(0.794, abs=1e-3)


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


def test_additive_scores_begin_about_as_large_as_scaled_products() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 4, 200, 64)
    assert 0.3 < AddedScores(4, 64, 1.0)(q, k).std() < 1.2
