"""Try whether a batch fits into memory, without a trace in the run."""

from collections.abc import Iterable

import torch
from pytorch_lightning.plugins.precision import Precision
from pytorch_lightning.utilities.seed import isolate_rng

from seq2seq.config import ModelConfig
from seq2seq.dataset.batches import Batch, Shape
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import is_out_of_memory
from seq2seq.training.module import TranslationModule
from seq2seq.vocabulary import EOS

SPARE = 1.25  # Batches of many shapes leave holes in the memory that no single batch shows (docs/performance.md)


def largest(shapes: Iterable[Shape], model: ModelConfig) -> Shape:
    """The shape that needs the most memory."""
    return max(shapes, key=lambda shape: _n_kept(shape, model))


def _n_kept(shape: Shape, model: ModelConfig) -> int:
    """About how many numbers a forward pass keeps for the backward pass. Only good for comparing shapes."""
    n_pairs, n_src, n_tgt = shape

    def of_token(width: int) -> int:
        return 10 * width + 2 * model.d_ff

    of_pair = model.n_heads * (model.d_k if model.attention == "additive" else 1)
    encoder = n_src * of_token(model.d_memory) + of_pair * n_src * n_src
    cross = model.d_model * (6 * n_tgt + 2 * n_src)
    decoder = n_tgt * of_token(model.d_model) + cross + of_pair * n_tgt * (n_src + n_tgt)
    return n_pairs * (model.n_encoder_layers * encoder + model.n_decoder_layers * decoder)


def roomy(max_tokens: int, longest: int) -> Shape:
    """A batch that is larger than any that a budget allows: if it fits, the budget does, with something to spare.

    Args:
        longest: tokens of the longest sentence, with eos.
    """
    return Shape(int(SPARE * max_tokens) // longest, longest, longest)


def fits(module: TranslationModule, shape: Shape, precision: Precision, n_reserved: int = 0) -> bool:
    """Whether forward and backward of a batch of this shape fit into memory. Changes nothing that the run knows of.

    Args:
        n_reserved: bytes that the run needs besides, and has not taken yet.
    """
    is_fitting = True
    with isolate_rng(include_cuda=module.device.type == "cuda"):
        try:
            _forward_and_backward(module, shape, precision, n_reserved)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            is_fitting = False
    module.zero_grad(set_to_none=True)
    if module.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()  # a metric of the run
    elif not is_fitting:
        give_back_freed_memory()
    return is_fitting


def _forward_and_backward(module: TranslationModule, shape: Shape, precision: Precision, n_reserved: int) -> None:
    reserved = torch.empty(n_reserved, dtype=torch.uint8, device=module.device)
    with precision.forward_context():
        loss = module.loss(stand_in(shape, module))
    loss.smoothed.backward()
    del reserved  # it was there until now


def stand_in(shape: Shape, module: TranslationModule) -> Batch:
    """A batch of this shape. Which tokens it has makes no difference for the memory."""
    src, tgt = (
        torch.randint(EOS + 1, module.tokenizer.vocab_size, (shape.n_pairs, n), device=module.device)
        for n in (shape.n_src, shape.n_tgt)
    )
    return Batch(src, tgt, tgt, tgt.numel())


def missing_state(optimizer: torch.optim.Optimizer) -> int:
    """Bytes of the moments that an optimizer will take at its first step; of Adam two numbers a weight, of Muon one."""
    return sum(
        p.nbytes * (1 if "momentum" in group else 2)
        for group in optimizer.param_groups
        for p in group["params"]
        if p not in optimizer.state
    )
