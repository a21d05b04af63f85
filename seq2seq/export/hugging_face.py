"""A trained model in the form of `transformers`: a directory that its `AutoModelForSeq2SeqLM` loads.

Three classes there compute what our Transformer computes (`CLASSES`). The names of weights differ, and the order of the
channels of sinusoidal positions: sines and cosines alternate here, and stand in two halves there. So the channels of
the residual stream are put in another order, once, in each weight that reads it or adds to it.
"""

import base64
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made when it is imported
from torch import Tensor

from seq2seq.artifacts.marian import in_channels, their_name
from seq2seq.artifacts.model_directory import CONFIG, WEIGHTS, described
from seq2seq.config import DROPOUTS, DecodingConfig, ModelConfig
from seq2seq.errors import CheckpointError
from seq2seq.export.conversion import with_plain_residuals
from seq2seq.files import write_json
from seq2seq.model.layers import ACTIVATIONS
from seq2seq.model.masks import HIDDEN
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import SPACE, Tokenizer
from seq2seq.vocabulary import BOS, EOS, PAD, UNK


class HuggingFaceClass(NamedTuple):
    """A class of `transformers`."""

    model_type: str
    architecture: str


# By `model.norm` and `model.positions`.
CLASSES = {
    ("post", "sinusoidal"): HuggingFaceClass("marian", "MarianMTModel"),
    ("pre", "sinusoidal"): HuggingFaceClass("pegasus", "PegasusForConditionalGeneration"),
    ("pre", "learned"): HuggingFaceClass("blenderbot", "BlenderbotForConditionalGeneration"),
}
_OURS = "seq2seq"  # says in config.json whose directory it is
# Keys that may have any value. Of the others, the classes have what is the default here.
_FREE = {
    *("norm", "residual", "positions", "embeddings", "bias", "output_bias", "activation", "max_length", *DROPOUTS),
    *("d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers"),
}


def class_of(config: ModelConfig, model_type: str = "bpe", *, is_joint: bool = True) -> HuggingFaceClass:
    """The class of `transformers` that computes the same.

    Args:
        model_type: of the tokenizer. Theirs for unigram models finds special ids and bytes in text that spells them.
        is_joint: whether one tokenizer serves both sides; theirs of `tokenizer.json` does.
    Raises:
        CheckpointError: there is none. The message has each key in the way, and a value that is not.
    """
    remedies = [
        f"model.{field.name}={value} ({field.default} is loadable)"
        for field in fields(config)
        if field.name not in _FREE and (value := getattr(config, field.name)) != field.default
    ]
    if config.activation not in ACTIVATIONS:
        remedies.append(f"model.activation={config.activation} ({', '.join(ACTIVATIONS)} are loadable)")
    if model_type != "bpe":
        remedies.append(f"tokenizer.model_type={model_type} (bpe is loadable)")
    if not is_joint:
        remedies.append("a tokenizer for each side (one for both is loadable)")
    kind = CLASSES.get((config.norm, config.positions))
    if kind is None:
        pairs = ", ".join(f"model.norm={norm} with model.positions={positions}" for norm, positions in CLASSES)
        remedies.append(f"model.norm={config.norm} with model.positions={config.positions} (loadable: {pairs})")
    elif kind.model_type != "marian" and config.embeddings != "shared":
        remedies.append(f"model.embeddings={config.embeddings} (shared is loadable, or model.norm=post)")
    if remedies or kind is None:
        raise CheckpointError(
            f"nothing in transformers is the same as {'; '.join(remedies)}; train a model with these values, or export "
            "it with --format safetensors or ctranslate2"
        )
    return kind


def is_hugging_face_directory(path: Path) -> bool:
    """Whether `write_hugging_face` made the directory."""
    return described(path).get("trained_with") == _OURS


def write_hugging_face(directory: Path, model: Transformer, tokenizer: Tokenizer, decoding: DecodingConfig) -> None:
    """Write all files that `transformers` reads into a directory.

    Raises:
        CheckpointError: see `class_of`.
    """
    kind = class_of(model.config, tokenizer.model_type, is_joint=tokenizer.target is tokenizer)
    write_json(directory / CONFIG, _config(model.config, kind, tokenizer.vocab_size))
    write_json(directory / "generation_config.json", _generation_config(model.config, decoding))
    save_file(dict(_weights(with_plain_residuals(model))), directory / WEIGHTS, metadata={"format": "pt"})
    _write_tokenizer(directory, tokenizer, model.config.max_length)


def _config(config: ModelConfig, kind: HuggingFaceClass, vocab_size: int) -> dict[str, Any]:
    return {
        "trained_with": _OURS,
        "architectures": [kind.architecture],
        "model_type": kind.model_type,
        "is_encoder_decoder": True,
        "vocab_size": vocab_size,
        "decoder_vocab_size": vocab_size,
        "share_encoder_decoder_embeddings": config.embeddings == "shared",
        "tie_word_embeddings": config.embeddings != "separate",
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "max_position_embeddings": config.max_length,
        "scale_embedding": True,
        "normalize_before": config.norm == "pre",  # CTranslate2's converter asks for these two
        "normalize_embedding": False,
        **_SPECIAL,
    }


# A decoder starts with pad there, as both classes are used to; its embedding is that of our bos (`_weights`).
_SPECIAL = {
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": PAD,
    "forced_eos_token_id": None,  # a translation at the limit is cut, as here
}


