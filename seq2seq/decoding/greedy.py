"""Greedy search: the most probable next token, again and again.

Shapes: B sentences, S source tokens, T tokens generated so far, V vocabulary
"""

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.hypothesis import Hypothesis, of_tokens
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.rows import Rows
from seq2seq.decoding.tokens import log_normalizer
from seq2seq.vocabulary import BOS, EOS, PAD


def greedy_search(
    model: NextTokenScores[State], src: Tensor, config: DecodingConfig, constraints: Constraints
) -> list[list[Hypothesis]]:
    """One hypothesis for each source (B, S); see `search`.

    It is not `beam_search` with one place: that one goes on past an eos while a longer hypothesis could still
    end up with the better normalised score. Of equally probable tokens the lowest id is taken.
    """
    state = model.start(src, constraints.longest)
    tokens = src.new_empty((len(src), 1, 0))  # (B, 1, T)
    log_probs = torch.zeros((len(src), 1), device=src.device)  # (B, 1)
    last = src.new_full((len(src), 1), BOS)
    rows = Rows(len(src))
    found: list[list[Hypothesis]] = [[] for _ in range(len(src))]
    while True:
        logits, state = model.step(state, last)
        logits = logits.float()  # (B, 1, V)
        constraints.apply(logits, tokens)
        last = logits.argmax(-1)  # (B, 1)
        forced = constraints.forced(tokens.size(-1))
        if forced is not None:
            last = torch.where(forced == PAD, last, forced)
        of_last = logits.gather(-1, last.unsqueeze(-1))  # (B, 1, 1)
        log_probs = (of_last + (log_probs.unsqueeze(-1) - log_normalizer(logits))).squeeze(-1)
        tokens = torch.cat([tokens, last.unsqueeze(-1)], -1)
        is_done = (last.squeeze(-1) == EOS) | (constraints.limits <= tokens.size(-1))
        for row, sentence in rows.newly_done(is_done.tolist()):  # the only wait for the device in a step
            found[sentence] = [of_tokens(tokens[row, 0].tolist(), log_probs[row].item(), config)]
        if rows.all_done:
            return found
        if (staying := rows.shrink()) is not None:
            kept = torch.tensor(staying, device=src.device)
            state = model.select(state, kept)
            constraints.select(kept)
            last, tokens, log_probs = last[kept], tokens[kept], log_probs[kept]
