"""Greedy search: the most probable next token, again and again.

Shapes: B sentences, S source tokens, T tokens generated so far, V vocabulary
"""

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.length import length_limits, length_penalty
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.tokens import allowed_logits
from seq2seq.vocabulary import BOS, EOS


def greedy_search(
    model: NextTokenScores[State], src: Tensor, config: DecodingConfig, max_length: int
) -> list[list[Hypothesis]]:
    """One hypothesis for each source; see `search`.

    It is not `beam_search` with one place: that one goes on past an eos while a longer hypothesis could still
    end up with the better normalised score. Of equally probable tokens the lowest id is taken.
    """
    limits = length_limits(src, config, max_length)
    limit_of_row = torch.tensor(limits, device=src.device)  # (B,)
    state = model.start(src, max(limits))
    last = src.new_full((len(src), 1), BOS)
    tokens = src.new_empty((len(src), 0))  # (B, T)
    log_probs = torch.zeros(len(src), device=src.device)  # (B,)
    sentences = list(range(len(src)))  # which source each row belongs to
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    n_tokens = 0
    while sentences:
        n_tokens += 1
        logits, state = model.step(state, last)
        allowed, first_id = allowed_logits(logits, may_end=n_tokens > 1)  # (B, 1, V')
        best, index = allowed.max(-1)  # (B, 1)
        last = index + first_id
        log_probs = log_probs + (best - allowed.logsumexp(-1)).squeeze(-1)
        tokens = torch.cat([tokens, last], -1)
        ended = last.squeeze(-1) == EOS
        done = (ended | (limit_of_row <= n_tokens)).tolist()  # the only wait for the device in a step
        if not any(done):
            continue
        penalty = length_penalty(n_tokens, config.normalization, config.alpha)
        leaving = [row for row, is_done in enumerate(done) if is_done]
        ids_of, log_prob_of = tokens[leaving].tolist(), log_probs[leaving].tolist()
        for row, ids, log_prob in zip(leaving, ids_of, log_prob_of, strict=True):
            finished = ids[-1] == EOS
            hypothesis = Hypothesis(ids[:-1] if finished else ids, log_prob, log_prob / penalty, finished)
            found[sentences[row]].append(hypothesis)
        staying = [row for row, is_done in enumerate(done) if not is_done]
        sentences = [sentences[row] for row in staying]
        if sentences:
            rows = torch.tensor(staying, device=src.device)
            state = model.select(state, rows)
            last, tokens, log_probs, limit_of_row = (x[rows] for x in (last, tokens, log_probs, limit_of_row))
    return found
