"""The rules for the next token of a hypothesis.

Forbidden tokens are left out of the softmax, as in CTranslate2. Scores are then those of a distribution over the tokens
that are allowed.

Shapes: B sentences, S source tokens, K hypotheses, T tokens generated so far, W tokens that continue a phrase (padded
with pad), C candidates, V vocabulary
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, length_limit, min_length
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

ALL = slice(None)


def forbid_special(logits: Tensor, may_end: bool) -> None:
    """Set the logits (..., V) of pad, unk and bos to -inf, in place, and that of eos unless a hypothesis may end."""
    assert max(PAD, UNK, BOS) < EOS  # so that one slice has them all
    logits[..., : EOS if may_end else EOS + 1] = -torch.inf


def log_normalizer(logits: Tensor) -> Tensor:
    """log of the sum of exp(logits) over the last dimension, which keeps size 1; logits in float32.

    The largest probability is exp(largest logit - normalizer), so torch's fused softmax gives the normalizer. On a CPU
    this is 2.5 times as fast as `torch.logsumexp` (320 x 8,000).
    """
    return logits.amax(-1, keepdim=True) - logits.softmax(-1).amax(-1, keepdim=True).log()


class Constraints:
    """The rules for the hypotheses of each sentence of a batch."""

    def __init__(
        self,
        src: Tensor,
        config: DecodingConfig,
        max_length: int,
        prefixes: Sequence[Sequence[int]] | None = None,
        required: Sequence[Sequence[Sequence[int]]] | None = None,
    ) -> None:
        """
        Args:
            src: (B, S), each ending with eos.
            max_length: most decoder steps the model can do.
            prefixes: for each sentence, the tokens that its hypotheses begin with.
            required: for each sentence, the phrases that its hypotheses must contain.
        """
        self.config = config
        prefixes = prefixes or [[]] * len(src)
        self.required: Required | None = None
        n_forced = [len(prefix) for prefix in prefixes]
        if required and any(any(phrases) for phrases in required):
            self.required = Required(required, src.device)
            n_forced = [n + more for n, more in zip(n_forced, self.required.n_tokens, strict=True)]
        n_src = ((src != PAD).sum(-1) - 1).tolist()  # without eos
        limits = [length_limit(n, config, max_length, forced) for n, forced in zip(n_src, n_forced, strict=True)]
        fewest = [min_length(n, config, limit) for n, limit in zip(n_src, limits, strict=True)]
        self.limits = torch.tensor(limits, device=src.device)  # (B,) most tokens of a hypothesis, eos counted
        self.min_lengths = torch.tensor(fewest, device=src.device)  # (B,) fewest, eos not counted
        self.longest = max(limits)
        self.longest_min = int(self.min_lengths.max())
        longest_prefix = max(len(prefix) for prefix in prefixes)
        padded = [[*prefix, *[PAD] * (longest_prefix - len(prefix))] for prefix in prefixes]
        self.prefixes = torch.tensor(padded, dtype=torch.long, device=src.device)  # (B, longest prefix)

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences, (B',) row numbers."""
        self.limits, self.min_lengths, self.prefixes = (
            x[sentences] for x in (self.limits, self.min_lengths, self.prefixes)
        )
        if self.required is not None:
            self.required.select(sentences.tolist())
            if not any(self.required.n_tokens):
                self.required = None

    def forced(self, n_tokens: int, sentences: slice = ALL) -> Tensor | None:
        """The token that must follow `n_tokens` tokens, (B, 1), and pad where any may; None if any may in all rows."""
        if n_tokens >= self.prefixes.size(1):
            return None
        return self.prefixes[sentences, n_tokens : n_tokens + 1]

    def force(self, chosen: Tensor, n_tokens: int) -> Tensor:
        """The chosen tokens (B, K), replaced where a prefix says which token must follow `n_tokens` tokens."""
        forced = self.forced(n_tokens)
        return chosen if forced is None else torch.where(forced == PAD, chosen, forced)

    def apply(self, logits: Tensor, tokens: Tensor, sentences: slice = ALL) -> None:
        """Apply the rules to the logits (B, K, V) of what follows the hypotheses (B, K, T), in place.

        A token that a prefix forces, or that continues a required phrase, keeps its logit, whatever the rules say. The
        logits of the other tokens are then the same as without a prefix.

        Args:
            sentences: the rows that the logits and tokens belong to.
        """
        n_tokens = tokens.size(-1)
        exempt = self._exempt(n_tokens, logits.size(1), sentences)
        untouched = None if exempt is None else logits.gather(-1, exempt)
        if self.config.repetition_penalty != 1 and n_tokens:
            penalize_repetition(logits, tokens, self.config.repetition_penalty)
        if self.config.no_repeat_ngram:
            forbid_repetition(logits, tokens, self.config.no_repeat_ngram)
        if 0 < n_tokens < self.longest_min:
            is_short = n_tokens < self.min_lengths[sentences]  # (B,)
            logits[..., EOS].masked_fill_(is_short.unsqueeze(-1), -torch.inf)
        if exempt is not None and untouched is not None:
            logits.scatter_(-1, exempt, untouched)
        forbid_special(logits, may_end=n_tokens > 0)

    def narrow(self, scores: Tensor, n_tokens: int, sentences: slice = ALL) -> None:
        """Set scores (B, K, V) to -inf, in place, of tokens that a prefix or a missing phrase leaves no choice about.

        They keep their share of the probability: to force what comes anyway changes no score.
        """
        if (forced := self.forced(n_tokens, sentences)) is not None:
            is_other = (forced != PAD) & (forced != torch.arange(scores.size(-1), device=scores.device))  # (B, V)
            scores.masked_fill_(is_other.unsqueeze(1), -torch.inf)
        if self.required is not None:
            self.required.forbid_end(scores, sentences)

    def with_missing(self, row: int, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The same hypotheses of a sentence, with the number of phrases that each of them lacks."""
        if self.required is None:
            return list(hypotheses)
        return [replace(each, missing=self.required.phrases[row].n_missing(each.tokens)) for each in hypotheses]

    def _exempt(self, n_tokens: int, n_hypotheses: int, sentences: slice) -> Tensor | None:
        """The tokens that no rule touches, (B, K, W), padded with pad; None if there are none."""
        forced = self.forced(n_tokens, sentences)
        exempt = [] if forced is None else [forced.unsqueeze(-1).expand(-1, n_hypotheses, -1)]
        exempt += [] if self.required is None else [self.required.wanted[sentences]]
        return torch.cat(exempt, -1) if exempt else None


def penalize_repetition(logits: Tensor, tokens: Tensor, penalty: float) -> None:
    """Lower the logits of tokens that a hypothesis already has, in place.

    Positive logits are divided by `penalty` and negative ones multiplied by it. Keskar et al. 2019 (CTRL), section 4.1,
    divide all; every toolkit looks at the sign.
    """
    scores = logits.gather(-1, tokens)  # (B, K, T); a token that came twice is penalised once
    logits.scatter_(-1, tokens, torch.where(scores > 0, scores / penalty, scores * penalty))


def forbid_repetition(logits: Tensor, tokens: Tensor, n: int) -> None:
    """Forbid each token that would repeat n tokens in a row of the same hypothesis (Paulus et al. 2017)."""
    n_tokens = tokens.size(-1)
    if n_tokens < n:
        return
    ngrams = tokens.unfold(-1, n, 1)  # (B, K, T - n + 1, n)
    latest = tokens[..., None, n_tokens - n + 1 :]  # (B, K, 1, n - 1)
    comes_again = (ngrams[..., :-1] == latest).all(-1)  # (B, K, T - n + 1)
    last = ngrams[..., -1]
    banned = torch.zeros_like(logits, dtype=torch.bool)
    # True wins where a token ends several n-grams, of which only some come again.
    banned.scatter_reduce_(-1, last, comes_again, "amax")
    logits.masked_fill_(banned, -torch.inf)


# --- phrases that each hypothesis must contain: dynamic beam allocation (Post and Vilar 2018) ---
#
# A hypothesis knows how many tokens of its required phrases it has. Hypotheses with the same number are a bank, and the
# places of the beam are shared out among the banks. So those with many required tokens, which are often less probable,
# are not pushed out by those with few. Only hypotheses that have all phrases may end.
#
# A phrase that is listed twice must come twice; the two may overlap. Phrases change no probability, except that a token
# which continues a phrase is exempt from the other rules, as a forced prefix is.

Progress = tuple[tuple[int, int], ...]  # for each phrase: tokens matched of its next occurrence, and occurrences found


class Candidates(NamedTuple):
    """Extensions of a sentence's live hypotheses by one token, best first; each (B, C)."""

    parents: Tensor  # the hypothesis that is extended
    tokens: Tensor  # the new token
    log_probs: Tensor  # of the extended hypothesis


class _Phrases:
    """The phrases of one sentence."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self.times = Counter(tuple(phrase) for phrase in phrases if phrase)  # that each must come
        self.n_tokens = sum(map(len, self.times.elements()))
        self.start: Progress = ((0, 0),) * len(self.times)

    def advance(self, progress: Progress, token: int) -> Progress:
        return tuple(_advance(phrase, *each, token) for phrase, each in zip(self.times, progress, strict=True))

    def bank(self, progress: Progress) -> int:
        """How many required tokens a hypothesis has, of the phrase that it is in the middle of too."""
        found = zip(self.times.items(), progress, strict=True)
        return sum(len(phrase) * min(n, times) for (phrase, times), (_, n) in found) + self._furthest(progress)[0]

    def wanted(self, progress: Progress) -> list[int]:
        """The tokens that continue a phrase: the one that is furthest, or any if none has begun."""
        matched, phrases = self._furthest(progress)
        return sorted({phrase[matched] for phrase in phrases})

    def n_missing(self, tokens: Sequence[int]) -> int:
        """How many phrases are not among the tokens of a hypothesis."""
        progress = reduce(self.advance, tokens, self.start)
        return sum(max(0, times - n) for times, (_, n) in zip(self.times.values(), progress, strict=True))

    def _furthest(self, progress: Progress) -> tuple[int, list[tuple[int, ...]]]:
        """The most tokens matched of a phrase that must still come, and the phrases of which so many are."""
        found = zip(self.times.items(), progress, strict=True)
        unmet = [(phrase, matched) for (phrase, times), (matched, n) in found if n < times]
        most = max((matched for _, matched in unmet), default=0)
        return most, [phrase for phrase, matched in unmet if matched == most]


def _advance(phrase: tuple[int, ...], matched: int, found: int, token: int) -> tuple[int, int]:
    if not matched and token != phrase[0]:  # mostly, so this is worth a way of its own
        return 0, found
    seen = (*phrase[:matched], token)
    ends = (seen[start:] for start in range(len(seen) + 1))  # the last one is empty
    rest = next(end for end in ends if end != phrase and end == phrase[: len(end)])
    return len(rest), found + (seen == phrase)


class Required:
    """The required phrases of a batch, and how far each live hypothesis is."""

    def __init__(self, phrases: Sequence[Sequence[Sequence[int]]], device: torch.device) -> None:
        """phrases: for each sentence; some have none."""
        self._device = device
        self.phrases = [_Phrases(each) for each in phrases]
        self._progress = [[each.start] for each in self.phrases]  # of each live hypothesis
        self._look_ahead()

    @property
    def n_tokens(self) -> list[int]:
        """How many tokens the phrases of each sentence have."""
        return [each.n_tokens for each in self.phrases]

    def select(self, sentences: Sequence[int]) -> None:
        """Keep these sentences, row numbers."""
        self.phrases = [self.phrases[row] for row in sentences]
        self._progress = [self._progress[row] for row in sentences]
        self._look_ahead()

    def forbid_end(self, scores: Tensor, sentences: slice) -> None:
        """Set the scores (B, K, V) of eos to -inf, in place, where a phrase is missing."""
        scores[..., EOS].masked_fill_(~self._may_end[sentences], -torch.inf)

    def extensions(self, scores: Tensor, offsets: Tensor, sentences: slice) -> Candidates:
        """Extensions of each hypothesis that must not be overlooked: wanted tokens, the best token, and eos.

        Args:
            scores: (B, K, V).
            offsets: (B, K, 1), added to the scores of each hypothesis.
        Returns:
            Each (B, K (W + 2)), in no order.
        """
        best = scores[..., EOS + 1 :].argmax(-1, keepdim=True) + EOS + 1  # (B, K, 1)
        tokens = torch.cat([self.wanted[sentences], best, torch.full_like(best, EOS)], -1)  # (B, K, W + 2)
        sums = scores.gather(-1, tokens) + offsets
        parents = torch.arange(tokens.size(1), device=tokens.device).view(1, -1, 1).expand_as(tokens)
        return Candidates(parents.flatten(1), tokens.flatten(1), sums.flatten(1))

    def divide(self, candidates: Candidates, beam_size: int, n_live: int) -> Candidates:
        """Choose among candidates of which the last K (W + 2) are those of `extensions`.

        Returns:
            As many as there are without `extensions`. They stay as they are for sentences without phrases. For the
            others, the first are those that end now: those with eos among the best `beam_size` that have all phrases.
            After them come the `n_live` that live on, from all banks. Places that are left have probability 0.
        """
        n = candidates.tokens.size(1) - self.wanted.size(1) * (self.wanted.size(2) + 2)
        chosen = Candidates(*(column[:, :n].clone() for column in candidates))
        for row, phrases in enumerate(self.phrases):
            if not phrases.n_tokens:
                continue
            columns = zip(*(column[row].tolist() for column in candidates), strict=True)
            ending, living = _divide(phrases, self._progress[row], columns, beam_size, n_live)
            self._progress[row] = [each.progress for each in living] + [phrases.start] * (n_live - len(living))
            places = [(each.parent, each.token, -each.cost) for each in ending + living]
            places += [(0, PAD, -torch.inf)] * (n - len(places))
            for column, values in zip(chosen, zip(*places, strict=True), strict=True):
                column[row] = torch.tensor(values, dtype=column.dtype)
        self._look_ahead()
        return chosen

    def _look_ahead(self) -> None:
        """Note what each live hypothesis wants next, and whether it may end."""
        n_live = max((len(each) for each in self._progress), default=1)
        wanted, may_end = [], []
        for phrases, live in zip(self.phrases, self._progress, strict=True):
            live = live if phrases.n_tokens else [phrases.start] * n_live
            wanted.append([phrases.wanted(each) for each in live])
            may_end.append([phrases.bank(each) == phrases.n_tokens for each in live])
        width = max((len(tokens) for live in wanted for tokens in live), default=0)
        padded = [[tokens + [PAD] * (width - len(tokens)) for tokens in live] for live in wanted]
        self.wanted = torch.tensor(padded, dtype=torch.long, device=self._device).view(len(padded), n_live, width)
        self._may_end = torch.tensor(may_end, device=self._device)  # (B, K)


class _Candidate(NamedTuple):
    cost: float
    parent: int
    token: int
    progress: Progress


def _divide(
    phrases: _Phrases,
    progress: Sequence[Progress],
    columns: Iterator[tuple[int, int, float]],
    beam_size: int,
    n_live: int,
) -> tuple[list[_Candidate], list[_Candidate]]:
    """The candidates of one sentence that end, and those that live on; each best first."""
    distinct = {(-log_prob, parent, token) for parent, token, log_prob in columns if log_prob != -torch.inf}
    banks: list[list[_Candidate]] = [[] for _ in range(phrases.n_tokens + 1)]
    for cost, parent, token in sorted(distinct):
        each = _Candidate(cost, parent, token, phrases.advance(progress[parent], token))
        banks[phrases.bank(each.progress)].append(each)
    ending = [each for each in banks[-1][:beam_size] if each.token == EOS]
    banks[-1] = [each for each in banks[-1] if each.token != EOS]
    shares = share_out([len(bank) for bank in banks], n_live)
    return ending, sorted(each for bank, share in zip(banks, shares, strict=True) for each in bank[:share])


def share_out(counts: Sequence[int], places: int) -> list[int]:
    """How many places each bank gets: equally many, the higher banks one more, none more than it has candidates.

    The highest bank that has a candidate always gets a place. So the hypotheses get on by at least one required token
    a step.
    """
    shares = [0] * len(counts)
    while places and (hungry := [bank for bank, n in enumerate(counts) if n > shares[bank]]):
        for bank in hungry[-places:]:
            shares[bank] += 1
            places -= 1
    return shares
