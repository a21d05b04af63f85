"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need").

Shapes: B sentences, S source tokens, T target tokens, L tokens, N hypotheses a sentence, D d_model, H n_heads,
V vocabulary
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.cache import DecoderState
from seq2seq.model.decoder import Decoder
from seq2seq.model.dropout import Dropout
from seq2seq.model.encoder import Encoder
from seq2seq.model.positions import AddedPositions, added_positions, check_length

# By `model.embeddings`, the tables of source, target and output. The paper's section 3.4 shares one for all three.
TABLES = {
    "shared": ("shared", "shared", "shared"),
    "decoder": ("source", "target", "target"),
    "separate": ("source", "target", "output"),
}


class AttentionWeights(NamedTuple):
    """Who looked at whom: one tensor for each layer, in order."""

    encoder: list[Tensor]  # (B, H, S, S)
    decoder: list[Tensor]  # (B, H, T, T)
    cross: list[Tensor]  # (B, H, T, S)


class Embeddings(nn.Module):
    """The (V, D) tables of source, target and output. Several of them may be one shared table.

    A shared table has one name in a checkpoint.
    """

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self._source, self._target, self._output = TABLES[config.embeddings]
        widths = {self._output: config.d_model, self._target: config.d_model, self._source: config.d_memory}
        # The variance is 1/D. The input is multiplied by sqrt(D), so both the input and the logits have variance 1.
        self.tables = nn.ParameterDict(
            {
                name: nn.Parameter(torch.randn(vocab_size, widths[name]) * widths[name] ** -0.5)
                for name in TABLES[config.embeddings]
            }
        )

    @property
    def source(self) -> Tensor:
        return self.tables[self._source]

    @property
    def target(self) -> Tensor:
        return self.tables[self._target]

    @property
    def output(self) -> Tensor:
        return self.tables[self._output]


class Transformer(nn.Module):
    """Source and target token ids to the scores of each next target token.

    The methods `start`, `step`, `reorder` and `select` serve a search; see `NextTokenScores`.
    """

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config, vocab_size)
        self.positions = added_positions(config, config.d_memory)
        if config.d_memory != config.d_model:  # otherwise one table serves both halves
            self.target_positions = added_positions(config, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_bias = nn.Parameter(torch.zeros(vocab_size)) if config.output_bias else None

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src: (B, S), each ending with eos; tgt_in: (B, T), each beginning with bos. Logits (B, T, V)."""
        return self.project(self.decode(tgt_in, self.encode(src), src))

    def encode(self, src: Tensor, weights: AttentionWeights | None = None) -> Tensor:
        """Memory (B, S, D) of sources (B, S). What stands at padding has no meaning.

        Args:
            weights: takes those of the encoder too.
        """
        x = self._embed(src, self.embeddings.source, self.positions(0, src.size(1)))
        mask = masks.additive(masks.may_attend_to(src))
        if weights:  # not what `compile` has made of it, which would be compiled anew for weights
            return self.encoder.forward(x, mask, weights.encoder)
        return self.encoder(x, mask)

    def decode(self, tgt_in: Tensor, memory: Tensor, src: Tensor, weights: AttentionWeights | None = None) -> Tensor:
        """Hidden states (B, T, D) of all target tokens at once; `project` turns them into logits.

        Args:
            weights: takes those of the decoder too.
        """
        decoder = self.decoder.forward if weights else self.decoder  # as in `encode`
        return decoder(
            self._embed(tgt_in, self.embeddings.target, self.decoder_positions(0, tgt_in.size(1))),
            masks.additive(self._past(tgt_in.size(1), tgt_in.device)),
            memory,
            masks.additive(masks.may_attend_to(src)),
            (weights.decoder, weights.cross) if weights else (None, None),
        )

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states (..., D) to logits (..., V)."""
        return F.linear(hidden, self.embeddings.output, self.output_bias)

    def factors(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states (..., D) and a table (V, D) whose products are the logits.

        With a bias both are 8 numbers wider, 1 and the bias first: GPUs are slow with other widths.
        """
        table = self.embeddings.output
        if self.output_bias is None:
            return hidden, table
        return F.pad(hidden, (0, 8), value=1.0), torch.cat([table, F.pad(self.output_bias[:, None], (0, 7))], 1)

    @property
    def decoder_positions(self) -> AddedPositions:
        return self.positions if self.config.d_memory == self.config.d_model else self.target_positions

    @property
    def n_parameters(self) -> int:
        """The number of weights. A shared table counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    # --- who looks at whom ---

    def attention_weights(self, src: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Who looks at whom in each layer and head; each row sums to 1."""
        weights = AttentionWeights([], [], [])
        self.decode(tgt_in, self.encode(src, weights), src, weights)
        return weights

    def alignment_weights(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """How much each target token looks at each source token (B, T, S), for word alignments; each row sums to 1.

        The mean over the heads of the cross-attention in the last layer but one, from which Garg et al. (2019) take
        alignments.
        """
        return self.attention_weights(src, tgt_in).cross[-2:][0].float().mean(1)

    # --- one token after the other ---

    def start(self, src: Tensor, max_length: int) -> DecoderState:
        """Read sources (B, S) for a search of at most `max_length` steps."""
        check_length(max_length, self.config.max_length)
        return self.decoder.start(self.encode(src), masks.additive(masks.may_attend_to(src)))

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """Append one token (B, N) to each hypothesis. Returns the logits (B, N, V) of the token after it."""
        position = self.decoder_positions(state.n_steps, 1)  # (1, D): the same for every hypothesis
        hidden = self.decoder.step(self._embed(tokens, self.embeddings.target, position), state)
        return self.project(hidden), state

    def reorder(self, state: DecoderState, parents: Tensor) -> DecoderState:
        """Make hypothesis n of sentence b a copy of its hypothesis `parents[b, n]`; parents: (B, N)."""
        state.reorder(parents)
        return state

    def select(self, state: DecoderState, sentences: Tensor) -> DecoderState:
        """Keep these sentences, (B',) ascending indices."""
        state.select(sentences)
        return state

    def _embed(self, ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
        """sqrt(D) * embeddings + positions (L, D), (B, L, D): the paper's sections 3.4, 3.5 and 5.4.

        Word dropout (Gal and Ghahramani 2016) hides each token on its own, not all tokens of a word. The others are not
        scaled up, so that they look the same in training and in use.
        """
        tokens = F.embedding(ids, table)
        if self.training and self.config.word_dropout:
            is_seen = torch.rand(ids.shape, device=ids.device) >= self.config.word_dropout
            tokens = tokens * is_seen.unsqueeze(-1)
        return self.dropout(torch.add(positions, tokens, alpha=math.sqrt(table.size(1))))

    def _past(self, length: int, device: torch.device) -> Tensor:
        """Which target tokens the decoder may attend to: (T, T); or (1, T) where a pattern will hide the future."""
        if self.decoder.pattern is None:
            return masks.causal(length, device)
        return torch.ones(1, length, dtype=torch.bool, device=device)
