"""A model in Marian's form, such as those of OPUS-MT: a directory of `transformers`, read as a model of ours.

    config.json             sizes, the variant, special ids
    generation_config.json  how to search; older models have that in config.json
    tokenizer_config.json   languages, and whether each side has a vocabulary of its own
    source.spm, target.spm  SentencePiece
    vocab.json              ids by piece, for both sides; or for the source, with target_vocab.json for the target
    model.safetensors       weights; or pytorch_model.bin

Two orders differ. Here special ids come first, so rows of embeddings move. And sines and cosines alternate, which
stand in two halves there, so channels of the residual stream move.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]
from torch import Tensor

from seq2seq.artifacts.model_directory import CONFIG, PICKLED, WEIGHTS
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
from seq2seq.config.checks import names_a_language
from seq2seq.errors import CheckpointError, TokenizerError
from seq2seq.files import regular
from seq2seq.model.positions import sinusoids
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import END_OF_VOCABULARY, Tokenizer, with_target
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

# What `MarianConfig` has for a key that is left out.
_DEFAULTS = {
    "activation_function": "gelu",
    "scale_embedding": False,
    "tie_word_embeddings": True,
    "share_encoder_decoder_embeddings": True,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}
# What must be so. The keys of older versions count only where they are written.
_MUST = {
    "model_type": "marian",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
# Our names of weights and theirs, in the order in which they are replaced.
_NAMES = {
    "encoder.layers.": "model.encoder.layers.",
    "decoder.layers.": "model.decoder.layers.",
    "encoder.norm": "model.encoder.layer_norm",
    "decoder.norm": "model.decoder.layer_norm",
    "feed_forward.to_hidden": "fc1",
    "feed_forward.to_out": "fc2",
    "around_self_attention.norm": "self_attn_layer_norm",
    "around_cross_attention.norm": "encoder_attn_layer_norm",
    "around_feed_forward.norm": "final_layer_norm",
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "to_q": "q_proj",
    "to_k": "k_proj",
    "to_v": "v_proj",
    "to_out": "out_proj",
}
_SHARED, _SOURCE = "model.shared.weight", "model.encoder.embed_tokens.weight"
_TARGET, _OUTPUT = "model.decoder.embed_tokens.weight", "lm_head.weight"
# By our name of a table, where theirs can be; a table that is shared can be stored once.
_TABLES = {
    "shared": (_SHARED, _SOURCE, _TARGET, _OUTPUT),
    "source": (_SOURCE, _SHARED),
    "target": (_TARGET, _SHARED, _OUTPUT),
    "output": (_OUTPUT,),
}
_NEVER = -100.0  # added to a logit: exp(-100) is 0 beside the probabilities of float32
_LAST = -1e9  # the score of a piece that BPE merges after all others
_MODELS = ("source.spm", "target.spm")
_TAG = "<tag:{}>"

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Vocabulary:
    """The ids of one side.

    Attributes:
        pieces: in our order.
        rows: where each of them stands in their order; the last ones can be missing.
        n_tags: how many pieces after the special ones say which language to write.
    """

    pieces: list[str]
    rows: list[int]
    n_tags: int


def read_marian(path: Path) -> SavedModel:
    """Read a directory in Marian's form.

    Raises:
        CheckpointError: a file is missing, damaged or a pickle of more than tensors; or the model is of another class,
            or has something that our Transformer does not compute.
        TokenizerError: a SentencePiece model is damaged, or does not fit the vocabulary.
    """
    content: dict[str, Any] = _DEFAULTS | _json(path / CONFIG)
    if problems := [
        f"{key}={content[key]} ({value} can be read)"
        for key, value in _MUST.items()
        if key in content and content[key] != value
    ]:
        raise CheckpointError(f"{path / CONFIG}: {'; '.join(problems)}; no model of this project computes that")
    written = _json(path / "tokenizer_config.json")
    weights = _stored(path)
    try:
        model = _model_config(content, path / CONFIG)
        if tokenizer := _own_tokenizer(path):
            sides = 2 * [_own_vocabulary(tokenizer, content["decoder_start_token_id"])]
        else:
            sides = _vocabularies(path, content, written, weights)
            tokenizer = _tokenizer(path, sides)
        config = RunConfig(model=model, decoding=_decoding(content | _json(path / "generation_config.json", {})))
        config.trainer.max_epochs = 1  # any end, which a run must have
        config.data.max_sentence_tokens = min(config.data.max_sentence_tokens, model.max_length - 1)
        config.data.src_lang, config.data.tgt_lang = (_language(written, key) for key in ("source", "target"))
        config.tokenizer.model_type, config.tokenizer.vocab_size = tokenizer.model_type, tokenizer.vocab_size
        return SavedModel.of(config, tokenizer, _weights(weights, model, sides, path))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise CheckpointError(
            f"{path}: is not a whole model in Marian's form; copy all its files again "
            f"[{type(error).__name__}: {' '.join(str(error).split())[:200]}]"
        ) from error


# --- configuration ---


def _model_config(content: Mapping[str, Any], file: Path) -> ModelConfig:
    sides = ("encoder", "decoder")
    heads, widths = ({content[f"{side}_{key}"] for side in sides} for key in ("attention_heads", "ffn_dim"))
    for key, values in (("attention_heads", heads), ("ffn_dim", widths)):
        if len(values) > 1:
            raise CheckpointError(f"{file}: encoder_{key} and decoder_{key} differ, which no model here can have")
    activation = content["activation_function"]
    if activation not in _ACTIVATIONS:
        raise CheckpointError(f"{file}: activation_function={activation} is not one of {', '.join(_ACTIVATIONS)}")
    is_shared, is_tied = content["share_encoder_decoder_embeddings"], content["tie_word_embeddings"]
    return ModelConfig(
        norm="post",
        positions="sinusoidal",
        bias=True,
        output_bias=True,
        activation=_ACTIVATIONS[activation],
        embeddings=("shared" if is_shared else "decoder") if is_tied else "separate",
        d_model=content["d_model"],
        n_heads=heads.pop(),
        d_ff=widths.pop(),
        n_encoder_layers=content["encoder_layers"],
        n_decoder_layers=content["decoder_layers"],
        max_length=content["max_position_embeddings"],
        dropout=content["dropout"],
        attention_dropout=content["attention_dropout"],
        activation_dropout=content["activation_dropout"],
    )


def _decoding(content: Mapping[str, Any]) -> DecodingConfig:
    alpha = content.get("length_penalty", 1.0)
    return DecodingConfig(
        beam_size=content.get("num_beams", 1), normalization="length" if alpha > 0 else "none", alpha=max(0.0, alpha)
    )


def _language(written: Mapping[str, Any], key: str) -> str:
    """The language of a side; just the name of the side if the tokenizer has none, or several."""
    name = str(written.get(f"{key}_lang") or key)
    return key if any(names_a_language(key, name)) else name


# --- vocabulary ---


def _own_tokenizer(path: Path) -> Tokenizer | None:
    """That of a model that was trained here, whose ids are as they were."""
    source, target = (_read(path / name, Path.read_bytes) for name in _MODELS)
    with suppress(TokenizerError):
        tokenizer = Tokenizer(source)
        pieces = tokenizer.pieces(range(tokenizer.vocab_size))
        if source == target and _json(path / "vocab.json") == {piece: i for i, piece in enumerate(pieces)}:
            return tokenizer
    return None


def _own_vocabulary(tokenizer: Tokenizer, start: int) -> _Vocabulary:
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    return _Vocabulary(pieces, [PAD, UNK, start, *range(EOS, tokenizer.vocab_size)], len(tokenizer.tags))


def _vocabularies(
    path: Path, content: Mapping[str, Any], written: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> list[_Vocabulary]:
    """Those of source and target, of the same size: the shorter one is filled up."""
    files = ["vocab.json", "target_vocab.json" if written.get("separate_vocabs") else "vocab.json"]
    sides = []
    for file, tables in zip(files, (_TABLES["source"], _TABLES["target"]), strict=True):
        ids = _json(path / file)
        names = {number: piece for piece, number in ids.items()}
        n_rows = len(next(weights[name] for name in tables if name in weights))
        if max(names) >= n_rows:
            raise CheckpointError(f"{path / file}: has ids beyond the {n_rows} rows of the embeddings; copy it again")
        start = content["decoder_start_token_id"]
        special = [ids["<pad>"], ids["<unk>"], start if file == files[1] else ids["<pad>"], ids["</s>"]]
        tags = {i: piece[2:-2] for i, piece in names.items() if piece.startswith(">>") and piece.endswith("<<")}
        tags |= {i: piece[5:-1] for i, piece in names.items() if piece.startswith("<tag:") and piece.endswith(">")}
        others = [i for i in range(n_rows) if i not in special and i not in tags]
        bos = names.get(start, "") if start not in (special[PAD], special[UNK], special[EOS]) else "<s>"
        others_named = [names.get(i, f"<id {i}>") for i in others]
        if bos in others_named:  # which no text is cut into
            bos = "<start>"
        pieces = ["<pad>", "<unk>", bos, "</s>", *map(_TAG.format, tags.values()), *others_named]
        sides.append(_Vocabulary(pieces, [*special, *tags, *others], len(tags)))
    if content["eos_token_id"] != sides[1].rows[EOS]:
        raise CheckpointError(
            f"{path / CONFIG}: eos_token_id is {content['eos_token_id']}, and </s> is another in {files[1]}; copy both"
        )
    size = max(len(side.pieces) for side in sides)
    return [
        _Vocabulary([*side.pieces, *(f"<none {i}>" for i in range(size - len(side.pieces)))], side.rows, side.n_tags)
        for side in sides
    ]


def _tokenizer(path: Path, sides: list[_Vocabulary]) -> Tokenizer:
    """The tokenizer that cuts texts like theirs, with the ids of ours."""
    protos = [_read(path / name, Path.read_bytes) for name in _MODELS]
    try:
        return Tokenizer(with_target(*map(_model_of_side, protos, sides)))
    except (DecodeError, TokenizerError) as error:
        raise TokenizerError(f"{path}: source.spm or target.spm is damaged, or of another model; copy both") from error


def _model_of_side(proto: bytes, vocabulary: _Vocabulary) -> bytes:
    """A SentencePiece model that cuts like `proto`, and has the ids of the vocabulary.

    Pieces of the other side are never cut, but they can be in a translation. Pieces that have no id come last.
    """
    model = ModelProto.FromString(proto)
    kinds = ModelProto.SentencePiece
    own = {each.piece: each for each in model.pieces if each.type not in (kinds.CONTROL, kinds.UNKNOWN)}
    del model.pieces[:]
    n_special = EOS + 1 + vocabulary.n_tags
    for i, piece in enumerate(vocabulary.pieces):
        if i < n_special:
            model.pieces.add(piece=piece, type=kinds.UNKNOWN if i == UNK else kinds.CONTROL)
        elif piece in own:
            model.pieces.append(own[piece])
        else:
            model.pieces.add(piece=piece, score=_LAST, type=kinds.UNUSED)
    model.pieces.add(piece=END_OF_VOCABULARY, type=kinds.CONTROL)
    named = set(vocabulary.pieces)
    model.pieces.extend(each for piece, each in own.items() if piece not in named)
    spec = model.trainer_spec
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD, UNK, BOS, EOS
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = vocabulary.pieces[: EOS + 1]
    return bytes(model.SerializeToString())


# --- weights ---


def _stored(path: Path) -> Mapping[str, Tensor]:
    """All tensors, by their names there."""
    if (path / WEIGHTS).exists():
        return _read(path / WEIGHTS, load_file)
    if not (path / PICKLED).exists():
        raise CheckpointError(f"{path}: has neither {WEIGHTS} nor {PICKLED}, the weights in one file; copy one of them")

    def unpickled(file: Path) -> Mapping[str, Tensor]:
        content = torch.load(file, map_location="cpu", weights_only=True)
        if not isinstance(content, Mapping) or not all(isinstance(each, Tensor) for each in content.values()):
            raise ValueError("no tensors by name")
        return content

    return _read(path / PICKLED, unpickled)


def _weights(
    theirs: Mapping[str, Tensor], config: ModelConfig, sides: list[_Vocabulary], path: Path
) -> dict[str, Tensor]:
    """The weights of our Transformer."""
    source, target = sides
    with torch.device("meta"):
        shapes = Transformer(config, len(source.pieces)).state_dict()
    channels = torch.cat([torch.arange(0, config.d_model, 2), torch.arange(1, config.d_model, 2)]).argsort()
    used = {f"model.{half}.embed_positions.weight" for half in ("encoder", "decoder")}
    for name in used & theirs.keys():
        table = theirs[name].float()[:, channels]
        if not torch.allclose(table, sinusoids(*table.shape), atol=1e-3):  # half precision
            raise CheckpointError(f"{path}: {name} are not the sinusoids of Vaswani et al. 2017; train a model anew")
    found = {}
    for name, shape in shapes.items():
        if name == "output_bias":
            weight = _bias(theirs["final_logits_bias"].flatten(), target)
            used.add("final_logits_bias")
        elif table_name := name.rpartition("embeddings.tables.")[2] if "tables" in name else "":
            side = source if table_name == "source" else target
            stored = next(theirs[each] for each in _TABLES[table_name] if each in theirs)
            n_filled = len(side.pieces) - len(side.rows)
            weight = F.pad(stored.float()[side.rows][:, channels], (0, 0, 0, n_filled))
            used.update(_TABLES[table_name])
        else:
            used.add(their_name(name))
            weight = in_channels(name, theirs[their_name(name)].float(), channels)
        if weight.shape != shape.shape:
            raise CheckpointError(f"{path}: a weight does not fit {CONFIG}: {name} is {tuple(weight.shape)}")
        found[name] = weight.contiguous()
    if others := sorted(theirs.keys() - used):
        raise CheckpointError(f"{path}: no model here has the weights {', '.join(others[:3])}; it is another variant")
    return found


def their_name(name: str) -> str:
    """What a weight of our layers is called there, in Marian's class and in those with its layers."""
    for ours, theirs in _NAMES.items():
        name = name.replace(ours, theirs)
    return name


