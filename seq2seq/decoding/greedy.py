"""Greedy search: the most probable next token, again and again. And sampling, which draws it.

Shapes: B sentences, S source tokens, T tokens generated so far, K samples of a sentence, V vocabulary
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, NextTokenScores, SearchBatch, State
from seq2seq.decoding.constraints import Constraints, log_normalizer
from seq2seq.vocabulary import EOS, PAD

# From logits (B, 1, V), the numbers of their B sentences, and how many tokens came before: the next token, (B, 1).
Choice = Callable[[Tensor, Sequence[int], int], Tensor]


def most_probable(logits: Tensor, sentences: Sequence[int], n_tokens: int) -> Tensor:
    """Of equally probable tokens the one with the lowest id."""
    return logits.argmax(-1)


def greedy_search(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    constraints: Constraints,
    choose: Choice = most_probable,
    n_copies: int = 1,
) -> list[list[Hypothesis]]:
    """One hypothesis for each source (B, S), or for each of its `n_copies`; see `search`.

    Greedy search stops at the first eos. `beam_search` with a beam of one would go on while a longer hypothesis could
    still get a better normalised score. `choose` may take other tokens than the most probable ones.
    """
    batch = SearchBatch(model, src, constraints, n_copies)
    last = batch.first_tokens  # (B, 1)
    tokens = last.new_empty((len(last), 1, 0))  # (B, 1, T)
    log_probs = torch.zeros(last.shape, device=src.device)  # (B, 1)
    while True:
        logits = batch.step(last).float()  # (B, 1, V)
        constraints.apply(logits, tokens)
        chosen = constraints.force(choose(logits, batch.sentences, tokens.size(-1)), tokens.size(-1))  # (B, 1)
        chosen_logits = logits.gather(-1, chosen.unsqueeze(-1))  # (B, 1, 1)
        extended = (chosen_logits + (log_probs.unsqueeze(-1) - log_normalizer(logits))).squeeze(-1)
        is_possible = extended.isfinite()  # False if the rules leave no token
        last = chosen.where(is_possible, PAD)
        log_probs = extended.where(is_possible, log_probs)
        tokens = torch.cat([tokens, last.unsqueeze(-1)], -1)

        is_done = (last == EOS).logical_or_(last == PAD).squeeze(-1) | (constraints.limits <= tokens.size(-1))  # (B,)
        # The device is waited for once in a step, and three times where sentences end.
        if newly_done := batch.newly_done(is_done.tolist()):
            rows, sentences = zip(*newly_done, strict=True)
            ended = [x[list(rows)].tolist() for x in (tokens[:, 0], log_probs[:, 0])]
            for sentence, ids, log_prob in zip(sentences, *ended, strict=True):
                batch.found[sentence] = [Hypothesis.from_tokens(ids, log_prob, config)]
        if batch.all_done:
            return batch.found
        if (kept := batch.shrink()) is not None:
            last, tokens, log_probs = (x[kept] for x in (last, tokens, log_probs))


# --- sampling: tokens drawn from the model's distribution, or from its most probable tokens ---


def sample(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    constraints: Constraints,
    numbers: Sequence[int],
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

    samples = [found for (found,) in greedy_search(model, src, config, constraints, choose, n)]
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
    # The fewest tokens that reach top_p: a token is kept if those before it have less than top_p.
    last = (cumulative < config.top_p).sum(-1, keepdim=True).clamp(max=cumulative.size(-1) - 1)
    mass = cumulative.gather(-1, last)
    place = torch.searchsorted(cumulative, uniform.unsqueeze(-1) * mass, right=True)  # (B, 1, 1)
    place = place.clamp(max=ids.size(-1) - 1)
    return ids.gather(-1, place).squeeze(-1)