def _generation_config(config: ModelConfig, decoding: DecodingConfig) -> dict[str, Any]:
    """Our search by the options of theirs. They have no penalty of GNMT's form; length is the nearest."""
    return {
        **_SPECIAL,
        "max_length": config.max_length,
        "num_beams": decoding.beam_size,
        "length_penalty": 0.0 if decoding.normalization == "none" else decoding.alpha,
        "early_stopping": "never",  # a sentence goes on while an unfinished hypothesis could still win
        "min_new_tokens": max(1, decoding.min_length_b),  # eos is not the first token
        "renormalize_logits": True,  # what is forbidden has no share of the probability
        "no_repeat_ngram_size": decoding.no_repeat_ngram,
        "encoder_no_repeat_ngram_size": 0,  # Blenderbot has another default
    }


# --- weights ---


def _weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    config = model.config
    order = torch.arange(config.d_model)
    if config.positions == "sinusoidal":
        order = torch.cat([order[0::2], order[1::2]])  # channels here, in the order of there

    def starts(table: Tensor) -> Tensor:
        """A table whose pad is our bos, since it starts there. Else nobody looks at pad."""
        weight = table.detach()[:, order]
        weight[PAD] = weight[BOS]
        return weight.contiguous()

    stored = model.state_dict()
    for name, weight in stored.items():
        if name.startswith(("encoder.", "decoder.")):
            yield their_name(name), in_channels(name, weight, order).contiguous()
            bias_name = f"{name.removesuffix('weight')}bias"
            if name.endswith("weight") and bias_name not in stored:  # of attention, where there it always is
                yield their_name(bias_name), weight.new_zeros(len(weight))
    tables = model.embeddings
    if config.embeddings == "shared":
        yield "model.shared.weight", starts(tables.target)
    else:
        yield "model.encoder.embed_tokens.weight", tables.source.detach()[:, order].contiguous()
        yield "model.decoder.embed_tokens.weight", starts(tables.target)
        yield "lm_head.weight", starts(tables.output)  # 5.0 does not share it with the target, as newer ones do
    bias = torch.zeros(len(tables.output)) if model.output_bias is None else model.output_bias.detach().clone()
    bias[[PAD, UNK, BOS]] = HIDDEN
    yield "final_logits_bias", bias[None]
    for half in ("encoder", "decoder"):  # sinusoids too, though the classes compute them: 4.57 warns otherwise
        yield f"model.{half}.embed_positions.weight", model.positions.table.detach()[:, order].contiguous()


# --- tokenizer ---

_MANY = 1_000  # spaces at the beginning
_APART = "\ufff8"  # no character of Unicode, and none is joined to it


def _write_tokenizer(directory: Path, tokenizer: Tokenizer, max_length: int) -> None:
    """`tokenizer.json` for transformers, and the two models with their vocabulary in Marian's form for others."""
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    special = {"pad_token": pieces[PAD], "unk_token": pieces[UNK], "bos_token": pieces[BOS], "eos_token": pieces[EOS]}
    write_json(directory / "tokenizer.json", _tokenizer(tokenizer, pieces))
    write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": max_length,
            "model_input_names": ["input_ids", "attention_mask"],
            "split_special_tokens": True,  # `</s>` in a text is text
            "clean_up_tokenization_spaces": False,
            "padding_side": "right",
            **special,
        },
    )
    write_json(directory / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    for side in ("source", "target"):
        (directory / f"{side}.spm").write_bytes(tokenizer.proto)


def _tokenizer(tokenizer: Tokenizer, pieces: list[str]) -> dict[str, Any]:
    """What SentencePiece does, in the form of the package `tokenizers`."""
    normalizers: list[dict[str, Any]] = []
    rule = ModelProto.FromString(tokenizer.proto).normalizer_spec
    if table := rule.precompiled_charsmap:
        # Their table of replacements loses a mark that follows one of its letters, unless something stands between. It
        # replaces single characters only then, so letters and marks are joined before.
        normalizers += [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"(?<=.)(?=\p{M})"}, "content": _APART},
            {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()},
            {"type": "Replace", "pattern": {"String": _APART}, "content": ""},
        ]
    if rule.remove_extra_whitespaces:  # at the end, SentencePiece takes `SPACE` for a space too
        normalizers += [
            {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
            for pattern, content in ((" {2,}", " "), (f"^ +|[ {SPACE}]+$", ""))
        ]
    normalizers += [
        {"type": "Prepend", "prepend": SPACE},
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
    ]
    added = [
        {"id": i, "content": pieces[i], "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for i in (PAD, UNK, BOS, EOS, *tokenizer.tags.values())
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": pieces[EOS], "type_id": 0}}],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
                {"SpecialToken": {"id": pieces[EOS], "type_id": 0}},
            ],
            "special_tokens": {pieces[EOS]: {"id": pieces[EOS], "ids": [EOS], "tokens": [pieces[EOS]]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": _MANY if rule.remove_extra_whitespaces else 1, "stop": 0},
            ],
        },
        "model": _bpe(tokenizer, pieces),
    }


def _bpe(tokenizer: Tokenizer, pieces: list[str]) -> dict[str, Any]:
    """SentencePiece merges the two neighbours whose union has the best score; here, merges are listed, best first."""
    subwords = tokenizer.subwords()
    merges = []
    for piece, (_, score) in subwords.items():
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in subwords and right in subwords:
                merges.append((-score, subwords[left][0], subwords[right][0], left, right))
    return {
        "type": "BPE",
        "unk_token": pieces[UNK],
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": False,
        "dropout": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "vocab": {piece: i for i, piece in enumerate(pieces)},
        "merges": [[left, right] for *_, left, right in sorted(merges)],
    }
