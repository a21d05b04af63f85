"""The section `model`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, one_of

_MOST_POSITIONS = 2**17  # a model has a table of them, with d_model numbers each

# Fields of ModelConfig that change nothing but training.
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout", "word_dropout")


@dataclass(kw_only=True)
class ModelConfig:
    """The Transformer of Vaswani et al. 2017 and its variants."""

    d_model: int = 256  # width of the residual stream
    n_heads: int = 4  # attention heads; must divide d_model
    d_ff: int = 1024  # width inside the feed-forward network
    n_encoder_layers: int = 3  # encoder layers
    n_decoder_layers: int = 3  # decoder layers; fewer of them translate faster
    norm: str = "pre"  # `post` is the paper's; `pre` (Xiong et al. 2020) needs less care with warm-up
    activation: str = "relu"  # relu, gelu, swiglu
    positions: str = "sinusoidal"  # sinusoidal, learned, or rotary (Su et al. 2021)
    embeddings: str = "shared"  # one table for `shared`: source, target, output; `decoder`: the last two; or `separate`
    dropout: float = 0.1  # after embeddings, and on the output of each sublayer (section 5.4 of the paper)
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # inside the feed-forward network
    word_dropout: float = 0.0  # share of source and target tokens that the model sees without their word
    max_length: int = 1024  # longest source or target, in tokens with bos or eos

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def n_weights_at_least(self) -> int:
        """Weights of all layers without norms and biases: four projections and a feed-forward network in each."""
        a_layer = 4 * self.d_model**2 + 2 * self.d_model * self.d_ff
        return (self.n_encoder_layers + self.n_decoder_layers) * a_layer

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
        if self.max_length > _MOST_POSITIONS:
            yield f"model.max_length={self.max_length} is above {_MOST_POSITIONS}, the largest value that works"
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
