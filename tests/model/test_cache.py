"""The decoder's memory against a decoder without one, over long random searches."""

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.model.cache import ROUND, DecoderState
from seq2seq.model.transformer import Transformer
from seq2seq.vocabulary import BOS, EOS, PAD

TINY = ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=1, n_decoder_layers=2, dropout=0.0, max_length=70)
LENGTHS = [7, 4, 2, 5]


def build(**changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(replace(TINY, **changes), vocab_size=31).eval()


def sources() -> Tensor:
    torch.manual_seed(1)
    src = torch.randint(4, 31, (4, 7))
    for sentence, length in enumerate(LENGTHS):
        src[sentence, length - 1] = EOS
        src[sentence, length:] = PAD
    return src


class Search:
    """A search that decides at random, and remembers the tokens of each hypothesis, and which places they share."""

    def __init__(self, model: Transformer, seed: int) -> None:
        self.model, self.random, self.src = model, random.Random(seed), sources()
        torch.manual_seed(seed)
        self.state: DecoderState = model.start(self.src, max_length=70)
        self.tokens = torch.full((4, 1, 1), BOS)  # (B, N, T)
        # Each token that a hypothesis ever took has a number of its own; those of its own past, (B, N, T).
        self.nodes = torch.arange(4).view(4, 1, 1)
        self.n_nodes = 4
        self.n_places = 0  # most that a sentence of the batch needed so far

    def step(self) -> Tensor:
        self.n_places = max(self.n_places, *(len(nodes.unique()) for nodes in self.nodes))
        logits, self.state = self.model.step(self.state, self.tokens[..., -1])
        return logits

    def uncached(self) -> Tensor:
        sentences, n, _ = self.tokens.shape
        logits = self.model(self.src.repeat_interleave(n, 0), self.tokens.flatten(0, 1))
        return logits[:, -1].view(sentences, n, -1)

    def drop_a_sentence(self) -> None:
        kept = list(range(len(self.src)))
        kept.pop(self.random.randrange(len(kept)))
        index = torch.tensor(kept)
        self.state = self.model.select(self.state, index)
        self.src, self.tokens, self.nodes = self.src[index], self.tokens[index], self.nodes[index]

    def extend(self, width: int, spread: int) -> None:
        """Go on with `width` hypotheses, descending from the first `spread` ones."""
        B, N, _ = self.tokens.shape
        parents = torch.tensor([[self.random.randrange(min(N, spread)) for _ in range(width)] for _ in range(B)])
        if width != N or not parents.equal(torch.arange(N).expand(B, -1)):
            self.state = self.model.reorder(self.state, parents)
        self.append(parents)

    def go_on(self) -> None:
        """Extend each hypothesis by one token, without a word to the model."""
        B, N, _ = self.tokens.shape
        self.append(torch.arange(N).expand(B, -1))

    def append(self, parents: Tensor) -> None:
        B, width = parents.shape
        index = parents[..., None].expand(-1, -1, self.tokens.size(-1))
        new = torch.arange(self.n_nodes, self.n_nodes + B * width).view(B, width, 1)
        self.n_nodes += B * width
        self.tokens = torch.cat([self.tokens.gather(1, index), torch.randint(4, 31, (B, width, 1))], -1)
        self.nodes = torch.cat([self.nodes.gather(1, index), new], -1)


def rounded(n: int) -> int:
    return -(-n // ROUND) * ROUND


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "seed"),
    [
        *(({}, seed) for seed in range(1, 4)),
        ({"norm": "post"}, 4),
        ({"n_kv_heads": 1, "d_value": 7}, 5),
        ({"n_heads": 4, "n_kv_heads": 2, "d_head": 6, "positions": "rotary"}, 6),
    ],
    ids=str,
)
@torch.inference_mode()
def test_a_long_random_search_equals_decoding_each_hypothesis_anew(changes: dict[str, Any], seed: int) -> None:
    search = Search(build(**changes), seed)
    # Seeds differ in how soon hypotheses of a beam have a common ancestor: at once, late, or never.
    spread = (1, 2, 5)[seed % 3]
    n_buffers, buffers = 0, None
    for step in range(60):
        logits = search.step()
        torch.testing.assert_close(logits, search.uncached(), atol=1e-4, rtol=1e-4)
        if buffers is not (buffers := search.state.past[0]._stored):
            n_buffers += 1
        assert search.state.ancestry.size(-1) <= rounded(search.n_places)
        if step in (20, 35, 41):
            search.drop_a_sentence()
        if spread == 5 and step % 3:
            search.go_on()
        else:
            width = search.random.choice([5, 5, 5, 3, 1] if seed > 2 else [5])
            search.extend(width, spread)
    assert n_buffers - 3 >= 5  # made anew not only because sentences left


@torch.inference_mode()
def test_free_places_hide_what_was_in_them() -> None:
    """A number that is not finite, in a token that was dropped, would show in any weight that is not 0."""
    search = Search(build(), seed=3)
    for _ in range(20):
        logits = search.step()
        buffers = search.state.past[0]._stored
        assert buffers is not None and all(buffer.isfinite().all() for buffer in buffers)
        torch.testing.assert_close(logits, search.uncached(), atol=1e-4, rtol=1e-4)
        for buffer in buffers:
            buffer[:, :, search.state.n_past :] = 100.0
        search.extend(width=5, spread=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"window": 3},
        {"window": 40, "positions": "rotary"},
        {"stride": 4},
        {"attention": "additive", "window": 6},
        {"hard_attention": True, "attention": "unscaled"},
    ],
)
@torch.inference_mode()
def test_a_long_random_search_with_a_variant_of_attention(changes: dict[str, Any]) -> None:
    search = Search(build(**changes), seed=1)
    for step in range(60):
        torch.testing.assert_close(search.step(), search.uncached(), atol=1e-4, rtol=1e-4)
        if step in (20, 41):
            search.drop_a_sentence()
        if step % 3:
            search.go_on()
        else:
            search.extend(width=search.random.choice([5, 5, 3]), spread=3)


@torch.inference_mode()
def test_a_step_reads_no_more_than_the_window() -> None:
    """Five hypotheses that share nothing: 5 tokens each, and places for those to come."""
    search = Search(build(window=4), seed=0)
    search.step()
    search.extend(width=5, spread=1)
    sizes = []
    for _ in range(60):
        torch.testing.assert_close(search.step(), search.uncached(), atol=1e-4, rtol=1e-4)
        sizes.append(search.state.ancestry.size(-1))
        search.go_on()
    assert max(sizes) == rounded(5 * 4 + ROUND)
    buffers = search.state.past[0]._stored
    assert buffers is not None and buffers[0].size(2) == max(sizes)
