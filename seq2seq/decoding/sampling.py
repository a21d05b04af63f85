"""Sampling: tokens drawn at random from the model's distribution, or from its most probable tokens.

Shapes: B sentences, S source tokens, K samples of a sentence, V vocabulary
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State


def sample(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    constraints: Constraints,
    numbers: Sequence[int],
    token_scores: bool = False,
) -> list[list[Hypothesis]]:
    """`n_best` samples for each source, best score first; see `search`.

    Temperature, top-k (Fan et al. 2018) and top-p (Holtzman et al. 2020) change the distribution, in this order. The
    scores do not depend on them: they are those that a search would give to the same tokens. The random numbers of a
    sentence depend only on the seed and on the sentence's number, so batches make no difference.

    Args:
        constraints: of each of the K = `n_best` samples of the first source, then of the second, ...
        numbers: of the sources.
    """
    n = config.n_best
    uniform = _uniform(numbers, constraints.longest, n, config.seed).to(src.device)  # (B K, longest)

    def choose(logits: Tensor, rows: Sequence[int], n_tokens: int) -> Tensor:
        return _draw(logits, uniform[rows, n_tokens].unsqueeze(-1), config)

    samples = [found for (found,) in greedy_search(model, src, config, constraints, token_scores, choose, n)]
    return [
        sorted(samples[begin : begin + n], key=lambda sample: (-sample.finished, -sample.score))
        for begin in range(0, len(samples), n)
    ]


def _uniform(numbers: Sequence[int], n_steps: int, n_samples: int, seed: int) -> Tensor:
    """Random numbers in [0, 1) for each sentence, sample and step; (B K, n_steps)."""
    drawn = []
    for number in numbers:
        # Neighbouring seeds of torch's generator give unrelated numbers. The factor keeps (seed, number) pairs apart.
        generator = torch.Generator().manual_seed((seed * 1_000_003 + number) % 2**63)
        drawn.append(torch.rand(n_steps, n_samples, generator=generator, dtype=torch.float64).T)
    return torch.cat(drawn)


def _draw(logits: Tensor, uniform: Tensor, config: DecodingConfig) -> Tensor:
    """One token for each of the uniform numbers (B, 1), from logits (B, 1, V), by inverting the distribution."""
    # Subtracting the maximum changes no probability, and then no temperature is too low for float32.
    relative = logits - logits.amax(-1, keepdim=True)
    scaled, ids = (relative / config.temperature).sort(dim=-1, descending=True, stable=True)  # (B, 1, V)
    if config.top_k:
        scaled, ids = scaled[..., : config.top_k], ids[..., : config.top_k]
    cumulative = scaled.double().softmax(-1).cumsum(-1)
    if config.top_p < 1:
        # The fewest tokens that reach top_p: a token is kept if those before it have less than top_p.
        n_kept = (cumulative < config.top_p).sum(-1, keepdim=True).clamp(max=cumulative.size(-1) - 1)
        mass = cumulative.gather(-1, n_kept)
    else:
        mass = cumulative[..., -1:]
    place = torch.searchsorted(cumulative, uniform.unsqueeze(-1) * mass, right=True)  # (B, 1, 1)
    place = place.clamp(max=ids.size(-1) - 1)
    return ids.gather(-1, place).squeeze(-1)
