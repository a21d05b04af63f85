"""What a layer of the encoder puts out.

Shapes: B sentences, S source tokens, D d_model
"""

from torch import Tensor

from seq2seq.model.transformer import Transformer


def encoder_states(model: Transformer, src: Tensor, layer: int | None) -> Tensor:
    """The states (B, S, D) of sources (B, S) after a layer.

    Args:
        layer: counted from 1; 0: what the first one reads. None: what the decoder reads, which is the output of the
            last layer after the final norm. With `model.norm=post` there is no final norm.
    """
    if layer is None:
        return model.encode(src)
    kept: list[Tensor] = []
    layers = model.encoder.layers
    if layer == 0:
        handle = layers[0].register_forward_pre_hook(lambda _, args: kept.append(args[0]))
    else:
        handle = layers[layer - 1].register_forward_hook(lambda _, args, output: kept.append(output))
    try:
        model.encode(src)
    finally:
        handle.remove()
    return kept[-1]
