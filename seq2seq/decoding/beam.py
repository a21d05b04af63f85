"""Beam search: the few best prefixes of each sentence, extended together, one token a step.

Shapes: B sentences, S source tokens, K live hypotheses a sentence, N finished ones (n_best), C candidates,
T tokens generated so far, V vocabulary
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.length import length_penalty
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.search_batch import SearchBatch
from seq2seq.decoding.tokens import best_extensions, log_normalizer
from seq2seq.vocabulary import EOS, PAD

CACHED_ROWS = 80  # of 8,000 logits, 2.5 MB in float32


class Beam(NamedTuple):
    """For each sentence, the hypotheses that are still extended, and the best ones that have ended.

    Both are sorted, best first. A place that no ended hypothesis has taken has log-probability and score -inf.
    """

    tokens: Tensor  # (B, K, T)
    log_probs: Tensor  # (B, K)
    finished_tokens: Tensor  # (B, N, T), without eos, padded with pad
    finished_log_probs: Tensor  # (B, N)
    finished_scores: Tensor  # (B, N)
    limit_penalties: Tensor  # (B,) length penalty at the length limit

    def rows(self, rows: Tensor) -> "Beam":
        return Beam(*(x[rows] for x in self))


class Candidates(NamedTuple):
    """Extensions of a sentence's live hypotheses by one token, best first; each (B, C)."""

    parents: Tensor  # the hypothesis that is extended
    tokens: Tensor  # the new token
    log_probs: Tensor  # of the extended hypothesis


