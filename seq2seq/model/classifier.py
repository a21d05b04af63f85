"""A classifier on top of an encoder: text to the scores of labels.

Shapes: B sentences, S source tokens, D d_model, C labels
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2seq.config import ClassifyConfig, ModelConfig
from seq2seq.model import masks
from seq2seq.model.dropout import Dropout
from seq2seq.model.source_encoder import SourceEncoder


def mean_over(scores: Tensor, is_token: Tensor) -> Tensor:
    """The mean over the tokens of a sentence."""
    weights = is_token.unsqueeze(-1).to(scores.dtype)  # (B, S, 1)
    return (scores * weights).sum(1) / weights.sum(1)


def max_over(scores: Tensor, is_token: Tensor) -> Tensor:
    """The maximum over the tokens of a sentence, for each label on its own."""
    return scores.masked_fill(~is_token.unsqueeze(-1), -torch.inf).amax(1)


def first_of(scores: Tensor, is_token: Tensor) -> Tensor:
    """The first token of a sentence, which has seen all the others."""
    return scores[:, 0]


# The scores of all positions (B, S, C), and where there are tokens (B, S), to the scores of the sentence (B, C).
POOLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mean": mean_over, "max": max_over, "first": first_of}


class Classifier(SourceEncoder):
    """An encoder, a linear layer at each position, and a pool over the positions.

    The layer is linear, so the mean of its scores is the score of the mean vector.
    """

    def __init__(self, config: ModelConfig, classify: ClassifyConfig, vocab_size: int, n_labels: int) -> None:
        super().__init__(config, vocab_size)
        self.is_frozen = classify.encoder == "frozen"
        self.pool = POOLS[classify.pool]
        self.before_labels = Dropout(classify.dropout)
        self.to_labels = nn.Linear(config.d_memory, n_labels)
        if self.is_frozen:
            self.requires_grad_(False)
            self.to_labels.requires_grad_(True)

    def forward(self, src: Tensor) -> Tensor:
        """src: (B, S), each ending with eos. Logits (B, C)."""
        scores = self.to_labels(self.before_labels(self.encode(src)))  # (B, S, C)
        return self.pool(scores.float(), ~masks.is_pad(src))

    def train(self, mode: bool = True) -> "Classifier":
        """A frozen encoder has no dropout, so that its vectors are those of the model that it comes from."""
        super().train(mode)
        if self.is_frozen:
            for part in (self.dropout, self.encoder):
                part.eval()
        return self

    @torch.no_grad()
    def take_encoder(self, other: SourceEncoder) -> None:
        """Start from the weights of another model of the same sizes: a translation model, or a classifier."""
        self.embeddings.source.copy_(other.embeddings.source)
        self.positions.load_state_dict(other.positions.state_dict())
        self.encoder.load_state_dict(other.encoder.state_dict())
