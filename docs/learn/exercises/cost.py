"""Time a layer of self-attention and a recurrent one over the length of their input, on one core:  a few seconds"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attention import SelfAttention

torch.set_num_threads(1)
D_MODEL, N_HEADS = 128, 4
attention = SelfAttention(ModelConfig(d_model=D_MODEL, n_heads=N_HEADS)).eval()
recurrent = nn.LSTM(D_MODEL, D_MODEL, batch_first=True)


def attend(x: Tensor) -> None:
    n = x.size(1)
    attention(x, torch.zeros(n, n), weights=[])  # all of them in memory


def milliseconds(layer: Callable[[Tensor], object], n: int) -> float:
    """The quickest of several tries."""
    x = torch.randn(1, n, D_MODEL)
    times = []
    for _ in range(5):
        began = time.process_time()
        with torch.no_grad():
            layer(x)
        times.append(time.process_time() - began)
    return 1000 * min(times)


milliseconds(attend, 256)  # to warm up
print("tokens    weights    MB of weights       ms    ms of an LSTM")
for n in (256, 512, 1024, 2048):
    n_weights = N_HEADS * n * n
    ms, lstm_ms = milliseconds(attend, n), milliseconds(recurrent, n)
    print(f"{n:6} {n_weights:10,} {n_weights * 4 / 1e6:16.1f} {ms:8.1f} {lstm_ms:16.1f}")
