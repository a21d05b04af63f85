import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.model.layers import FeedForward, SwiGLU


def test_relu_network_is_equation_2() -> None:
    torch.manual_seed(0)
    network, x = FeedForward(12, 20, "relu", dropout=0.0), torch.randn(5, 7, 12)
    torch.nn.init.normal_(network.to_hidden.bias)
    w1, b1, w2, b2 = network.parameters()
    torch.testing.assert_close(network(x), (x @ w1.T + b1).clamp(min=0) @ w2.T + b2)


def test_gelu_is_the_exact_one() -> None:
    torch.manual_seed(0)
    network, x = FeedForward(12, 20, "gelu", dropout=0.0), torch.randn(5, 7, 12)
    hidden: Tensor = network.to_hidden(x)
    normal_cdf = 0.5 * (1 + torch.erf(hidden / 2**0.5))
    torch.testing.assert_close(network(x), network.to_out(hidden * normal_cdf))


def test_swish_is_x_times_its_sigmoid() -> None:
    torch.manual_seed(0)
    network, x = FeedForward(12, 20, "swish", dropout=0.0), torch.randn(5, 7, 12)
    hidden: Tensor = network.to_hidden(x)
    torch.testing.assert_close(network(x), network.to_out(hidden * torch.sigmoid(hidden)))


def test_swiglu_gates_values_by_swish() -> None:
    torch.manual_seed(0)
    network, x = SwiGLU(12, 20, dropout=0.0), torch.randn(5, 7, 12)
    gate, value = network.to_gate.weight, network.to_value.weight
    hidden = (x @ gate.T) * torch.sigmoid(x @ gate.T) * (x @ value.T)
    torch.testing.assert_close(network(x), F.linear(hidden, network.to_out.weight))


@pytest.mark.parametrize("network", [FeedForward(12, 20, "relu", dropout=0.5), SwiGLU(12, 20, dropout=0.5)])
def test_hidden_units_are_dropped_while_training_only(network: torch.nn.Module) -> None:
    x = torch.randn(5, 7, 12)
    assert not torch.equal(network(x), network(x))
    network.eval()
    assert torch.equal(network(x), network(x))