def in_channels(name: str, weight: Tensor, channels: Tensor) -> Tensor:
    """A weight of our layers with the channels of the residual stream in another order.

    Args:
        name: ours.
    """
    if "to_out" in name or "norm" in name:  # adds to the residual stream
        return weight[channels]
    return weight[:, channels] if weight.dim() > 1 else weight  # what reads it; a bias inside the layer


def _bias(theirs: Tensor, target: _Vocabulary) -> Tensor:
    """The bias of the output. What is no token of theirs, such as a start that is not pad, is never written."""
    bias = torch.full((len(target.pieces),), _NEVER)
    bias[: len(target.rows)] = theirs.float()[target.rows].clamp(min=_NEVER)
    if target.rows[BOS] in (target.rows[PAD], target.rows[UNK], target.rows[EOS]):
        bias[BOS] = _NEVER
    return bias


# --- files ---


def _json(file: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    if default is not None and not file.exists():
        return default
    return _read(file, lambda file: dict(json.loads(file.read_text(encoding="utf-8"))))


def _read(file: Path, read: Callable[[Path], _T]) -> _T:
    try:
        return read(regular(file))
    except OSError as error:
        raise CheckpointError(
            f"{file}: cannot be read ({error.strerror or error}); a model in Marian's form needs it, so copy it"
        ) from error
    except (SafetensorError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: is damaged, or of another form; copy it again") from error
    except Exception as error:  # torch.load fails in many ways
        raise CheckpointError(
            f"{file}: holds more than tensors, or is not whole; it is not read, since a pickle can run code. Ask for "
            f"{WEIGHTS}, or copy it again [{type(error).__name__}]"
        ) from error
