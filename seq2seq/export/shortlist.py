"""Which pieces a translation is likely to have, by those of its source, so that a softmax is over them alone.

One round of IBM model 1 (Brown et al. 1993) says which source piece has written a target piece. Marian and CTranslate2
call such a table a lexical shortlist or a vocabulary map.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import EOS

N_TARGETS = 40  # of each source piece
N_COMMON = 200  # of the target language, for every sentence
N_PAIRS = 300_000  # that are worth reading: as many as take a minute or two
_BLOCK = 5_000  # pairs at once
_FORM = frozenset(" \t\n\r")  # what the file is divided by
Ids = npt.NDArray[np.int64]


def write_shortlist(file: Path, tokenizer: Tokenizer, pairs: Iterable[tuple[str, str]]) -> int:
    """Write the table as CTranslate2 reads it, and return the number of pairs that it was learned from.

    Each line has a source piece, a tab, and target pieces. The first line, without a source piece, is for every
    sentence: all bytes, by which any character can be written, and the most common target pieces.
    """
    blocks = list(_encoded(tokenizer, pairs))
    common, likely = likely_targets(blocks, tokenizer.vocab_size)
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    # A piece can be copied, too. The signs of the file's own form have bytes.
    rows = [("", [*tokenizer.byte_ids(), *common]), *((pieces[i], [i, *targets]) for i, targets in likely)]
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        for piece, targets in rows:
            if not _FORM.intersection(piece):
                names = dict.fromkeys(pieces[i] for i in targets if i > EOS)
                stream.write(f"{piece}\t{' '.join(name for name in names if not _FORM.intersection(name))}\n")
    return sum(map(len, blocks))


def likely_targets(
    blocks: Sequence[list[tuple[Ids, Ids]]], n_ids: int
) -> tuple[list[int], Iterator[tuple[int, list[int]]]]:
    """The most common target ids; each source id with its likely target ids, best first, without those.

    A target piece was written by one of the sources that stand in its pair: by each in proportion to the share of the
    source's pairs that have the target. So what is said often and everywhere takes little from the one source that
    means it.

    Args:
        blocks: of pairs: the ids of both sides, each id once.
    """
    n_src, n_tgt = np.zeros(n_ids, dtype=np.int64), np.zeros(n_ids, dtype=np.int64)
    keys = counts = np.zeros(0, dtype=np.int64)  # of ids in one pair: source x n_ids + target, and how often
    for block in filter(None, blocks):
        for src, tgt in block:
            n_src[src] += 1
            n_tgt[tgt] += 1
        found = np.concatenate([_keys(src, tgt, n_ids).ravel() for src, tgt in block])
        new, n_new = np.unique(found, return_counts=True)
        keys, place = np.unique(np.concatenate([keys, new]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts, n_new])).astype(np.int64)
    likely, written = counts / n_src[keys // n_ids], np.zeros(len(keys))
    for src, tgt in chain.from_iterable(blocks):
        places = np.searchsorted(keys, _keys(src, tgt, n_ids))
        written[places] += likely[places] / likely[places].sum(0)
    common = np.argsort(-n_tgt, kind="stable")[:N_COMMON]
    is_rare = ~np.isin(keys % n_ids, common)
    of_src, of_tgt = keys[is_rare] // n_ids, keys[is_rare] % n_ids
    best_first = of_tgt[np.lexsort((-written[is_rare], of_src))]
    begins = np.searchsorted(of_src, np.arange(n_ids + 1)).tolist()
    rows = (
        (i, best_first[begins[i] : min(begins[i + 1], begins[i] + N_TARGETS)].tolist())
        for i in np.flatnonzero(n_src).tolist()
    )
    return common[n_tgt[common] > 0].tolist(), rows


def _keys(src: Ids, tgt: Ids, n_ids: int) -> Ids:
    return np.add.outer(src * n_ids, tgt)


def _encoded(tokenizer: Tokenizer, pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[Ids, Ids]]]:
    left = iter(pairs)
    while block := list(islice(left, _BLOCK)):
        sides = (tokenizer.encode(side) for side in zip(*block, strict=True))
        yield [(np.unique(src), np.unique(tgt)) for src, tgt in zip(*sides, strict=True) if src and tgt]
