"""Attention weights as numbers for other programs: a NumPy archive.

Sentence n, counted from 1, has these arrays, all without pickles:

    n/source, n/target           the texts, as the model read and wrote them
    n/encoder                    (L, H, S, S) float32, from each source token to each
    n/decoder                    (L, H, T, T) float32, from the step that writes a token to the tokens that it has read
    n/cross                      (L, H, T, S) float32, from the step that writes a token to the source
    n/source_pieces              (S,) the source tokens; the last one is </s>, and a tag is the first
    n/read_pieces                (T,) what the decoder reads, <s> first
    n/written_pieces             (T,) what it writes, </s> last
    n/source_words, ...          the words of each of these three
    n/source_word_of, ...        for each piece the index of its word

Layers and heads count from 0 here, as in NumPy.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.files import atomic_file
from seq2seq.inspection.pair_attention import PairAttention


def write_attention(pairs: Sequence[PairAttention], file: Path) -> None:
    """Write the archive, whole or not at all."""
    arrays: dict[str, Any] = {}
    for number, pair in enumerate(pairs, start=1):
        arrays |= {f"{number}/source": np.array(pair.src), f"{number}/target": np.array(pair.tgt)}
        arrays |= {f"{number}/{kind}": weights for kind, weights in pair.weights._asdict().items()}
        sides = {"source": pair.src_tokens, "read": pair.tgt_in, "written": pair.tgt_out}
        for side, tokens in sides.items():
            arrays |= {f"{number}/{side}_{name}": np.array(value) for name, value in tokens._asdict().items()}
    with atomic_file(file) as opened:
        np.savez_compressed(opened, **arrays)
