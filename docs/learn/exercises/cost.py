"""Time one layer of self-attention over the length of its input, on one core:  a few seconds"""

import time

import torch

from seq2seq.config import ModelConfig
from seq2seq.model.attention import SelfAttention
from seq2seq.model.recording import recorded_weights

torch.set_num_threads(1)
D_MODEL, N_HEADS = 128, 4
attention = SelfAttention(ModelConfig(d_model=D_MODEL, n_heads=N_HEADS)).eval()


def milliseconds(n: int) -> float:
    """The quickest of several tries, with all weights in memory."""
    x, mask = torch.randn(1, n, D_MODEL), torch.zeros(n, n)
    times = []
    for _ in range(5):
        began = time.process_time()
        with torch.no_grad(), recorded_weights():  # takes the explicit path
            attention(x, mask)
        times.append(time.process_time() - began)
    return 1000 * min(times)


milliseconds(256)  # to warm up
print("tokens    weights    MB of weights       ms")
for n in (256, 512, 1024, 2048):
    n_weights = N_HEADS * n * n
    print(f"{n:6} {n_weights:10,} {n_weights * 4 / 1e6:16.1f} {milliseconds(n):8.1f}")