def beam_search(
    model: NextTokenScores[State], src: Tensor, config: DecodingConfig, constraints: Constraints
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each source (B, S); see `search`.

    Each step ranks the extensions of the live hypotheses by log-probability. An extension with eos is finished if it is
    among the best `beam_size`. The best `beam_size` extensions without eos live on, so a finished hypothesis takes no
    place from the others. A sentence is done when no live hypothesis can still beat the worst of its `n_best` finished
    ones, or at its length limit. Ties go to the hypothesis that finished first, then to the lower place in the beam and
    the lower token id, as far as top-k returned the tied tokens.
    """
    batch = SearchBatch(model, src, constraints)
    last = batch.first_tokens  # (B, 1), then (B, K)
    beam = _empty_beam(src, config, constraints.limits.tolist())
    n_tokens = 0
    while True:
        n_tokens += 1
        penalty = length_penalty(n_tokens, config.normalization, config.alpha)
        logits = batch.step(last)  # (B, K, V)
        candidates = _candidates(logits, beam, 2 * config.beam_size, constraints)
        beam = _finish(beam, candidates, config.beam_size, penalty)
        n_before = beam.log_probs.shape[1]
        n_live = min(config.beam_size, n_before * (logits.size(-1) - EOS - 1))  # fewer if the vocabulary is tiny
        beam, parents = _extend(beam, candidates, n_live)

        is_done = _is_done(beam, constraints.limits <= n_tokens)  # (B,)
        moved = (parents != torch.arange(n_live, device=src.device)).any(-1)  # (B,)
        done_rows, moved_rows = torch.stack([is_done, moved]).tolist()  # the only wait for the device in a step
        if newly_done := batch.newly_done(done_rows):
            leaving = torch.tensor([row for row, _ in newly_done], device=src.device)
            for (_, sentence), hypotheses in zip(newly_done, _hypotheses(beam.rows(leaving), penalty), strict=True):
                batch.found[sentence] = hypotheses
        if batch.all_done:
            return batch.found
        if n_live != n_before or any(moved_rows):
            batch.reorder(parents)
        beam = Beam(*batch.shrink(*beam))
        last = beam.tokens[..., -1]


def _empty_beam(src: Tensor, config: DecodingConfig, limits: list[int]) -> Beam:
    """One hypothesis without tokens for each source (B, S), and nothing finished."""
    free = torch.full((len(src), config.n_best), -torch.inf, device=src.device)
    penalties = [length_penalty(limit, config.normalization, config.alpha) for limit in limits]
    return Beam(
        tokens=src.new_empty((len(src), 1, 0)),
        log_probs=torch.zeros((len(src), 1), device=src.device),
        finished_tokens=src.new_empty((len(src), config.n_best, 0)),
        finished_log_probs=free,
        finished_scores=free,
        limit_penalties=torch.tensor(penalties, device=src.device),
    )


def _candidates(logits: Tensor, beam: Beam, n_candidates: int, constraints: Constraints) -> Candidates:
    """The best extensions by one token of the live hypotheses, from logits (B, K, V)."""
    # On a CPU, a few sentences at a time: their logits then stay in its cache, which takes a quarter less time.
    n_sentences = max(1, CACHED_ROWS // logits.size(1)) if logits.device.type == "cpu" else len(logits)
    parts = []
    for begin in range(0, len(logits), n_sentences):
        some = slice(begin, begin + n_sentences)
        scores = logits[some].float()
        constraints.apply(scores, beam.tokens[some], some)
        # The log-probability of an extension is log_probs + scores - normalizer. Only that of the best is computed.
        offsets = beam.log_probs[some].unsqueeze(-1) - log_normalizer(scores)  # (B, K, 1)
        if (forced := constraints.forced(beam.tokens.size(-1), some)) is not None:
            is_other = (forced != PAD) & (forced != torch.arange(scores.size(-1), device=scores.device))  # (B, V)
            scores.masked_fill_(is_other.unsqueeze(1), -torch.inf)
        parts.append(best_extensions(scores, offsets, n_candidates))
    log_probs, parents, tokens = (torch.cat(column) for column in zip(*parts, strict=True))
    return Candidates(parents, tokens, log_probs)


def _finish(beam: Beam, candidates: Candidates, beam_size: int, penalty: float) -> Beam:
    """Add the candidates that end to the finished hypotheses, if they are among the best `beam_size`."""
    # The other candidates are spare ones, for the places of those that end. If they end, they do not count.
    ends = candidates.tokens[:, :beam_size] == EOS
    new_log_probs = candidates.log_probs[:, :beam_size].masked_fill(~ends, -torch.inf)
    new_tokens = _take(beam.tokens, candidates.parents[:, :beam_size])
    log_probs = torch.cat([beam.finished_log_probs, new_log_probs], 1)
    tokens = torch.cat([beam.finished_tokens, new_tokens], 1)
    scores = torch.cat([beam.finished_scores, new_log_probs / penalty], 1)
    # The sort is stable: of equal scores, the one that finished first stays.
    scores, place = scores.sort(dim=1, descending=True, stable=True)
    n_best = beam.finished_scores.shape[1]
    place = place[:, :n_best]
    return beam._replace(
        finished_tokens=nn.functional.pad(_take(tokens, place), (0, 1), value=PAD),
        finished_log_probs=log_probs.gather(1, place),
        finished_scores=scores[:, :n_best],
    )


def _extend(beam: Beam, candidates: Candidates, n_live: int) -> tuple[Beam, Tensor]:
    """Let the best candidates that do not end live on. Returns also which hypotheses they extend, (B, K)."""
    ends = candidates.tokens == EOS
    place = ends.byte().sort(dim=1, stable=True).indices[:, :n_live]
    parents = candidates.parents.gather(1, place)
    tokens = candidates.tokens.gather(1, place)
    extended = beam._replace(
        tokens=torch.cat([_take(beam.tokens, parents), tokens.unsqueeze(-1)], -1),
        log_probs=candidates.log_probs.gather(1, place),
    )
    return extended, parents


def _take(tokens: Tensor, index: Tensor) -> Tensor:
    """Select hypotheses within their sentences: tokens (B, K, T) and index (B, K') to (B, K', T)."""
    return tokens.gather(1, index.unsqueeze(-1).expand(-1, -1, tokens.shape[-1]))


def _is_done(beam: Beam, is_at_limit: Tensor) -> Tensor:
    """Whether each sentence's finished hypotheses are final, (B,).

    A log-probability p <= 0 can only fall as a hypothesis grows, and a length penalty lp never falls. So no
    continuation of a live hypothesis scores above p / lp(limit).
    """
    best_attainable = beam.log_probs[:, 0] / beam.limit_penalties
    return is_at_limit | (best_attainable <= beam.finished_scores[:, -1])


def _hypotheses(beam: Beam, penalty: float) -> list[list[Hypothesis]]:
    """What the search returns for sentences that are done.

    Live hypotheses take the free places. Before the length limit, a sentence with a free place is done only if its live
    hypotheses have probability 0; those are left out.

    Args:
        penalty: the length penalty of live hypotheses.
    """
    found = []
    for finished_tokens, finished_log_probs, finished_scores, tokens, log_probs in zip(
        beam.finished_tokens.tolist(),
        beam.finished_log_probs.tolist(),
        beam.finished_scores.tolist(),
        beam.tokens.tolist(),
        beam.log_probs.tolist(),
        strict=True,
    ):
        ended = [
            Hypothesis(ids[: ids.index(PAD)], log_prob, score, finished=True)
            for ids, log_prob, score in zip(finished_tokens, finished_log_probs, finished_scores, strict=True)
            if log_prob != -torch.inf
        ]
        cut = [
            Hypothesis(ids, log_prob, log_prob / penalty, finished=False)
            for ids, log_prob in zip(tokens, log_probs, strict=True)
            if log_prob != -torch.inf
        ]
        found.append((ended + cut)[: beam.finished_scores.shape[1]])
    return found
