"""Small random models with a real tokenizer, and what a run saves of them."""

import dataclasses
import functools
import random
from typing import Any

import torch
from torch import nn

from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import EOS

SENTENCES = ["Un chat dort.", "Le chien de la voisine court après la balle rouge.", "Oui !", "Où est la gare ?"]
DEFAULT = ModelConfig(d_model=24, n_heads=3, d_ff=40, n_encoder_layers=1, n_decoder_layers=2, max_length=50)

# Some sentences as random tokens, and as many translations.
_DRAWN = random.Random(4)
SOURCES, TARGETS = (
    [[_DRAWN.randrange(4, 310) for _ in range(n)] for n in lengths]
    for lengths in ((1, 2, 3, 5, 8, 2, 4, 13), (3, 1, 7, 2, 9, 4, 5, 2))
)
GREEDY = DecodingConfig(beam_size=1, max_length_a=1.0, max_length_b=5)
BEAM = DecodingConfig(beam_size=3, n_best=3, max_length_a=1.0, max_length_b=5)


@functools.cache
def tokenizer() -> Tokenizer:
    lines = [f"{a} {b} {c}." for a in SENTENCES for b in ("et", "ou", "sans") for c in ("moi", "toi", "elle")]
    return Tokenizer.train(lines, dataclasses.replace(RunConfig().tokenizer, vocab_size=310))


def random_model(seed: int = 1, end_bonus: float = 0.0, **changes: Any) -> Transformer:
    """Every weight random, norms and biases too, so that none can be swapped, left out or taken for another.

    Args:
        end_bonus: added to the logit of eos in a pre-norm model; without it random models hardly ever end.
    """
    torch.manual_seed(seed)
    model = Transformer(dataclasses.replace(DEFAULT, **changes), tokenizer().vocab_size).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
            else:
                parameter.mul_(1.3)
        if end_bonus:
            eos = model.embeddings.output[EOS]
            assert isinstance(model.decoder.norm, nn.LayerNorm)
            model.decoder.norm.bias.add_(end_bonus * eos / eos.square().sum())
    return model


def run_content(model: Transformer) -> SavedModel:
    """What a run saves as its model."""
    config = RunConfig(model=model.config, decoding=DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=4))
    config.data.max_sentence_tokens = 30
    config.data.dir, config.data.cache_dir = "/home/somebody/corpora", "/home/somebody/cache"
    config.data.valid = ["/home/somebody/other/news", {"src": "/home/somebody/a.fr", "tgt": "b.en"}]
    config.run_dir, config.resume = "/home/somebody/runs/1", "/home/somebody/runs/0"
    config.logger.wandb_entity = "somebody"
    config.trainer.max_steps = 1
    config.tokenizer.vocab_size = tokenizer().vocab_size
    return SavedModel.of(config, tokenizer(), model.state_dict())
