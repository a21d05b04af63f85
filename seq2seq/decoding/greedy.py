"""Greedy search: the most probable next token, again and again.

Shapes: B sentences, S source tokens, T tokens generated so far, V vocabulary
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints, log_normalizer
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.search_batch import SearchBatch
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
    token_scores: bool = False,
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
    running = log_probs.new_zeros((len(last), int(token_scores)))  # (B, T + 1) if asked for, else (B, 0)
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
        if token_scores:
            running = torch.cat([running, log_probs], -1)

        is_done = (last == EOS).logical_or_(last == PAD).squeeze(-1) | (constraints.limits <= tokens.size(-1))  # (B,)
        # The device is waited for once in a step, and three times where sentences end.
        if newly_done := batch.newly_done(is_done.tolist()):
            rows, sentences = zip(*newly_done, strict=True)
            ended = [x[list(rows)].tolist() for x in (tokens[:, 0], log_probs[:, 0], running)]
            for sentence, ids, log_prob, before in zip(sentences, *ended, strict=True):
                batch.found[sentence] = [Hypothesis.from_tokens(ids, log_prob, config, before)]
        if batch.all_done:
            return batch.found
        if (kept := batch.shrink()) is not None:
            last, tokens, log_probs, running = (x[kept] for x in (last, tokens, log_probs, running))
