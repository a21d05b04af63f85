import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.decoding.beam import GROUP, best_extensions
from seq2seq.decoding.constraints import log_normalizer

NEVER = -math.inf
fixed_examples = settings(derandomize=True)


@given(
    seed=st.integers(0, 10**6),
    vocab_size=st.integers(1, 500),
    scale=st.sampled_from([0.01, 1.0, 30.0, 1000.0]),
    share_forbidden=st.sampled_from([0.0, 0.5, 0.99]),
)
@fixed_examples
def test_the_normalizer_is_a_logsumexp(seed: int, vocab_size: int, scale: float, share_forbidden: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(2, 3, vocab_size, generator=generator)
    is_forbidden = torch.rand(logits.shape, generator=generator) < share_forbidden
    is_forbidden[..., seed % vocab_size] = False
    logits = logits.masked_fill(is_forbidden, NEVER)
    expected = logits.double().logsumexp(-1, keepdim=True).float()
    torch.testing.assert_close(log_normalizer(logits), expected)


@given(
    seed=st.integers(0, 10**6),
    n_sentences=st.integers(1, 3),
    n_hypotheses=st.integers(1, 6),
    vocab_size=st.integers(1, 500) | st.sampled_from([GROUP - 1, GROUP, 2 * GROUP, 7 * GROUP, 7 * GROUP + 1]),
    n=st.integers(1, 14) | st.just(4000),
    n_values=st.sampled_from([2, 20, 10**6]),
    share_forbidden=st.sampled_from([0.0, 0.3, 0.98]),
)
@settings(fixed_examples, max_examples=100)  # fewer meet no token after the last group that counts
def test_the_best_extensions_are_the_first_of_all_sums_sorted(
    seed: int,
    n_sentences: int,
    n_hypotheses: int,
    vocab_size: int,
    n: int,
    n_values: int,
    share_forbidden: float,
) -> None:
    generator = torch.Generator().manual_seed(seed)
    shape = (n_sentences, n_hypotheses, vocab_size)
    scores = torch.randint(n_values, shape, generator=generator) / n_values  # few values: many ties
    scores = scores.masked_fill(torch.rand(shape, generator=generator) < share_forbidden, NEVER)
    offsets = torch.randint(4, (n_sentences, n_hypotheses, 1), generator=generator) / 8
    offsets[:, seed % n_hypotheses] = NEVER if seed % 3 == 0 else 0.5
    hypotheses, tokens, sums = best_extensions(scores, offsets, n)
    n_expected = min(n, n_hypotheses * vocab_size)
    assert sums.shape == hypotheses.shape == tokens.shape == (n_sentences, n_expected)
    all_sums = scores + offsets
    for b in range(n_sentences):
        places = list(zip(hypotheses[b].tolist(), tokens[b].tolist(), strict=True))
        assert len(set(places)) == n_expected
        assert sums[b].tolist() == sorted(all_sums[b].flatten().tolist(), reverse=True)[:n_expected]
        assert sums[b].tolist() == [all_sums[b, k, v].item() for k, v in places]
        # Among those returned, ties are in the order of hypothesis and token.
        assert places == sorted(places, key=lambda place: (-all_sums[b][place].item(), place))
