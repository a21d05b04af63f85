"""Where a model looks while it reads a line and writes its translation: the weights of every layer and head.

Shapes: L layers, H n_heads, S source tokens, T target tokens, Q queries, K keys
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from seq2seq.analysis.alignment import membership, up_to, words_of_pieces
from seq2seq.characters import split_words
from seq2seq.errors import TranslationError
from seq2seq.inspection.attention_kinds import Kind
from seq2seq.inspection.torch_model import engine_of_one_model
from seq2seq.options import check_types
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.text.rewriting import AUTO
from seq2seq.translation.translator import Translator
from seq2seq.vocabulary import BOS, EOS

Weights = npt.NDArray[np.float32]


class Tokens(NamedTuple):
    """One axis of attention weights.

    Attributes:
        pieces: of each token, as the tokenizer writes it; also those of the tag, `<s>` and `</s>`.
        words: what white space separates. A special token is a word of its own.
        word_of: for each token, the index of its word.
    """

    pieces: list[str]
    words: list[str]
    word_of: list[int]


class HeadWeights(NamedTuple):
    """The attention weights of every layer and head for one pair, float32. Each row sums to 1.

    Shapes: L layers, H n_heads, S source tokens with the tag and eos, T target tokens with one special token
    """

    encoder: np.ndarray  # (L, H, S, S)
    decoder: np.ndarray  # (L, H, T, T): from the step that writes a token to those that were read, bos first
    cross: np.ndarray  # (L, H, T, S): from the step that writes a token to the source


class View(NamedTuple):
    """Attention of one kind: rows are what looks, columns what is looked at. Each row sums to 1."""

    queries: Tokens
    keys: Tokens
    weights: Weights  # (L, H, Q, K)

    def in_words(self) -> Weights:
        """The same between words, (L, H, words of the queries, words of the keys).

        A word is looked at as much as its pieces are together, and it looks where its pieces look on average. So each
        row still sums to 1.
        """
        looking, looked_at = membership(self.queries.word_of), membership(self.keys.word_of)
        joined: Weights = (looking / looking.sum(0)).T @ self.weights @ looked_at
        return joined


@dataclass(frozen=True)
class PairAttention:
    """What the model looked at in one pair.

    Attributes:
        src, tgt: the text that the model read, and the one that it wrote or was given, both as the tokenizer decodes
            them.
        is_given: whether the translation was given; else it is the model's own.
        src_tokens: end with `</s>`; the first one is the tag, if there is one.
        tgt_in: the tokens that the decoder reads, `<s>` first.
        tgt_out: the tokens that it writes, `</s>` last: it writes `tgt_out[t]` when it has read `tgt_in[:t + 1]`.
        weights: of each kind.
        notes: what to know about the pair, such as that the source is longer than those of training; mostly nothing.
    """

    src: str
    tgt: str
    is_given: bool
    src_tokens: Tokens
    tgt_in: Tokens
    tgt_out: Tokens
    weights: HeadWeights
    notes: list[str]

    def view(self, kind: Kind) -> View:
        """The weights of one kind, with their axes. The decoder's rows are named for the tokens that it writes."""
        queries = self.src_tokens if kind == "encoder" else self.tgt_out
        keys = self.tgt_in if kind == "decoder" else self.src_tokens
        return View(queries, keys, getattr(self.weights, kind))


