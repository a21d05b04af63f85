"""Which variant of attention a configuration asks for. All others of a model's files know equation 1 alone."""

import math
from functools import partial

from seq2seq.config import ModelConfig
from seq2seq.model.attention import Attend, CrossAttention, SelfAttention, attention
from seq2seq.model.variants.groups import GroupedQueries
from seq2seq.model.variants.patterns import pattern
from seq2seq.model.variants.scores import AddedScores, Explicit, MultipliedScores, hard, soft
from seq2seq.model.variants.self_attention import PatternedSelfAttention
from seq2seq.plugins import ATTENTIONS


def self_attention(config: ModelConfig) -> SelfAttention:
    attend, within = heads(config), pattern(config)
    return PatternedSelfAttention(config, attend, within) if within else SelfAttention(config, attend)


def cross_attention(config: ModelConfig) -> CrossAttention:
    return CrossAttention(config, heads(config))


def heads(config: ModelConfig) -> Attend:
    """The choice of `model.attention`, `temperature`, `hard_attention` and `n_kv_heads`. A plugin makes all of it."""
    if config.attention in ATTENTIONS:
        return ATTENTIONS[config.attention](config)
    beta = 1 / config.temperature
    to_weights = hard if config.hard_attention else soft
    if config.attention == "additive":
        return Explicit(AddedScores(config.n_heads, config.d_k, beta), to_weights)
    scale = beta / math.sqrt(config.d_k) if config.attention == "scaled" else beta
    if config.hard_attention:
        return Explicit(MultipliedScores(scale), to_weights)
    attend: Attend = attention if scale == 1 / math.sqrt(config.d_k) else partial(attention, scale=scale)
    return attend if config.n_groups == config.n_heads else GroupedQueries(attend)
