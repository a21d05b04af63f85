"""Marian of Hugging Face with our sizes, as hf_train.py trains it and hf_marian.py translates with it."""

from typing import Any

from meter import BOS, EOS, PAD
from transformers import MarianConfig


def marian_config(settings: dict[str, Any], vocab_size: int) -> MarianConfig:
    """settings: the section `model` of our configuration."""
    return MarianConfig(
        vocab_size=vocab_size,
        decoder_vocab_size=vocab_size,
        d_model=settings["d_model"],
        encoder_layers=settings["n_encoder_layers"],
        decoder_layers=settings["n_decoder_layers"],
        encoder_attention_heads=settings["n_heads"],
        decoder_attention_heads=settings["n_heads"],
        encoder_ffn_dim=settings["d_ff"],
        decoder_ffn_dim=settings["d_ff"],
        activation_function="relu",
        dropout=settings["dropout"],
        attention_dropout=settings["attention_dropout"],
        activation_dropout=settings["activation_dropout"],
        max_position_embeddings=settings["max_length"],
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
