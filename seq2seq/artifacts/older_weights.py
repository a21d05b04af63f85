"""The weights of older versions under the names of today."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from seq2seq.config import ModelConfig

if TYPE_CHECKING:
    from torch import Tensor


def renamed(weights: Mapping[str, "Tensor"], config: ModelConfig) -> Iterator[tuple[str, "Tensor"]]:
    """Each weight and its name. Queries, keys and values were once rows of one matrix, as were a gate and its values.

    Raises:
        RuntimeError: such a matrix has another number of rows.
    """
    queries, keys, values = config.n_heads * config.d_k, config.n_groups * config.d_k, config.n_groups * config.d_v
    joined = {
        "to_qkv": {"to_q": queries, "to_k": keys, "to_v": values},
        "to_kv": {"to_k": keys, "to_v": values},
        "to_gate_and_value": {"to_gate": config.d_ff, "to_value": config.d_ff},
    }
    for name, weight in weights.items():
        *layer, linear, kind = ["", *name.split(".")]
        if linear in joined:
            for part, rows in zip(joined[linear], weight.split(list(joined[linear].values())), strict=True):
                yield ".".join([*layer[1:], part, kind]), rows
        else:
            yield name, weight
