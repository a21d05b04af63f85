"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need").

Shapes: B sentences, S source tokens, T target tokens, N hypotheses a sentence, D d_model, H n_heads, V vocabulary
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model import masks
from seq2seq.model.cache import DecoderState
from seq2seq.model.decoder import Decoder
from seq2seq.model.positions import ADDED_POSITIONS, AddedPositions, check_length
from seq2seq.model.recording import recorded_weights
from seq2seq.model.source_encoder import SourceEncoder


class AttentionWeights(NamedTuple):
    """Who looked at whom: one tensor for each layer, in order."""

    encoder: list[Tensor]  # (B, H, S, S)
    decoder: list[Tensor]  # (B, H, T, T)
    cross: list[Tensor]  # (B, H, T, S)


class Transformer(SourceEncoder):
    """Source and target token ids to the scores of each next target token.

    The methods `start`, `step`, `reorder` and `select` serve a search; see `NextTokenScores`.
    """

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size, config.embeddings)
        self.decoder = Decoder(config)
        if config.d_memory != config.d_model:  # otherwise one table serves both halves
            self.target_positions = ADDED_POSITIONS[config.positions](config.max_length, config.d_model)

    @property
    def decoder_positions(self) -> AddedPositions:
        return self.positions if self.config.d_memory == self.config.d_model else self.target_positions

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src: (B, S), each ending with eos; tgt_in: (B, T), each beginning with bos. Logits (B, T, V)."""
        return self.project(self.decode(tgt_in, self.encode(src), src))

    def decode(self, tgt_in: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Hidden states (B, T, D) of all target tokens at once; `project` turns them into logits."""
        positions = self.decoder_positions(0, tgt_in.size(1))  # (T, D)
        return self.decoder(
            self._embed(tgt_in, self.embeddings.target, positions),
            masks.additive(self._past(tgt_in.size(1), tgt_in.device)),
            memory,
            masks.additive(masks.may_attend_to(src)),
        )

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states (..., D) to logits (..., V)."""
        return F.linear(hidden, self.embeddings.output)

    def attention_weights(self, src: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Who looks at whom in each layer and head; each row sums to 1."""
        with recorded_weights() as weights:
            self.decode(tgt_in, self.encode(src), src)
        return AttentionWeights(
            encoder=[weights[layer.self_attention] for layer in self.encoder.layers],
            decoder=[weights[layer.self_attention] for layer in self.decoder.layers],
            cross=[weights[layer.cross_attention] for layer in self.decoder.layers],
        )

    def alignment_weights(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """How much each target token looks at each source token (B, T, S), for word alignments; each row sums to 1.

        The mean over the heads of the cross-attention in the last layer but one, from which Garg et al. (2019) take
        alignments.
        """
        return self.attention_weights(src, tgt_in).cross[-2:][0].float().mean(1)

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

    def _past(self, length: int, device: torch.device) -> Tensor:
        """Which target tokens the decoder may attend to: (T, T); or (1, T) where a pattern will hide the future."""
        if self.decoder.pattern is None:
            return masks.causal(length, device)
        return torch.ones(1, length, dtype=torch.bool, device=device)