def pair_attention(
    translator: Translator, src: str, tgt: str | None = None, *, tag: str = "", normalize: str = AUTO
) -> PairAttention:
    """Where every layer and head of a model looks in one pair.

    The source is read as `translate` and `score` read it, but always in one piece: a note says so if `translate` would
    split it.

    Args:
        tgt: the translation; None: the one that the model finds.
        tag, normalize: as in `Translator.translate`, and with a given translation as in `Translator.score`.
    Raises:
        ConfigError: CTranslate2 and ensembles do not tell; the normalization is unknown.
        TranslationError: one side has no token, or more than the model has positions for.
        TokenizerError: a side is not Unicode, or the model does not have the tag.
    """
    check_types({"src": src, "tgt": src if tgt is None else tgt}, {"src": str, "tgt": str})
    engine, tokenizer = engine_of_one_model(translator.engine, "where its heads look"), translator.tokenizer
    of_target = tokenizer.target
    tag_ids = tokenizer.tag(tag)
    normaliser = translator.normaliser(normalize)
    text = normaliser.read(src).source.text if tgt is None else normaliser.rewritten(src)[0].text
    notes = [f"The model read: {text}"] if text != src else []
    parts, _ = translator.splitter("auto", len(tag_ids)).split(text)
    if len(parts) > 1:
        notes.append(
            f"To translate it, the line would be split into {len(parts)} parts, since training had shorter ones. "
            "Here the model reads it in one piece."
        )
    src_ids = _ids(tokenizer, text, "source", engine.max_length - 1 - len(tag_ids))
    if tgt is None:
        found = engine.decode([Sentence([*tag_ids, *src_ids])], translator.decoding)[0][0]
        tgt_ids = found.tokens[: engine.max_length - 1]  # one place is left for eos
    else:
        tgt_ids = _ids(of_target, tgt, "translation", engine.max_length - 1)
    (read,), (written,) = tokenizer.decode([src_ids]), of_target.decode([tgt_ids])
    return PairAttention(
        src=read,
        tgt=written,
        is_given=tgt is not None,
        src_tokens=tokens_of(tokenizer, src_ids, before=tag_ids, after=[EOS]),
        tgt_in=tokens_of(of_target, tgt_ids, before=[BOS]),
        tgt_out=tokens_of(of_target, tgt_ids, after=[EOS]),
        weights=head_weights(engine, [*tag_ids, *src_ids], tgt_ids),
        notes=notes,
    )


def head_weights(engine: PyTorchEngine, source: Sequence[int], target: Sequence[int]) -> HeadWeights:
    """Where each layer and head looks while the target is read, and eos after it."""
    src, tgt_in, _ = engine.batch([source], [target])
    with torch.inference_mode(), engine.autocast():
        found = engine.models[0].attention_weights(src, tgt_in)
    encoder, decoder, cross = (torch.cat(layers).float().cpu().numpy() for layers in found)  # (L, H, Q, K)
    s, t = len(source) + 1, len(target) + 1  # what follows them is padding
    return HeadWeights(encoder[:, :, :s, :s], decoder[:, :, :t, :t], cross[:, :, :t, :s])


def _ids(tokenizer: Tokenizer, text: str, side: str, most: int) -> list[int]:
    (ids,) = tokenizer.encode([text.strip()])
    if not ids:
        raise TranslationError(f"the {side} {text!r} has nothing that the model reads; give it at least a word")
    if len(ids) > most:
        raise TranslationError(
            f"the {side} has {len(ids)} tokens, and the model has positions for {most}; give a shorter one"
        )
    return ids


def tokens_of(tokenizer: Tokenizer, ids: list[int], before: Sequence[int] = (), after: Sequence[int] = ()) -> Tokens:
    """The tokens of a text, between special ones."""
    (text,) = tokenizer.decode([ids])
    words = split_words(text)
    # A text may be nothing but a space: then each piece stands for itself.
    word_of = words_of_pieces(text, tokenizer.decoded_offsets(ids)) if words else list(range(len(ids)))
    words = words or tokenizer.pieces(ids)
    first, last = tokenizer.pieces(before), tokenizer.pieces(after)
    with_pieces = sorted(set(word_of))
    place = {word: len(first) + n for n, word in enumerate(with_pieces)}
    n_words = len(first) + len(with_pieces)
    return Tokens(
        pieces=[*first, *tokenizer.pieces(ids), *last],
        words=[*first, *("".join(words[word] for word in inside) for inside in up_to(word_of).values()), *last],
        word_of=[*range(len(first)), *(place[word] for word in word_of), *range(n_words, n_words + len(last))],
    )
