"""Source token ids to memory: all of a Transformer that stands before its decoder, and a model of its own.

Shapes: B sentences, L tokens, S source tokens, D width of the encoder, or of what is embedded
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.dropout import Dropout
from seq2seq.model.embeddings import Embeddings
from seq2seq.model.encoder import Encoder
from seq2seq.model.positions import ADDED_POSITIONS


class SourceEncoder(nn.Module):
    """Embeddings, positions and encoder.

    Args:
        embeddings: which tables there are (`Embeddings`); `shared` makes one, which an encoder alone needs.
    """

    def __init__(self, config: ModelConfig, vocab_size: int, embeddings: str = "shared") -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(embeddings, vocab_size, config.d_memory, config.d_model)
        self.positions = ADDED_POSITIONS[config.positions](config.max_length, config.d_memory)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config)

    def encode(self, src: Tensor) -> Tensor:
        """Memory (B, S, D) of sources (B, S). What stands at padding has no meaning."""
        positions = self.positions(0, src.size(1))  # (S, D)
        return self.encoder(
            self._embed(src, self.embeddings.source, positions), masks.additive(masks.may_attend_to(src))
        )

    @property
    def n_parameters(self) -> int:
        """The number of weights. A shared table counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _embed(self, ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
        """sqrt(D) * embeddings + positions, (B, L, D): the paper's sections 3.4, 3.5 and 5.4.

        Word dropout (Gal and Ghahramani 2016) hides each token on its own, not all tokens of a word. The others are not
        scaled up, so that they look the same in training and in use.
        """
        tokens = F.embedding(ids, table)
        if self.training and self.config.word_dropout:
            is_seen = torch.rand(ids.shape, device=ids.device) >= self.config.word_dropout
            tokens = tokens * is_seen.unsqueeze(-1)
        return self.dropout(torch.add(positions, tokens, alpha=math.sqrt(table.size(1))))
