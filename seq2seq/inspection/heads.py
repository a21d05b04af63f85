"""Which head does what: figures of every head on a text, and how well cross-attention aligns its words.

Shapes: L layers, B sentences, H n_heads, T target tokens, S source tokens
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.analysis.alignment import membership, words_of_pieces
from seq2seq.dataset.batches import collate
from seq2seq.dataset.plan import plan_epoch
from seq2seq.inspection.ablating import Ablation
from seq2seq.inspection.attention_kinds import KINDS
from seq2seq.inspection.head_figures import FigureSums
from seq2seq.inspection.link_scores import LinkCounts, Reference
from seq2seq.inspection.torch_model import attention_modules
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import SPACE, Tokenizer
from seq2seq.vocabulary import BOS, EOS, PAD

_BATCH_TOKENS = 2048  # padded tokens of the longer sides of a batch: the weights of all layers are in memory


@dataclass(frozen=True)
class AlignedHeads:
    """How well each head of the cross-attention aligns, each (layers, heads): a target word goes to the source word
    that the head looks at most.

    The rows are those of the steps that write a word. `LinkCounts` has the definitions.
    """

    error_rate: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]

    @property
    def best(self) -> tuple[int, int]:
        """The layer and the head with the lowest error rate, counted from 0."""
        layer, head = np.unravel_index(self.error_rate.argmin(), self.error_rate.shape)
        return int(layer), int(head)


@dataclass(frozen=True)
class HeadReport:
    """What is known of all heads of a model.

    Attributes:
        text: what it was seen on.
        n_left_out: pairs with a blank side, or with one that is too long for the model.
        figures: of each kind, each of `head_figures.FIGURES` as (layers, heads).
        reference: what the alignments are compared with.
    """

    model: str
    text: str
    n_pairs: int
    n_left_out: int
    figures: dict[str, dict[str, NDArray[np.float64]]]
    reference: str
    alignment: AlignedHeads
    seconds: float
    ablation: Ablation | None = None

    def table(self, kind: str) -> dict[str, NDArray[np.float64]]:
        """All that is known of the heads of a kind, by the name of its column; each (layers, heads)."""
        found = dict(self.figures[kind])
        shape = found["entropy"].shape
        if self.ablation:
            losses = self.ablation.of("head")
            each = [losses[f"{kind} {layer + 1}.{head + 1}"] for layer, head in np.ndindex(shape)]
            names = {"BLEU lost": "bleu", "95% from": "bleu_low", "to": "bleu_high"}
            found |= {
                title: np.array([getattr(loss, name) for loss in each]).reshape(shape) for title, name in names.items()
            }
        if kind == "cross":
            aligned = self.alignment
            found |= {"AER": aligned.error_rate, "precision": aligned.precision, "recall": aligned.recall}
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain types, rounded to what can be read."""
        content: dict[str, Any] = _plain(dataclasses.asdict(self))
        return content


def look_at_heads(
    model: Transformer,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    tag: Sequence[int],
    reference: Sequence[Reference],
    batch_tokens: int = _BATCH_TOKENS,
) -> tuple[dict[str, dict[str, NDArray[np.float64]]], AlignedHeads]:
    """The figures of all heads while the model reads these pairs, and how well they align them.

    Only sums are kept, and the weights of one batch.

    Args:
        pairs: that the model can read; none has a blank side.
        tag: the ids that each source begins with.
        reference: the links of each pair.
    """
    layers = attention_modules(model)
    sums = {kind: FigureSums(len(each)) for kind, each in layers.items()}
    counts = LinkCounts.of((len(layers["cross"]), layers["cross"][0].n_heads))
    sources, targets = _encoded(tokenizer, pairs)
    sources = [[*tag, *ids] for ids in sources]
    lengths = [np.array([*map(len, side)], dtype=np.int32) for side in (sources, targets)]
    max_tokens = max(batch_tokens, *(int(each.max()) + 1 for each in lengths))  # the longest pair fits
    device = next(model.parameters()).device
    of_source, of_target = ([found.to(device) for found in _classes(each)] for each in (tokenizer, tokenizer.target))
    for rows in plan_epoch(*lengths, max_tokens=max_tokens, seed=0, epoch=0):
        indices = rows.numbers.tolist()
        batch = collate([sources[i] for i in indices], [targets[i] for i in indices])
        src, tgt_in, tgt_out = (each.to(device) for each in (batch.src, batch.tgt_in, batch.tgt_out))
        with torch.inference_mode():
            weights = model.attention_weights(src, tgt_in)
        for kind in KINDS:
            queries, keys = (src if kind == "encoder" else tgt_out), (tgt_in if kind == "decoder" else src)
            is_end, is_mark = of_target if kind == "decoder" else of_source
            sums[kind].add(getattr(weights, kind), queries != PAD, is_end[keys], is_mark[keys])
        cross = torch.stack(weights.cross).float().cpu().numpy()  # (L, B, H, T, S)
        for row, i in enumerate(indices):
            _count_links(counts, cross[:, row], tokenizer, pairs[i], len(tag), reference[i])
    figures = {str(kind): each.means() for kind, each in sums.items()}
    return figures, AlignedHeads(counts.error_rate, counts.precision, counts.recall)


def readable(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], n_tags: int) -> list[int]:
    """Which pairs have two sides that the model can read: with words, and not too long."""
    most = model.config.max_length - 1
    sides = _encoded(tokenizer, pairs)
    return [
        i
        for i, (src, tgt) in enumerate(zip(*sides, strict=True))
        if src and tgt and all(map(str.strip, pairs[i])) and len(src) + n_tags <= most and len(tgt) <= most
    ]


def _encoded(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of all sources, and those of all targets."""
    sources, targets = zip(*pairs, strict=True)
    return tokenizer.encode(sources), tokenizer.target.encode(targets)


def _count_links(
    counts: LinkCounts,
    weights: NDArray[np.float32],  # (L, H, T, S)
    tokenizer: Tokenizer,
    pair: tuple[str, str],
    n_tags: int,
    reference: Reference,
) -> None:
    """Link each target word to the source word that has most of its weight; special tokens are in no word."""
    sides = zip((tokenizer, tokenizer.target), pair, strict=True)
    src_of, tgt_of = (membership(words_of_pieces(text, each.offsets(text))) for each, text in sides)
    words = np.flatnonzero(tgt_of.any(0))
    of_pieces = weights[..., : len(tgt_of), n_tags : n_tags + len(src_of)]
    of_words = tgt_of[:, words].T @ of_pieces @ src_of  # (L, H, target words, source words)
    counts.add(of_words.argmax(-1), words, reference)


def _classes(tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """For each id: whether it is bos, eos or a tag, and whether its piece is of marks only."""
    pieces = [piece.replace(SPACE, "") for piece in tokenizer.pieces(range(tokenizer.vocab_size))]
    is_mark = torch.tensor([bool(piece) and not any(map(str.isalnum, piece)) for piece in pieces])
    is_end = torch.zeros(len(pieces), dtype=torch.bool)
    is_end[[BOS, EOS, *tokenizer.tags.values()]] = True
    return is_end, is_mark & ~is_end


def _plain(content: Any) -> Any:
    match content:
        case dict():
            return {name: _plain(value) for name, value in content.items()}
        case list():
            return [_plain(value) for value in content]
        case np.ndarray():
            return content.round(4).tolist()
        case float():
            return round(content, 4)
    return content
