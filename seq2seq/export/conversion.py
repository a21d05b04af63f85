"""Convert our Transformer to the form in which CTranslate2 stores one.

CTranslate2 lays its layers out as we do (a norm inside each sublayer), but joins the projections to queries, keys and
values. Otherwise weights only get other names. Three things are set here that CTranslate2 would otherwise choose: the
table of positions, which tokens are special, and which are never generated.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from seq2seq.config import DROPOUTS, ModelConfig
from seq2seq.config.model import POSITIONS
from seq2seq.errors import CheckpointError
from seq2seq.model.attention import CrossAttention, SelfAttention
from seq2seq.model.layers import FeedForward, SwiGLU
from seq2seq.model.masks import HIDDEN
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

# What the code below converts, with any value. Of all other fields of `ModelConfig`, only the default has a counterpart
# in CTranslate2.
_CONVERTED = {
    *(
        "norm",
        "norm_type",
        "norm_eps",
        "residual",
        "activation",
        "embeddings",
        "bias",
        "output_bias",
        "max_length",
        *DROPOUTS,
    ),
    *("d_model", "d_encoder", "d_ff", "d_head", "n_heads", "n_kv_heads", "n_encoder_layers", "n_decoder_layers"),
}


def check_convertible(config: ModelConfig) -> None:
    """Refuse every variant that this module was not written for: it would convert it into another model.

    Raises:
        CheckpointError: names all such variants.
    """
    if config.d_v == config.d_k:  # the only case that CTranslate2 has, whether the key says so or not
        config = dataclasses.replace(config, d_value=0)
    unknown = [
        f"model.{field.name}={value}"
        for field in dataclasses.fields(config)
        if (value := getattr(config, field.name)) != field.default
        and not (field.name in _CONVERTED or (field.name == "positions" and value in POSITIONS))
    ]
    if unknown:
        raise CheckpointError(
            f"a model with {', '.join(unknown)} cannot be converted to CTranslate2; export it with "
            "--format safetensors and translate with --engine torch"
        )


def convert(model: Transformer, tokenizer: Tokenizer, directory: Path, quantization: str | None) -> None:
    """Write `model` as the files of a CTranslate2 model into `directory`, which is created.

    Args:
        quantization: a type of CTranslate2, such as int8 or float16; None keeps float32.
    Raises:
        CheckpointError: the model is a variant that CTranslate2, or this conversion, does not have; or its weights are
            too large for the type.
    """
    check_convertible(model.config)
    spec = _transformer(with_plain_residuals(model))
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    if tokenizer.target.pieces(range(tokenizer.vocab_size)) != pieces:
        raise CheckpointError(
            "a model with a vocabulary for each side cannot be converted to CTranslate2; translate with --engine torch"
        )
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (pieces[i] for i in (UNK, BOS, EOS))
    spec.config.decoder_start_token = pieces[BOS]
    spec.config.add_source_bos = False
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = model.config.norm_eps
    spec.validate()
    try:
        with np.errstate(over="raise"):
            spec.optimize(quantization=quantization)
    except FloatingPointError as error:
        raise CheckpointError(
            f"some weights are beyond 65,504, the largest number of float16, so {quantization} would make them "
            "infinite; choose bfloat16 or float32"
        ) from error
    directory.mkdir(parents=True, exist_ok=True)
    spec.save(str(directory))


def with_plain_residuals(model: Transformer) -> Transformer:
    """The same model with `model.residual=1`, which other programs have: its sublayers put out so much less."""
    if model.config.residual == 1:
        return model
    plain = Transformer(dataclasses.replace(model.config, residual=1.0), len(model.embeddings.output))
    weights = {
        name: weight / model.config.residual if "to_out" in name else weight
        for name, weight in model.state_dict().items()
    }
    plain.load_state_dict(weights)
    return plain.eval()


def _read(weight: Tensor) -> np.ndarray[Any, Any]:
    # A copy: CTranslate2 quantises in place.
    return weight.detach().to(device="cpu", dtype=torch.float32, copy=True).numpy()


def _transformer(model: Transformer) -> "TransformerSpec":
    from ctranslate2 import specs

    config = model.config
    options = {
        "pre_norm": config.norm == "pre",
        "activation": {
            "relu": specs.Activation.RELU,
            "gelu": specs.Activation.GELU,
            "swish": specs.Activation.SWISH,
            "swiglu": specs.Activation.SWISH,
        }[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm_type == "rms",
        "num_heads_kv": config.n_kv_heads or None,
        "head_dim": config.d_head or None,
    }
    is_rotary = config.positions == "rotary"
    if is_rotary:
        options |= {"rotary_dim": config.d_k, "rotary_interleave": False}
    encoder = specs.TransformerEncoderSpec(config.n_encoder_layers, config.n_heads, **options)
    decoder = specs.TransformerDecoderSpec(config.n_decoder_layers, config.n_heads, **options)
    # Without it, CTranslate2 would compute sinusoids of its own, which begin at position 1 and come in another order.
    encoder.position_encodings.encodings = _read(model.positions.table)
    if not is_rotary:  # a rotary decoder adds no table, and a rotary encoder adds our zeros
        decoder.position_encodings.encodings = _read(model.decoder_positions.table)
    # CTranslate2 stores equal arrays once, so tables that were shared are shared again.
    encoder.embeddings[0].weight = _read(model.embeddings.source)
    decoder.embeddings.weight = _read(model.embeddings.target)
    decoder.projection.weight = _read(model.embeddings.output)
    decoder.projection.bias = _bias(model)
    for layer, spec in zip(model.encoder.layers, encoder.layer, strict=True):
        _self_attention(layer.self_attention, layer.around_self_attention.norm, spec.self_attention)
        _feed_forward(layer.feed_forward, layer.around_feed_forward.norm, spec.ffn)
    for block, spec in zip(model.decoder.layers, decoder.layer, strict=True):
        _self_attention(block.self_attention, block.around_self_attention.norm, spec.self_attention)
        _cross_attention(block.cross_attention, block.around_cross_attention.norm, spec.attention)
        _feed_forward(block.feed_forward, block.around_feed_forward.norm, spec.ffn)
    if config.norm == "pre":
        _norm(model.encoder.norm, encoder.layer_norm)
        _norm(model.decoder.norm, decoder.layer_norm)
    return specs.TransformerSpec(encoder, decoder)


def _bias(model: Transformer) -> np.ndarray[Any, Any]:
    """The bias of the model, if it has one, which takes pad, unk and bos out of every softmax.

    Our search masks them; CTranslate2's scoring cannot.
    """
    own = model.output_bias
    bias = np.zeros(len(model.embeddings.output), dtype=np.float32) if own is None else _read(own)
    bias[[PAD, UNK, BOS]] = HIDDEN
    return bias


def _self_attention(attention: SelfAttention, norm: nn.Module, spec: Any) -> None:
    _linear(spec.linear[0], attention.to_q, attention.to_k, attention.to_v)
    _linear(spec.linear[1], attention.to_out)
    _norm(norm, spec.layer_norm)


def _cross_attention(attention: CrossAttention, norm: nn.Module, spec: Any) -> None:
    _linear(spec.linear[0], attention.to_q)
    _linear(spec.linear[1], attention.to_k, attention.to_v)
    _linear(spec.linear[2], attention.to_out)
    _norm(norm, spec.layer_norm)


def _linear(spec: Any, *projections: nn.Linear) -> None:
    """Several projections of one input become one."""
    spec.weight = np.concatenate([_read(projection.weight) for projection in projections])
    if projections[0].bias is not None:
        spec.bias = np.concatenate([_read(projection.bias) for projection in projections])


def _feed_forward(network: FeedForward | SwiGLU, norm: nn.Module, spec: Any) -> None:
    if isinstance(network, SwiGLU):
        _linear(spec.linear_0, network.to_gate)
        _linear(spec.linear_0_noact, network.to_value)
    else:
        _linear(spec.linear_0, network.to_hidden)
    _linear(spec.linear_1, network.to_out)
    _norm(norm, spec.layer_norm)


def _norm(norm: nn.Module, spec: Any) -> None:
    assert isinstance(norm, (nn.LayerNorm, nn.RMSNorm))
    spec.gamma = _read(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _read(norm.bias)
