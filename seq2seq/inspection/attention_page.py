"""A page to look at attention: sentences, kinds, layers and heads by choice, as lines or as matrices.

Weights travel as text, two characters each: the thousandths of a weight as two digits to the base 64. So a page shows
them to three decimal places, and a sentence of 20 tokens takes 100 kB in a model of 6 layers and 8 heads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2seq.errors import TranslationError
from seq2seq.inspection.attention_kinds import KINDS, TITLES
from seq2seq.inspection.pair_attention import PairAttention, Tokens, View, Weights
from seq2seq.reports.html import page

MOST_WEIGHTS = 20_000_000  # 40 MB, which a browser opens in seconds
_PROGRAMS = ("attention_weights.js", "attention_lines.js", "attention_matrix.js", "attention.js")
_DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-", np.uint8)


def attention_page(pairs: Sequence[PairAttention], name: str, languages: tuple[str, str]) -> str:
    """The page of some pairs.

    Args:
        name: of the model.
        languages: of source and target.
    Raises:
        TranslationError: the pairs have more weights than a browser should have to hold.
    """
    n_weights = sum(weights.size for pair in pairs for weights in pair.weights)
    if n_weights > MOST_WEIGHTS:
        raise TranslationError(
            f"a page holds up to {MOST_WEIGHTS:,} weights, and these sentences have {n_weights:,}; give fewer or "
            "shorter ones, or write weights.npz, which holds any number"
        )
    data = {
        "heading": "Where the model looks",
        "subtitle": f"{name}, {languages[0]} to {languages[1]}",
        "languages": languages,
        "kinds": [{"name": kind, "title": title} for kind, title in TITLES.items()],
        "sentences": [_sentence(pair) for pair in pairs],
    }
    return page(f"Attention of {name}", data, *_PROGRAMS)


def _sentence(pair: PairAttention) -> dict[str, Any]:
    return {
        "source": pair.src,
        "target": pair.tgt,
        "is_given": pair.is_given,
        "notes": pair.notes,
        "views": {kind: _view(pair.view(kind)) for kind in KINDS},
    }


def _view(view: View) -> dict[str, Any]:
    n_layers, n_heads = view.weights.shape[:2]
    return {
        "layers": n_layers,
        "heads": n_heads,
        "queries": _axis(view.queries),
        "keys": _axis(view.keys),
        "weights": in_thousandths(view.weights),
    }


def _axis(tokens: Tokens) -> dict[str, Any]:
    return {"pieces": tokens.pieces, "words": tokens.words, "word_of": tokens.word_of}


def in_thousandths(weights: Weights) -> str:
    """Weights from 0 to 1, in their order, as `weightsOf` of `page/attention_weights.js` reads them."""
    thousandths = np.rint(weights.ravel() * 1000).astype(np.int64)
    return _DIGITS[np.stack([thousandths // 64, thousandths % 64], -1)].tobytes().decode("ascii")
