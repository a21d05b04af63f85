"""Where the model looks in the source while it writes a sentence: cross-attention, for pictures.

Shapes: B sentences, L layers, H n_heads, T target tokens, S source tokens
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seq2seq.dataset.batches import collate
from seq2seq.dataset.store import PairStore
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.domains import Domains

# Tokens of the longer side, with eos. A picture of the first length is easy to read, and one of the second can be read.
READABLE, LONGEST = 24, 60


class AttentionMap(NamedTuple):
    """Each row is a target token, and says how much of the source the model used to predict it."""

    pair: int  # of the corpus, counted from 0
    source: list[str]  # pieces
    target: list[str]
    heads: NDArray[np.float32]  # (L, H, T, S); rows sum to 1

    @property
    def weights(self) -> NDArray[np.float32]:
        """The mean over layers and heads, (T, S)."""
        mean: NDArray[np.float32] = self.heads.mean((0, 1))
        return mean

    @property
    def name(self) -> str:
        return f"attention/line_{self.pair + 1}"


def choose_readable(store: PairStore, domains: Domains, n: int) -> list[int]:
    """Up to `n` pairs of a length that suits a picture, spread over the corpus and its domains."""
    shorter, longer = (side(store.src_lengths, store.tgt_lengths) for side in (np.minimum, np.maximum))
    for longest in (READABLE, LONGEST):
        fitting = np.flatnonzero((shorter > 0) & (longer < longest))
        if len(fitting):
            return [int(fitting[place]) for place in domains.choose(fitting.tolist(), n)]
    return []


def attention_maps(model: Transformer, store: PairStore, tokenizer: Tokenizer, pairs: list[int]) -> list[AttentionMap]:
    """What the model looks at while it is given the reference: a pair always has the same axes."""
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    maps = []
    for pair in pairs:
        batch = collate([store.src(pair)], [store.tgt(pair)])
        with torch.inference_mode():
            found = model.attention_weights(batch.src.to(device), batch.tgt_in.to(device)).cross
        heads = torch.stack(found).float()[:, 0]  # (B, H, T, S) of each layer -> (L, H, T, S)
        source, target = (tokenizer.pieces(ids[0].tolist()) for ids in (batch.src, batch.tgt_out))
        maps.append(AttentionMap(pair, source, target, heads.cpu().numpy()))
    model.train(was_training)
    return maps
