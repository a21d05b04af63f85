"""Greedy search: the most probable next token, again and again.

Shapes: B sentences, S source tokens, T tokens generated so far, V vocabulary
"""

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.search_batch import SearchBatch
from seq2seq.decoding.tokens import log_normalizer
from seq2seq.vocabulary import EOS


def greedy_search(
    model: NextTokenScores[State], src: Tensor, config: DecodingConfig, constraints: Constraints
) -> list[list[Hypothesis]]:
    """One hypothesis for each source (B, S); see `search`.

    Greedy search stops at the first eos. `beam_search` with a beam of one would go on while a longer hypothesis could
    still get a better normalised score. Of equally probable tokens the lowest id is taken.
    """
    batch = SearchBatch(model, src, constraints)
    last = batch.first_tokens  # (B, 1)
    tokens = src.new_empty((len(src), 1, 0))  # (B, 1, T)
    log_probs = torch.zeros((len(src), 1), device=src.device)  # (B, 1)
    while True:
        logits = batch.step(last).float()  # (B, 1, V)
        constraints.apply(logits, tokens)
        last = constraints.force(logits.argmax(-1), tokens.size(-1))  # (B, 1)
        last_logits = logits.gather(-1, last.unsqueeze(-1))  # (B, 1, 1)
        log_probs = (last_logits + (log_probs.unsqueeze(-1) - log_normalizer(logits))).squeeze(-1)
        tokens = torch.cat([tokens, last.unsqueeze(-1)], -1)

        is_done = (last.squeeze(-1) == EOS) | (constraints.limits <= tokens.size(-1))  # (B,)
        for row, sentence in batch.newly_done(is_done.tolist()):  # the only wait for the device in a step
            batch.found[sentence] = [Hypothesis.from_tokens(tokens[row, 0].tolist(), log_probs[row].item(), config)]
        if batch.all_done:
            return batch.found
        last, tokens, log_probs = batch.shrink(last, tokens, log_probs)
