"""The search that a configuration asks for."""

from collections.abc import Sequence

from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.constraints import Constraints
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import NextTokenScores, State
from seq2seq.decoding.sampling import sample


def search(
    model: NextTokenScores[State],
    src: Tensor,
    config: DecodingConfig,
    max_length: int,
    prefixes: Sequence[Sequence[int]] | None = None,
    numbers: Sequence[int] | None = None,
    required: Sequence[Sequence[Sequence[int]]] | None = None,
    token_scores: bool = False,
) -> list[list[Hypothesis]]:
    """Translate a batch of sources: by sampling, greedily with `beam_size` 1, otherwise by beam search.

    pad, bos and unk are never generated. No hypothesis is empty: eos cannot be the first token. The other sentences of
    a batch make no difference beyond floating-point noise.

    Args:
        src: (B, S) token ids, each source with at least one token before its eos, padded with pad.
        config: the section `decoding`; `max_batch_tokens` is not used here.
        max_length: most decoder steps the model can do.
        prefixes: for each source, the tokens that its hypotheses begin with; shorter than `max_length`. Their
            log-probabilities count like those of other tokens.
        numbers: for each source, a number that says which random numbers its samples take; by default 0, 1, 2, ...
        required: for each source, the phrases that its hypotheses must contain, see `required.py`. They need a beam.
        token_scores: whether hypotheses get `token_log_probs`.
    Returns:
        For each source at least one and up to `n_best` hypotheses, best first. Those that ended come first, by score.
        If they are fewer than `n_best`, those that were cut follow: with fewer missing phrases first, then by score.
        A hypothesis is cut at the length limit, or where the rules leave no token that could follow it. Fewer than
        `n_best` come back only if the beam never held as many, as with a vocabulary of a few tokens.
    """
    constraints = Constraints(src, config, max_length, prefixes, required)
    if config.sampling:
        assert constraints.required is None
        return sample(model, src, config, constraints, numbers or range(len(src)), token_scores)
    assert config.n_best <= config.beam_size
    if config.beam_size == 1:
        assert constraints.required is None
        return greedy_search(model, src, config, constraints, token_scores)
    return beam_search(model, src, config, constraints, token_scores)
