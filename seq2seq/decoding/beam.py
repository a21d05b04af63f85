"""Beam search: the few best prefixes of each sentence, extended together, one token a step.

Shapes: B sentences, S source tokens, K live hypotheses, N finished ones, C candidates, T tokens generated so far,
V vocabulary
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, NextTokenScores, SearchBatch, State, length_penalty
from seq2seq.decoding.constraints import Candidates, Constraints, log_normalizer
from seq2seq.vocabulary import EOS, PAD

GROUP = 64  # of neighbouring tokens, of which only the best groups are looked at
CACHED_ROWS = 80  # of 8,000 logits, 2.5 MB in float32


class Beam(NamedTuple):
    """For each sentence, the hypotheses that are still extended, and the best ones that have ended.

    The ended ones are sorted, best first. A place that no hypothesis has taken has log-probability and score -inf.
    """

    tokens: Tensor  # (B, K, T)
    log_probs: Tensor  # (B, K)
    finished_tokens: Tensor  # (B, N, T), without eos, padded with pad
    finished_log_probs: Tensor  # (B, N)
    finished_scores: Tensor  # (B, N)
    limit_penalties: Tensor  # (B,) length penalty at the length limit

    def rows(self, rows: Tensor) -> "Beam":
        return Beam(*(x[rows] for x in self))


def beam_search(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    constraints: Constraints,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each source (B, S); see `search`.

    Each step ranks the extensions of the live hypotheses by log-probability. An extension with eos is finished if it is
    among the best `beam_size`. The best `beam_size` extensions without eos live on, so a finished hypothesis takes no
    place from the others. A sentence is done when no live hypothesis can still beat the worst of its `n_best` finished
    ones, or at its length limit. Ties go to the hypothesis that finished first, then to the lower place in the beam and
    the lower token id, as far as top-k returned the tied tokens.

    Required phrases change how places are given away, see `constraints.py`.
    """
    batch = SearchBatch(model, src, constraints)
    last = batch.first_tokens  # (B, 1), then (B, K)
    beam = _empty_beam(src, config, constraints.limits.tolist())
    n_tokens = 0
    while True:
        n_tokens += 1
        n_before = last.size(1)
        logits = batch.step(last)  # (B, K, V)
        n_live = min(config.beam_size, n_before * (logits.size(-1) - EOS - 1))  # fewer if the vocabulary is tiny
        candidates = _candidates(logits, beam, 2 * config.beam_size, constraints)
        if constraints.required is not None:
            candidates = constraints.required.divide(candidates, config.beam_size, n_live)
        penalty = length_penalty(n_tokens, config.normalization, config.alpha)
        before, beam = beam, _finish(beam, candidates, config.beam_size, penalty)
        beam, parents = _extend(beam, candidates, n_live)

        moved = (parents != torch.arange(parents.size(1), device=src.device)).any(-1)  # (B,)
        is_at_limit = constraints.limits <= n_tokens  # (B,)
        # The only wait for the device in a step.
        done_rows, moved_rows = torch.stack([_is_done(beam) | is_at_limit, moved]).tolist()
        if newly_done := batch.newly_done(done_rows):
            leaving = torch.tensor([row for row, _ in newly_done], device=src.device)
            endings = _hypotheses(beam.rows(leaving), is_at_limit[leaving], config)
            cut = [] if all(endings) else _hypotheses(before.rows(leaving), torch.ones_like(leaving), config)
            for place, (row, sentence) in enumerate(newly_done):
                found = endings[place] or cut[place]  # the latter if the rules leave no token to any of them
                batch.found[sentence] = _best(constraints.with_missing(row, found), config.n_best)
        if batch.all_done:
            return batch.found
        if parents.size(1) != n_before or any(moved_rows):
            batch.reorder(parents)
        if (kept := batch.shrink()) is not None:
            beam = beam.rows(kept)
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
        # It is not finite if every token is forbidden, or the hypothesis itself has probability 0.
        offsets = offsets.where(offsets.isfinite(), -torch.inf)
        constraints.narrow(scores, beam.tokens.size(-1), some)
        best = best_extensions(scores, offsets, n_candidates)
        if constraints.required is not None:
            more = constraints.required.extensions(scores, offsets, some)
            best = Candidates(*(torch.cat(pair, 1) for pair in zip(best, more, strict=True)))
        parts.append(best)
    parents, tokens, log_probs = (torch.cat(column) for column in zip(*parts, strict=True))
    is_broken = log_probs.isnan().any(-1, keepdim=True)  # (B, 1): the logits of one of the hypotheses are
    return Candidates(parents, tokens, log_probs.masked_fill(is_broken, -torch.inf))


