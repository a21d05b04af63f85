"""The right half of Figure 1 of Vaswani et al. 2017: all target tokens at once, or the next one.

Shapes: B sentences, T target tokens, S source tokens, N hypotheses, D d_model, E width of the
encoder
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.cache import DecoderState, KeyValueCache
from seq2seq.model.layers import DecoderLayer, final_norm
from seq2seq.model.variants.patterns import pattern


class Decoder(nn.Module):
    """Embedded target and memory to hidden states, from which `Transformer.project` computes the next tokens."""

    layers: Sequence[DecoderLayer]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.layers = layers  # type: ignore[assignment]  # a ModuleList has no type for its modules
        self.norm = final_norm(config)
        self.pattern = pattern(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        weights: tuple[list[Tensor], list[Tensor]] | tuple[None, None] = (None, None),
    ) -> Tensor:
        """All target tokens at once.

        Args:
            x: (B, T, D).
            mask: additive and causal, (T, T); for a pattern (1, T).
            memory: (B, S, E).
            memory_mask: additive, (B, 1, 1, S).
            weights: as in `DecoderLayer`.
        """
        for layer in self.layers:
            x = layer(x, mask, layer.cross_attention.keys_values(memory), memory_mask, weights)
        return self.norm(x)

    def start(self, memory: Tensor, memory_mask: Tensor) -> DecoderState:
        """The state before the first token, with one hypothesis for each sentence."""
        return DecoderState(
            memory=[layer.cross_attention.keys_values(memory) for layer in self.layers],
            memory_mask=memory_mask,
            past=[KeyValueCache() for _ in self.layers],
            ancestry=memory_mask.new_empty(len(memory), 1, 1, 0),
            pattern=self.pattern,
            positions=memory_mask.new_empty(len(memory), 0, dtype=torch.int64),
        )

    def step(self, x: Tensor, state: DecoderState) -> Tensor:
        """Append the newest token of each hypothesis, (B, N, D), to `state`. Returns its hidden states (B, N, D)."""
        place, mask = state.take_step(x.size(1)), state.mask()
        for layer, past, memory in zip(self.layers, state.past, state.memory, strict=True):
            x = layer.step(x, past, place, mask, memory, state)
        return self.norm(x)
