"""Which label a classifier gives to texts, batch by batch.

Shapes: N texts, B texts of a batch, S tokens, C labels
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.model.classifier import Classifier
from seq2seq.vocabulary import EOS, PAD


def label_log_probs(model: Classifier, sources: Sequence[Sequence[int]], max_tokens: int, bf16: bool = False) -> Tensor:
    """Log-probabilities (N, C), on the CPU, of the labels of texts, in their order.

    Args:
        sources: ids without eos, none longer than the model takes.
        max_tokens: of a batch: texts x longest text.
        bf16: multiply in bfloat16.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    found = torch.zeros(len(sources), model.to_labels.out_features)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for rows in _batches(sources, max_tokens):
            logits = model(_padded([sources[i] for i in rows]).to(device))  # (B, C)
            found[rows] = logits.float().log_softmax(-1).cpu()
    model.train(was_training)
    return found


def _batches(sources: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """Places of texts of like length, each place once."""
    batches: list[list[int]] = []
    for i in sorted(range(len(sources)), key=lambda i: -len(sources[i])):
        longest = len(sources[batches[-1][0]]) + 1 if batches else 0
        if not batches or (len(batches[-1]) + 1) * longest > max_tokens:
            batches.append([])
        batches[-1].append(i)
    return batches


def _padded(sources: Sequence[Sequence[int]]) -> Tensor:
    width = max(map(len, sources)) + 1
    return torch.tensor([[*ids, EOS, *[PAD] * (width - len(ids) - 1)] for ids in sources])  # (B, S)
