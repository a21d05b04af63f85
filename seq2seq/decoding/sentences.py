"""Search for many sentences: sorted into batches, and returned in their own order."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.plan import plan_batches
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.search import search
from seq2seq.errors import TranslationError
from seq2seq.vocabulary import EOS, PAD


def decode_ids(
    model: NextTokenScores[State],
    sources: Sequence[Sequence[int]],
    config: DecodingConfig,
    device: torch.device,
    max_length: int,
) -> list[list[Hypothesis]]:
    """Translate sentences given as token ids, without gradients.

    Args:
        sources: token ids without bos and eos. A source without tokens does not reach the model. It gets one hypothesis
            without tokens, with log-probability 0.
        device: where the model is.
        max_length: most tokens of a source with its eos, and most decoder steps, that the model can do.
    Returns:
        For each source its hypotheses, best first; see `search`.
    Raises:
        TranslationError: sources longer than the model can read, before any work.
    """
    _check_lengths(sources, max_length)
    found: list[list[Hypothesis]] = [[Hypothesis([], 0.0, 0.0, True)] for _ in sources]
    for indices in plan_batches([len(source) for source in sources], config):
        with torch.inference_mode():
            src = pad_sources([sources[i] for i in indices], max_length).to(device)
            hypotheses = search(model, src, config, max_length, numbers=indices)
        for index, alternatives in zip(indices, hypotheses, strict=True):
            found[index] = alternatives
    return found


def pad_sources(sources: Sequence[Sequence[int]], max_length: int) -> Tensor:
    """Token ids (B, S), each source followed by eos and then pad.

    S is a multiple of 4, or of 8 above 16, but at most `max_length`: oneDNN compiles its kernels for each S.
    """
    longest = max(len(source) for source in sources) + 1
    step = 4 if longest <= 16 else 8
    width = max(longest, min(-(-longest // step) * step, max_length))
    return torch.tensor([[*source, EOS, *[PAD] * (width - len(source) - 1)] for source in sources])


def _check_lengths(sources: Sequence[Sequence[int]], max_length: int) -> None:
    too_long = [i for i, source in enumerate(sources) if len(source) + 1 > max_length]
    if too_long:
        first_index = too_long[0]
        raise TranslationError(
            f"{len(too_long)} of {len(sources)} sources are longer than the {max_length - 1} tokens that "
            f"this model reads; the first is number {first_index + 1}, with {len(sources[first_index])} tokens. "
            "Split them into sentences."
        )
