"""Remember the first word until the end, with a recurrent network and with attention:  half a minute"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.encoder import Encoder
from seq2seq.model.positions import SinusoidalPositions

torch.set_num_threads(1)
N_WORDS, WIDTH, LONGEST = 8, 32, 100


class Recurrent(nn.Module):
    """A layer that goes from word to word, with a memory of a fixed size."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class Attentive(nn.Module):
    """A layer of the Transformer: each word sees all others."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = SinusoidalPositions(LONGEST, WIDTH)
        sizes = ModelConfig(d_model=WIDTH, n_heads=2, d_ff=WIDTH, n_encoder_layers=1, dropout=0.0)
        self.layer = Encoder(sizes)

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(1)
        return self.layer(x + self.positions(0, n), torch.zeros(1, 1, 1, n))


def percent_right(layer: nn.Module, n: int) -> float:
    """How often the last of n places knows the first word, after 300 steps of training."""
    model = nn.ModuleList([nn.Embedding(N_WORDS, WIDTH), layer, nn.Linear(WIDTH, N_WORDS)])
    embed, layer, to_scores = model
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(300):
        words = torch.randint(N_WORDS, (32, n))
        loss = F.cross_entropy(to_scores(layer(embed(words))[:, -1]), words[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    words = torch.randint(N_WORDS, (1000, n))
    with torch.no_grad():
        right = to_scores(layer(embed(words))[:, -1]).argmax(-1) == words[:, 0]
    return 100 * float(right.float().mean())


print("words between   LSTM   attention")
for n in (10, 40, LONGEST):
    torch.manual_seed(0)
    print(f"{n - 2:13} {percent_right(Recurrent(), n):5.0f}% {percent_right(Attentive(), n):10.0f}%")
