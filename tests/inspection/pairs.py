"""Attention of made-up models: any text, any numbers of layers and heads."""

import numpy as np

from seq2seq.inspection.pair_attention import HeadWeights, PairAttention, Tokens


def tokens(pieces: list[str], before: list[str] | None = None, after: list[str] | None = None) -> Tokens:
    """Pieces as SentencePiece writes them: `▁` begins a word."""
    whole = [*(before or []), *pieces, *(after or [])]
    words: list[str] = []
    word_of = []
    for piece in whole:
        if piece.startswith("▁") or piece not in pieces or not words:
            words.append("")
        words[-1] += piece.removeprefix("▁")
        word_of.append(len(words) - 1)
    return Tokens(whole, words, word_of)


def pair(
    source: str = "▁The ▁do g ▁sleep s .",
    target: str = "▁Le ▁ch ien ▁d ort .",
    seed: int = 1,
    layers: tuple[int, int] = (3, 2),
    heads: int = 4,
    notes: tuple[str, ...] = (),
) -> PairAttention:
    """A pair with random weights; `layers` of encoder and decoder. Pieces stand between spaces."""
    src, tgt = source.split(" "), target.split(" ")
    n_src, n_tgt = len(src) + 1, len(tgt) + 1
    draw = np.random.default_rng(seed)

    def rows(n_layers: int, n_queries: int, n_keys: int, *, is_causal: bool = False) -> np.ndarray:
        weights = draw.dirichlet([0.4] * n_keys, (n_layers, heads, n_queries))
        weights = np.tril(weights + 1e-6) if is_causal else weights
        return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)

    return PairAttention(
        src="".join(src).replace("▁", " ").strip(),
        tgt="".join(tgt).replace("▁", " ").strip(),
        is_given=False,
        src_tokens=tokens(src, after=["</s>"]),
        tgt_in=tokens(tgt, before=["<s>"]),
        tgt_out=tokens(tgt, after=["</s>"]),
        weights=HeadWeights(
            rows(layers[0], n_src, n_src), rows(layers[1], n_tgt, n_tgt, is_causal=True), rows(layers[1], n_tgt, n_src)
        ),
        notes=list(notes),
    )
