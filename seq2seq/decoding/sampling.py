"""Sampling: tokens drawn at random from the model's distribution, or from its most probable tokens.

Shapes: B sentences, S source tokens, K samples, T tokens generated so far, V vocabulary
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints, log_normalizer
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.search_batch import SearchBatch
from seq2seq.vocabulary import EOS, PAD


def sample(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    constraints: Constraints,
    numbers: Sequence[int],
    token_scores: bool = False,
) -> list[list[Hypothesis]]:
    """`n_best` samples for each source (B, S), best score first; see `search`.

    Temperature, top-k (Fan et al. 2018) and top-p (Holtzman et al. 2020) change the distribution, in this order. The
    scores do not depend on them: they are those that a search would give to the same tokens. The random numbers of a
    sentence depend only on the seed and on the sentence's number, so batches make no difference.
    """
    n_samples = config.n_best
    batch = SearchBatch(model, src, constraints)
    last = batch.first_tokens  # (B, 1), then (B, K)
    uniform = _uniform(numbers, constraints.longest, n_samples, config.seed).to(src.device)  # (B, longest, K)
    tokens = src.new_empty((len(src), 1, 0))  # (B, 1, T), then (B, K, T)
    log_probs = torch.zeros((len(src), 1), device=src.device)
    has_ended = torch.zeros((len(src), 1), dtype=torch.bool, device=src.device)
    running = log_probs.new_zeros((len(src), 1, int(token_scores)))  # (B, K, T + 1) if asked for, else (B, K, 0)
    while True:
        logits = batch.step(last).float()  # (B, 1, V), then (B, K, V)
        constraints.apply(logits, tokens)
        n_tokens = tokens.size(-1)
        last = constraints.force(_draw(logits, uniform[:, n_tokens], config), n_tokens)  # (B, K)
        if n_tokens == 0 and n_samples > 1:  # from here on, the samples of a sentence differ
            batch.reorder(torch.zeros_like(last))
            tokens, log_probs, has_ended, logits, running = (
                x.repeat_interleave(n_samples, 1) for x in (tokens, log_probs, has_ended, logits, running)
            )
        gains = (logits.gather(-1, last.unsqueeze(-1)) - log_normalizer(logits)).squeeze(-1)  # (B, K)
        is_possible = gains.isfinite()  # False if the rules leave no token
        last = last.where(is_possible, PAD)
        log_probs = log_probs + gains.where(is_possible & ~has_ended, 0.0)
        tokens = torch.cat([tokens, last.unsqueeze(-1)], -1)
        if token_scores:
            running = torch.cat([running, log_probs.unsqueeze(-1)], -1)
        has_ended = has_ended | ~is_possible | (last == EOS)

        is_done = has_ended.all(-1) | (constraints.limits <= tokens.size(-1))  # (B,)
        for row, sentence in batch.newly_done(is_done.tolist()):  # the only wait for the device in a step
            samples = zip(tokens[row].tolist(), log_probs[row].tolist(), running[row].tolist(), strict=True)
            hypotheses = [Hypothesis.from_tokens(ids, log_prob, config, each) for ids, log_prob, each in samples]
            batch.found[sentence] = sorted(hypotheses, key=lambda sample: (-sample.finished, -sample.score))
        if batch.all_done:
            return batch.found
        if (kept := batch.shrink()) is not None:
            last, tokens, log_probs, has_ended, uniform, running = (
                x[kept] for x in (last, tokens, log_probs, has_ended, uniform, running)
            )


def _uniform(numbers: Sequence[int], n_steps: int, n_samples: int, seed: int) -> Tensor:
    """Random numbers in [0, 1) for each sentence, step and sample; (B, n_steps, K)."""
    drawn = []
    for number in numbers:
        # Neighbouring seeds of torch's generator give unrelated numbers. The factor keeps (seed, number) pairs apart.
        generator = torch.Generator().manual_seed((seed * 1_000_003 + number) % 2**63)
        drawn.append(torch.rand(n_steps, n_samples, generator=generator, dtype=torch.float64))
    return torch.stack(drawn)


def _draw(logits: Tensor, uniform: Tensor, config: DecodingConfig) -> Tensor:
    """One token for each of the uniform numbers (B, K), from logits (B, 1 or K, V), by inverting the distribution."""
    # Subtracting the maximum changes no probability, and then no temperature is too low for float32.
    relative = logits - logits.amax(-1, keepdim=True)
    scaled, ids = (relative / config.temperature).sort(dim=-1, descending=True, stable=True)  # (B, 1 or K, V)
    if config.top_k:
        scaled, ids = scaled[..., : config.top_k], ids[..., : config.top_k]
    cumulative = scaled.double().softmax(-1).cumsum(-1)
    if config.top_p < 1:
        # The fewest tokens that reach top_p: a token is kept if those before it have less than top_p.
        n_kept = (cumulative < config.top_p).sum(-1, keepdim=True).clamp(max=cumulative.size(-1) - 1)
        mass = cumulative.gather(-1, n_kept)
    else:
        mass = cumulative[..., -1:]
    cumulative = cumulative.expand(-1, uniform.size(1), -1).contiguous()
    place = torch.searchsorted(cumulative, (uniform.unsqueeze(-1) * mass).contiguous(), right=True)  # (B, K, 1)
    place = place.clamp(max=ids.size(-1) - 1)
    return ids.expand(-1, uniform.size(1), -1).gather(-1, place).squeeze(-1)
