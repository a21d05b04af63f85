"""Directories in Marian's form with random weights, written by `transformers` itself."""

import io
import json
from itertools import islice
from pathlib import Path
from typing import Any

import sentencepiece
import torch

SAMPLE = Path(__file__).parents[2] / "data/sample"
ENGLISH, FRENCH = (
    [line.rstrip("\n") for line in islice((SAMPLE / f"train.{language}").open(encoding="utf-8"), 1000)]
    for language in ("en", "fr")
)
SIZES: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
    "scale_embedding": True,
    "activation_function": "swish",
}


def marian_directory(
    path: Path, *, model_type: str = "unigram", separate: bool = False, left_out: int = 5, **changes: Any
) -> Path:
    """A model of both languages, with special ids where OPUS-MT has them.

    Args:
        separate: a vocabulary for each side.
        left_out: how many pieces of each side have no id.
        changes: of `MarianConfig`.
    """
    from transformers import MarianConfig, MarianMTModel

    path.mkdir()
    pieces = []
    for name, lines in (("source", ENGLISH), ("target", FRENCH)):
        model = _sentencepiece(lines, model_type)
        (path / f"{name}.spm").write_bytes(model)
        loaded = sentencepiece.SentencePieceProcessor(model_proto=model)
        texts = [loaded.id_to_piece(i) for i in range(3, loaded.vocab_size())]
        pieces.append(texts[left_out:])
    own = [list(dict.fromkeys(pieces[0])), list(dict.fromkeys(pieces[1]))]
    own = own if separate else [list(dict.fromkeys([*own[0], *own[1], ">>fra<<", ">>deu<<"]))]
    vocabularies = [{piece: i for i, piece in enumerate(["</s>", "<unk>", *texts, "<pad>"])} for texts in own]
    for name, vocabulary in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=False):
        (path / name).write_text(json.dumps(vocabulary))
    (path / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": "fr", "separate_vocabs": separate, "model_max_length": 64})
    )
    source, target = vocabularies[0], vocabularies[-1]
    config = MarianConfig(
        **SIZES
        | {
            "vocab_size": len(source),
            "decoder_vocab_size": len(target),
            "pad_token_id": target["<pad>"],
            "decoder_start_token_id": target["<pad>"],
            "eos_token_id": target["</s>"],
            "forced_eos_token_id": None,
            "share_encoder_decoder_embeddings": not separate,
            "bad_words_ids": [[target["<pad>"]], [target["<unk>"]]],
        }
        | changes
    )
    torch.manual_seed(3)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * (0.3 if parameter.dim() == 1 else 0.25))
        model.final_logits_bias.add_(torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, target["</s>"]] += 6  # else random models hardly ever end
    model.save_pretrained(path)
    return path


def _sentencepiece(lines: list[str], model_type: str) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type=model_type, vocab_size=300, minloglevel=2,
        hard_vocab_limit=False, character_coverage=0.99,
    )  # fmt: skip
    return model.getvalue()
