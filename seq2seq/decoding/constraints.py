"""The rules for the next token of a hypothesis.

Forbidden tokens are left out of the softmax, as in CTranslate2. Scores are then those of a distribution over the tokens
that are allowed.

Shapes: B sentences, S source tokens, K hypotheses, T tokens generated so far, V vocabulary
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis, length_limit, min_length
from seq2seq.decoding.required import Required
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
        return [replace(each, missing=self.required.n_missing(row, each.tokens)) for each in hypotheses]

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
