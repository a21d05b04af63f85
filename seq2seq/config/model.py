"""The section `model`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, one_of

# The fields of ModelConfig that act in training only.
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout", "word_dropout")


@dataclass(kw_only=True)
class ModelConfig:
    """The Transformer of Vaswani et al. 2017 and the variants that matter."""

    d_model: int = 256  # width of the residual stream
    n_heads: int = 4  # divides d_model
    d_ff: int = 1024  # width inside the feed-forward network
    n_encoder_layers: int = 3  # encoder depth
    n_decoder_layers: int = 3  # decoder depth; a shallow decoder translates faster
    norm: str = "pre"  # `post` is the paper's; `pre` (Xiong et al. 2020) trains without a delicate warm-up
    activation: str = "relu"  # relu, gelu, swiglu
    positions: str = "sinusoidal"  # sinusoidal, learned, or rotary (Su et al. 2021)
    embeddings: str = "shared"  # source, target and output: `shared`; target and output: `decoder`; or `separate`
    dropout: float = 0.1  # after embeddings and on each sublayer's output (the paper's section 5.4)
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # inside the feed-forward network
    word_dropout: float = 0.0  # share of source and target tokens of which only the position is seen
    max_length: int = 1024  # longest source or target, in tokens with bos or eos

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def has_dropout(self) -> bool:
        return any(getattr(self, name) > 0 for name in DROPOUTS)

    def problems(self) -> Iterator[str]:
        yield from at_least(
            "model", self, d_model=2, n_heads=1, d_ff=1, n_encoder_layers=1, n_decoder_layers=1, max_length=2
        )
        yield from one_of("model", self, norm=("pre", "post"), activation=("relu", "gelu", "swiglu"))
        yield from one_of("model", self, positions=("sinusoidal", "learned", "rotary"))
        yield from one_of("model", self, embeddings=("shared", "decoder", "separate"))
        if self.n_heads > 0 and self.d_model % self.n_heads:
            yield (
                f"model.d_model={self.d_model} does not split over model.n_heads={self.n_heads}; "
                f"choose a multiple of {self.n_heads}"
            )
        elif self.positions == "rotary" and self.n_heads > 0 and self.d_head % 2:
            yield (
                f"model.positions=rotary turns pairs of numbers, and model.d_model={self.d_model} over "
                f"model.n_heads={self.n_heads} makes heads of an odd size; choose sizes that make it even"
            )
        if self.d_model % 2:
            yield f"model.d_model={self.d_model} is odd; sines and cosines come in pairs, choose an even size"
        for name in DROPOUTS:
            if not 0 <= getattr(self, name) < 1:
                yield f"model.{name}={getattr(self, name)} is not a probability below 1"
