"""The modules in which a model attends."""

from seq2seq.inspection.attention_kinds import Kind
from seq2seq.model.attention import MultiHeadAttention
from seq2seq.model.transformer import Transformer


def attention_modules(model: Transformer) -> dict[Kind, list[MultiHeadAttention]]:
    """Those of each kind, in the order of the layers."""
    return {
        "encoder": [layer.self_attention for layer in model.encoder.layers],
        "decoder": [layer.self_attention for layer in model.decoder.layers],
        "cross": [layer.cross_attention for layer in model.decoder.layers],
    }
