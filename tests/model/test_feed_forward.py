import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.model.layers import FeedForward, SwiGLU


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
