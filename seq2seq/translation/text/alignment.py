"""Which source word each translated word comes from, as far as attention tells."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_SPACE = "▁"


def words_of_pieces(pieces: Sequence[str]) -> list[int]:
    """For each SentencePiece piece, the index of its word, counted from 0. Words are separated by spaces.

    A lone "▁" begins the word of the pieces after it, byte pieces included. In front of another "▁" it begins none:
    there is no empty word between two spaces.
    """
    words: list[int] = []
    word, is_begun = 0, False
    for piece in pieces:
        if piece.startswith(_SPACE) and is_begun:
            word, is_begun = word + 1, False
        is_begun = is_begun or bool(_BYTE.fullmatch(piece) or piece.strip(_SPACE))
        words.append(word)
    # A "▁" at the end begins no word of the text: it goes to the last one.
    last = word if is_begun else max(word - 1, 0)
    return [min(word, last) for word in words]


def word_alignment(
    attention: npt.NDArray[np.floating], src_pieces: Sequence[str], tgt_pieces: Sequence[str]
) -> list[tuple[int, int]]:
    """Pairs (source word, target word): for each target word, the source word that got most of its attention.

    Attention is no alignment: it may look at the word before or after the one translated, or at the end of the
    sentence (Koehn and Knowles 2017), and it matters which layer is averaged (Garg et al. 2019). Read the pairs as a
    hint, not as a fact.

    Args:
        attention: (T, S), the row of a target piece says how much it attends to each source piece; without the
            column and row of eos.
    Raises:
        ValueError: the shape of the attention does not fit the pieces.
    """
    if attention.shape != (len(tgt_pieces), len(src_pieces)):
        raise ValueError(
            f"attention is {attention.shape} for {len(tgt_pieces)} target and {len(src_pieces)} source pieces; "
            "leave out the special ids in all three"
        )
    if not src_pieces or not tgt_pieces:
        return []
    src_words, tgt_words = words_of_pieces(src_pieces), words_of_pieces(tgt_pieces)
    mass = np.zeros((tgt_words[-1] + 1, src_words[-1] + 1))
    np.add.at(mass, (np.array(tgt_words)[:, None], np.array(src_words)[None, :]), attention)
    return sorted((int(src), tgt) for tgt, src in enumerate(mass.argmax(axis=1)))


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """The pairs in the format of Pharaoh and fast_align: "0-0 1-2", source before target."""
    return " ".join(f"{src}-{tgt}" for src, tgt in sorted(pairs))