def best_extensions(scores: Tensor, offsets: Tensor, n: int) -> Candidates:
    """The n highest of scores + offsets in each sentence, best first; all of them if n is larger.

    The n best tokens lie in the n groups of tokens with the highest maxima. To look only there takes a third of the
    time of `torch.topk` on all scores (one core, 320 x 8,000, n = 10).

    Args:
        scores: (B, K, V).
        offsets: (B, K, 1), added to the scores of each hypothesis.
    Returns:
        The sums as `log_probs`, and whose they are, (B, n). Equal sums are in the order of hypothesis and token, as far
        as top-k returned them.
    """
    n_hypotheses, vocab_size = scores.shape[1:]
    n_groups = vocab_size // GROUP
    if n_groups * n_hypotheses <= 2 * n:
        best, place = (scores + offsets).flatten(1).sort(dim=1, descending=True, stable=True)
        best, place = best[:, :n], place[:, :n]
    else:
        grouped = scores[..., : n_groups * GROUP].unflatten(-1, (n_groups, GROUP)).amax(-1) + offsets  # (B, K, M)
        groups = grouped.flatten(1).topk(n).indices  # (B, n), numbered through all hypotheses
        first_places = groups // n_groups * vocab_size + groups % n_groups * GROUP  # of each group's first token
        within = torch.arange(GROUP, device=scores.device)
        places = (first_places.unsqueeze(-1) + within).flatten(1)  # (B, n G)
        if n_groups * GROUP < vocab_size:  # tokens after the last group
            rest = torch.arange(n_groups * GROUP, vocab_size, device=scores.device)
            starts = torch.arange(0, n_hypotheses * vocab_size, vocab_size, device=scores.device)
            rest = (starts.unsqueeze(-1) + rest).flatten().expand(len(scores), -1)
            places = torch.cat([places, rest], -1)
        sums = scores.flatten(1).gather(1, places) + offsets.flatten(1).gather(1, places // vocab_size)
        best, index = sums.topk(n)
        place = places.gather(1, index)
    # Sort by place, then by sum. The second sort is stable, so equal sums stay in the order of their places.
    place, by_place = place.sort()
    best, by_sum = best.gather(1, by_place).sort(dim=1, descending=True, stable=True)
    place = place.gather(1, by_sum)
    return Candidates(place // vocab_size, place % vocab_size, best)


def _finish(beam: Beam, candidates: Candidates, beam_size: int, penalty: float) -> Beam:
    """Add the candidates that end to the finished hypotheses, if they are among the best `beam_size`."""
    # The other candidates are spare ones, for the places of those that end. If they end, they do not count.
    ends = candidates.tokens[:, :beam_size] == EOS
    new_log_probs = candidates.log_probs[:, :beam_size].masked_fill(~ends, -torch.inf)
    new_parents = candidates.parents[:, :beam_size]
    log_probs = torch.cat([beam.finished_log_probs, new_log_probs], 1)
    tokens = torch.cat([beam.finished_tokens, _take(beam.tokens, new_parents)], 1)
    scores = torch.cat([beam.finished_scores, new_log_probs / penalty], 1)
    # The sort is stable: of equal scores, the one that finished first stays.
    scores, place = scores.sort(dim=1, descending=True, stable=True)
    n_places = beam.finished_scores.shape[1]
    place = place[:, :n_places]
    return beam._replace(
        finished_tokens=nn.functional.pad(_take(tokens, place), (0, 1), value=PAD),
        finished_log_probs=log_probs.gather(1, place),
        finished_scores=scores[:, :n_places],
    )


def _extend(beam: Beam, candidates: Candidates, n_live: int) -> tuple[Beam, Tensor]:
    """Let the best candidates that do not end live on. Returns also which hypotheses they extend, (B, K)."""
    ends = candidates.tokens == EOS
    place = ends.byte().sort(dim=1, stable=True).indices[:, :n_live]
    parents = candidates.parents.gather(1, place)
    tokens = candidates.tokens.gather(1, place)
    log_probs = candidates.log_probs.gather(1, place)
    tokens = torch.cat([_take(beam.tokens, parents), tokens.unsqueeze(-1)], -1)
    return beam._replace(tokens=tokens, log_probs=log_probs), parents


def _take(tokens: Tensor, index: Tensor) -> Tensor:
    """Select hypotheses within their sentences: tokens (B, K, T) and index (B, K') to (B, K', T)."""
    return tokens.gather(1, index.unsqueeze(-1).expand(-1, -1, tokens.shape[-1]))


def _is_done(beam: Beam) -> Tensor:
    """Whether each sentence's finished hypotheses are final, (B,), before its length limit.

    A log-probability p <= 0 can only fall as a hypothesis grows, and a length penalty lp never falls. So no
    continuation of a live hypothesis scores above p / lp(limit).
    """
    best_attainable = beam.log_probs.amax(-1) / beam.limit_penalties
    return best_attainable <= beam.finished_scores[:, -1]


def _hypotheses(beam: Beam, is_at_limit: Tensor, config: DecodingConfig) -> list[list[Hypothesis]]:
    """For each sentence the hypotheses that ended, and those that the length limit cuts."""
    found = []
    columns = (x.tolist() for x in (*beam[:-1], is_at_limit))
    for tokens, log_probs, ended_tokens, ended_log_probs, scores, is_cut in zip(*columns, strict=True):
        hypotheses = [
            Hypothesis(ids[: ids.index(PAD)], log_prob, score, True)
            for ids, log_prob, score in zip(ended_tokens, ended_log_probs, scores, strict=True)
            if log_prob != -torch.inf
        ]
        for ids, log_prob in zip(tokens, log_probs, strict=True):
            if is_cut and log_prob != -torch.inf:
                hypotheses.append(Hypothesis.from_tokens(ids, log_prob, config))
        found.append(hypotheses)
    return found


def _best(hypotheses: Sequence[Hypothesis], n: int) -> list[Hypothesis]:
    """The n best: those that ended, then those with the fewest phrases missing; each by score."""
    return sorted(hypotheses, key=lambda each: (not each.finished, each.missing, -each.score))[:n]
