"""The search that a configuration asks for: of a batch, or of many sentences, sorted into batches."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, NextTokenScores, State, plan_batches
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.greedy import greedy_search, sample
from seq2seq.vocabulary import EOS, PAD


def search(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    max_length: int,
    prefixes: Sequence[Sequence[int]] | None = None,
    numbers: Sequence[int] | None = None,
    required: Sequence[Sequence[Sequence[int]]] | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch of sources: by sampling, greedily with `beam_size` 1, otherwise by beam search.

    pad, bos and unk are never generated. No hypothesis is empty: eos cannot be the first token. The other sentences of
    a batch make no difference beyond floating-point noise.

    Args:
        src: (B, S) token ids, each source with at least one token before its eos, padded with pad.
        config: the section `decoding`; `max_batch_tokens` is not used here.
        max_length: most decoder steps the model can do.
        prefixes: for each source, the tokens that its hypotheses begin with; shorter than `max_length`. Their
            log-probabilities count like those of other tokens.
        numbers: for each source, a number that says which random numbers its samples take; by default 0, 1, 2, ...
        required: for each source, the phrases that its hypotheses must contain, see `constraints.py`. They need a beam.
    Returns:
        For each source at least one and up to `n_best` hypotheses, best first. Those that ended come first, by score.
        If they are fewer than `n_best`, those that were cut follow: with fewer missing phrases first, then by score.
        A hypothesis is cut at the length limit, or, if there is no other, where the rules leave no token that could
        follow it. Fewer than `n_best` come back only if the beam did not hold as many, as with a vocabulary of a few
        tokens.
    """
    prefixes = prefixes or [()] * len(src)
    if config.sampling:
        assert not required or not any(required)
        prefixes = [prefix for prefix in prefixes for _ in range(config.n_best)]
        constraints = Constraints(src.repeat_interleave(config.n_best, 0), config, max_length, prefixes)
        return sample(model, src, config, constraints, numbers or range(len(src)))
    constraints = Constraints(src, config, max_length, prefixes, required)
    assert config.n_best <= config.beam_size
    if config.beam_size == 1:
        assert constraints.required is None
        return greedy_search(model, src, config, constraints)
    return beam_search(model, src, config, constraints)


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
        max_length: most tokens of a source with its eos, and most decoder steps, that the model can do. No source has
            more: `prepare` refuses such sentences of valid and test.
    Returns:
        For each source its hypotheses, best first; see `search`.
    """
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
