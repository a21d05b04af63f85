"""The section `model`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from seq2seq.config.checks import at_least, at_most, one_of
from seq2seq.config.on_resume import for_training, marks

_MOST_POSITIONS = 2**17  # a model has a table of them, with d_model numbers each

_SIZES = (
    *("d_model", "d_encoder", "n_heads", "n_kv_heads", "d_head", "d_value", "d_ff"),
    *("n_encoder_layers", "n_decoder_layers", "window", "stride"),
)

# Those that are built in; plugins add others.
POSITIONS = ("sinusoidal", "learned", "rotary", "none")
ATTENTIONS = ("scaled", "unscaled", "additive")


@dataclass(kw_only=True)
class ModelConfig:
    """The Transformer of Vaswani et al. 2017 and its variants."""

    d_model: int = 256  # width of the residual stream
    d_encoder: int = 0  # width of the encoder, if it is another than that of the decoder; 0: d_model
    n_heads: int = 4  # attention heads; must divide d_model, unless d_head says how wide they are
    n_kv_heads: int = 0  # heads of keys and values, each for n_heads / n_kv_heads heads of queries; 0: n_heads
    d_head: int = 0  # width of the queries and keys of a head; 0: d_model / n_heads
    d_value: int = 0  # width of the values of a head; 0: as its queries and keys
    bias: bool = False  # biases on the projections of attention, which the paper does not have
    d_ff: int = 1024  # width inside the feed-forward network
    n_encoder_layers: int = 3  # encoder layers
    n_decoder_layers: int = 3  # decoder layers; fewer of them translate faster
    norm: str = "pre"  # `post` is the paper's; `pre` (Xiong et al. 2020) needs less care with warm-up
    norm_type: str = "layer"  # layer (LayerNorm), or rms (RMSNorm, Zhang and Sennrich 2019)
    residual: float = 1.0  # a layer computes x + Sublayer(x) / residual; above 1, post-norm learns faster (DeepNorm)
    norm_eps: float = 1e-5  # what a norm adds to the variance, so that it never divides by 0
    activation: str = "relu"  # relu, gelu, swish (Ramachandran et al. 2017), swiglu
    positions: str = "sinusoidal"  # sinusoidal, learned, rotary (Su et al. 2021), none, or of a plugin
    attention: str = "scaled"  # products of queries and keys: scaled or unscaled; additive (Bahdanau), or of a plugin
    temperature: float = 1.0  # scores of attention are divided by it; below 1 makes weights sharper
    hard_attention: bool = False  # attend to the one token with the largest score
    window: int = 0  # self-attention reaches so many tokens to each side; 0: all of them
    stride: int = 0  # self-attention reaches fewer tokens than this, and every one of so many; 0: all of them
    embeddings: str = "shared"  # one table for `shared`: source, target, output; `decoder`: the last two; or `separate`
    output_bias: bool = False  # a bias for each token that may come next, as Marian's models have one
    dropout: float = for_training(0.1)  # after embeddings, and on the output of each sublayer (the paper's section 5.4)
    attention_dropout: float = for_training(0.0)  # on attention weights
    activation_dropout: float = for_training(0.0)  # inside the feed-forward network
    word_dropout: float = for_training(0.0)  # share of source and target tokens that the model sees without their word
    max_length: int = 1024  # longest source or target, in tokens with bos or eos

    @property
    def d_memory(self) -> int:
        """Width of what the encoder puts out, and of all within it."""
        return self.d_encoder or self.d_model

    @property
    def of_encoder(self) -> "ModelConfig":
        """The configuration of the encoder's layers."""
        return replace(self, d_model=self.d_memory, d_encoder=0)

    @property
    def d_k(self) -> int:
        """Width of the queries and keys of a head, as the paper calls it."""
        return self.d_head or self.d_model // self.n_heads

    @property
    def d_v(self) -> int:
        """Width of the values of a head."""
        return self.d_value or self.d_k

    @property
    def n_groups(self) -> int:
        """Heads of keys and values, each of which serves a group of heads of queries."""
        return self.n_kv_heads or self.n_heads

    @property
    def n_weights_at_least(self) -> int:
        """Weights of all layers without norms and biases: their projections and feed-forward networks."""
        encoder = self.of_encoder
        encoder_layer = encoder._n_projections(self.d_memory) + 2 * self.d_memory * self.d_ff
        decoder_layer = self._n_projections(self.d_model) + self._n_projections(self.d_memory)
        return self.n_encoder_layers * encoder_layer + self.n_decoder_layers * (
            decoder_layer + 2 * self.d_model * self.d_ff
        )

    def _n_projections(self, d_input: int) -> int:
        """Weights of an attention whose keys and values are made from `d_input` numbers."""
        return (self.n_heads * self.d_model + self.n_groups * d_input) * (self.d_k + self.d_v)

    def problems(self) -> Iterator[str]:
        yield from at_least(
            "model", self, d_model=2, n_heads=1, d_ff=1, n_encoder_layers=1, n_decoder_layers=1, max_length=2
        )
        yield from at_least("model", self, d_encoder=0, n_kv_heads=0, d_head=0, d_value=0)
        yield from one_of("model", self, norm_type=("layer", "rms"))
        yield from one_of("model", self, norm=("pre", "post"), activation=("relu", "gelu", "swish", "swiglu"))
        yield from at_least("model", self, window=0, stride=0)
        yield from at_most("model", self, **dict.fromkeys(_SIZES, 1e6))
        if not 0.01 <= self.temperature <= 100:
            yield f"model.temperature={self.temperature} is not between 0.01 and 100; 1 leaves scores as they are"
        if self.window > 0 and self.stride > 0:
            yield f"model.window={self.window} and model.stride={self.stride} exclude each other; set one of them to 0"
        yield from one_of("model", self, embeddings=("shared", "decoder", "separate"))
        if self.max_length > _MOST_POSITIONS:
            yield f"model.max_length={self.max_length} is above {_MOST_POSITIONS}, the largest value that works"
        yield from self._problems_of_widths()
        yield from self._problems_of_heads()
        if not 0.01 <= self.residual <= 100:
            yield f"model.residual={self.residual} is not between 0.01 and 100; 1 is the paper's, 2 or 4 is usual"
        if not 0 < self.norm_eps < 1:
            yield f"model.norm_eps={self.norm_eps} is not between 0 and 1; 1e-5 and 1e-6 are usual"
        for name in DROPOUTS:
            if not 0 <= getattr(self, name) < 1:
                yield f"model.{name}={getattr(self, name)} is not a probability below 1"

    def _problems_of_widths(self) -> Iterator[str]:
        """The same for the width of either half."""
        for name in ("d_model", "d_encoder"):
            width = getattr(self, name)
            if self.n_heads > 0 and not self.d_head and width % self.n_heads:
                yield (
                    f"model.{name}={width} does not split over model.n_heads={self.n_heads}; choose a multiple of "
                    f"{self.n_heads}, or say with model.d_head how wide a head is"
                )
            elif self.positions == "rotary" and self.n_heads > 0 and not self.d_head and width // self.n_heads % 2:
                yield (
                    f"model.positions=rotary turns pairs of numbers, and model.{name}={width} over "
                    f"model.n_heads={self.n_heads} makes heads of an odd size; choose sizes that make it even"
                )
            if width % 2:
                yield f"model.{name}={width} is odd; sines and cosines come in pairs, choose an even size"
        if self.d_memory != self.d_model and self.embeddings == "shared":
            yield (
                f"model.embeddings=shared is one table for both halves, which model.d_encoder={self.d_encoder} and "
                f"model.d_model={self.d_model} make of different widths; set model.embeddings=decoder"
            )

    def _problems_of_heads(self) -> Iterator[str]:
        if self.positions == "rotary" and self.d_head % 2:
            yield (
                f"model.positions=rotary turns pairs of numbers, and model.d_head={self.d_head} is odd; choose an even "
                "size"
            )
        if self.n_heads > 0 and self.n_kv_heads > 0 and self.n_heads % self.n_kv_heads:
            yield (
                f"model.n_heads={self.n_heads} does not split over model.n_kv_heads={self.n_kv_heads}; choose a number "
                f"that divides {self.n_heads}, such as 1"
            )


DROPOUTS = tuple(key for key, mark in marks(ModelConfig).items() if mark.only_trains)
