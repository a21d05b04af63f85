"""Phrases that each hypothesis must contain: dynamic beam allocation (Post and Vilar 2018).

A hypothesis knows how many tokens of its required phrases it has. Hypotheses with the same number are a bank, and the
places of the beam are shared out among the banks. So those with many required tokens, which are often less probable,
are not pushed out by those with few. Only hypotheses that have all phrases may end.

A phrase that is listed twice must come twice; the two may overlap. Phrases change no probability, except that a token
which continues a phrase is exempt from the other rules, as a forced prefix is.

Shapes: B sentences, K live hypotheses a sentence, W tokens that continue a phrase (padded with pad), C candidates,
V vocabulary
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from seq2seq.vocabulary import EOS, PAD

Progress = tuple[tuple[int, int], ...]  # for each phrase: tokens matched of its next occurrence, and occurrences found


class Candidates(NamedTuple):
    """Extensions of a sentence's live hypotheses by one token, best first; each (B, C)."""

    parents: Tensor  # the hypothesis that is extended
    tokens: Tensor  # the new token
    log_probs: Tensor  # of the extended hypothesis


class _Phrase(NamedTuple):
    tokens: tuple[int, ...]
    times: int  # how often it must come
    borders: tuple[int, ...]  # [n]: how many of the first n tokens, fewer than n, both begin and end them

    @classmethod
    def of(cls, tokens: Sequence[int], times: int) -> "_Phrase":
        borders = [0, 0]
        for token in tokens[1:]:
            n = borders[-1]
            while n and tokens[n] != token:
                n = borders[n]
            borders.append(n + (tokens[n] == token))
        return cls(tuple(tokens), times, tuple(borders))

    def advance(self, matched: int, found: int, token: int) -> tuple[int, int]:
        """One step of the search of Knuth, Morris and Pratt."""
        while matched and self.tokens[matched] != token:
            matched = self.borders[matched]
        matched += self.tokens[matched] == token
        return (self.borders[matched], found + 1) if matched == len(self.tokens) else (matched, found)


class _Phrases:
    """The phrases of one sentence."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        counts = Counter(tuple(phrase) for phrase in phrases if phrase)
        self.phrases = [_Phrase.of(tokens, times) for tokens, times in counts.items()]
        self.n_tokens = sum(len(phrase.tokens) * phrase.times for phrase in self.phrases)
        self.start: Progress = ((0, 0),) * len(self.phrases)

    def advance(self, progress: Progress, token: int) -> Progress:
        return tuple(phrase.advance(*each, token) for phrase, each in zip(self.phrases, progress, strict=True))

    def bank(self, progress: Progress) -> int:
        """How many required tokens a hypothesis has, of the phrase that it is in the middle of too."""
        complete = sum(
            len(phrase.tokens) * min(found, phrase.times)
            for phrase, (_, found) in zip(self.phrases, progress, strict=True)
        )
        return complete + max((matched for _, matched in self._open(progress)), default=0)

    def wanted(self, progress: Progress) -> set[int]:
        """The tokens that continue a phrase: the one that is furthest, or any if none has begun."""
        unmet = list(self._open(progress))
        furthest = max((matched for _, matched in unmet), default=0)
        return {phrase.tokens[matched] for phrase, matched in unmet if matched == furthest}

    def n_missing(self, tokens: Sequence[int]) -> int:
        progress = self.start
        for token in tokens:
            progress = self.advance(progress, token)
        return sum(max(0, phrase.times - n) for phrase, (_, n) in zip(self.phrases, progress, strict=True))

    def _open(self, progress: Progress) -> Iterator[tuple[_Phrase, int]]:
        for phrase, (matched, found) in zip(self.phrases, progress, strict=True):
            if found < phrase.times:
                yield phrase, matched


class Required:
    """The required phrases of a batch, and how far each live hypothesis is."""

    def __init__(self, phrases: Sequence[Sequence[Sequence[int]]], device: torch.device) -> None:
        """phrases: for each sentence; some have none."""
        self._device = device
        self._phrases = [_Phrases(each) for each in phrases]
        self._progress = [[each.start] for each in self._phrases]  # of each live hypothesis
        self._look_ahead()

    @property
    def n_tokens(self) -> list[int]:
        """How many tokens the phrases of each sentence have."""
        return [each.n_tokens for each in self._phrases]

    def select(self, sentences: Sequence[int]) -> None:
        """Keep these sentences, row numbers."""
        self._phrases = [self._phrases[row] for row in sentences]
        self._progress = [self._progress[row] for row in sentences]
        self._look_ahead()

    def n_missing(self, row: int, tokens: Sequence[int]) -> int:
        """How many phrases are not among the tokens of a hypothesis."""
        return self._phrases[row].n_missing(tokens)

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
        for row, phrases in enumerate(self._phrases):
            if not phrases.n_tokens:
                continue
            columns = zip(*(column[row].tolist() for column in candidates), strict=True)
            ending, living = _divide(phrases, self._progress[row], columns, beam_size, n_live)
            self._progress[row] = [each.progress for each in living] + [phrases.start] * (n_live - len(living))
            places = [(each.parent, each.token, each.log_prob) for each in ending + living]
            places += [(0, PAD, -torch.inf)] * (n - len(places))
            for column, values in zip(chosen, zip(*places, strict=True), strict=True):
                column[row] = torch.tensor(values, dtype=column.dtype)
        self._look_ahead()
        return chosen

    def _look_ahead(self) -> None:
        """Note what each live hypothesis wants next, and whether it may end."""
        n_live = max((len(each) for each in self._progress), default=1)
        wanted, may_end = [], []
        for phrases, live in zip(self._phrases, self._progress, strict=True):
            live = live if phrases.n_tokens else [phrases.start] * n_live
            wanted.append([sorted(phrases.wanted(each)) for each in live])
            may_end.append([phrases.bank(each) == phrases.n_tokens for each in live])
        width = max((len(tokens) for live in wanted for tokens in live), default=0)
        padded = [[tokens + [PAD] * (width - len(tokens)) for tokens in live] for live in wanted]
        self.wanted = torch.tensor(padded, dtype=torch.long, device=self._device).view(len(padded), n_live, width)
        self._may_end = torch.tensor(may_end, device=self._device)  # (B, K)


class _Candidate(NamedTuple):
    log_prob: float
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
    distinct = {(parent, token): log_prob for parent, token, log_prob in columns if log_prob != -torch.inf}
    ranked = sorted(
        (
            _Candidate(log_prob, parent, token, phrases.advance(progress[parent], token))
            for (parent, token), log_prob in distinct.items()
        ),
        key=lambda each: (-each.log_prob, each.parent, each.token),
    )
    banks: list[list[_Candidate]] = [[] for _ in range(phrases.n_tokens + 1)]
    for each in ranked:
        banks[phrases.bank(each.progress)].append(each)
    ending = [each for each in banks[-1][:beam_size] if each.token == EOS]
    banks[-1] = [each for each in banks[-1] if each.token != EOS]
    shares = share_out([len(bank) for bank in banks], n_live)
    living = [each for bank, share in zip(banks, shares, strict=True) for each in bank[:share]]
    return ending, sorted(living, key=lambda each: (-each.log_prob, each.parent, each.token))


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
